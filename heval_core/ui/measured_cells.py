"""A measure by regime: the answer in a sentence, the figure, what a click on it leads to, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.measure_table import measure_table
from heval_core.figures.measured_panels import Measured, as_normalised, cells_in_unit, figure_of, in_unit, picked_html, told
from heval_core.figures.palette import in_order
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import ALL, Names, regime_title
from heval_core.present.numbers import interval, number
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links, verdicts
from heval_core.ui.board import choose_question
from heval_core.ui.exports import picture, table_exports
from heval_core.ui.filters import choose_k, how_many, kept
from heval_core.ui.marks import draw_figures
from heval_core.ui.measured_means import choose_measure, define, measured
from heval_core.ui.names import names_of
from heval_core.ui.selection import Selection
from heval_core.ui.text import plain


def draw(results: Reader, chosen: Filter, question: str = "") -> tuple[Measure, int]:
    """question: a key of QUESTIONS; the reader chooses one where none is given. Returns the measure and the k."""
    said = st.container(key="answer")
    with st.container(horizontal=True, key="measure_row", vertical_alignment="center"):
        asked = question or choose_question()
        menu = st.popover("Other measures", icon=":material/tune:")
    with menu:
        measure = choose_measure(asked)
        without_first = measure.ranked and address.switch(*WITHOUT_FIRST[:2], help=WITHOUT_FIRST[2])
        metric = f"{measure.metric}(drop_first=1)" if without_first else measure.metric
        k = measure.at(choose_k()) if measure.uses_k else 0
        unit = st.container()
    values = measured(results, chosen, measure, metric, k)
    if values is None or values.cells.empty:
        st.info(_nothing(measure, values is None), icon=":material/filter_alt_off:")
        return measure, k
    with unit:
        values = replace(values, scaled=_scaled(values))
    names = names_of(results)
    with said:
        st.markdown(verdicts.of_measure(values, names))
    define(measure)
    draw_picked(results, values, chosen, names, kept(results, explained=True))
    shown = in_order_of(values, names)
    draw_figures("figure", figure_of(values, shown, names), on_pick=CELL.pick, picked=CELL.drawn)
    with st.expander("The numbers · table, every cell, CSV, Parquet, LaTeX", key="numbers", on_change="rerun") as box:
        if box.open:
            _numbers(results, values, chosen, names, k, shown)
    return measure, k


WITHOUT_FIRST = (
    "Leave the prompt's first token out of the ranks",
    "without_first",
    "If a tokenizer adds no BOS, the first token of the first document becomes the attention sink.",
)


def in_order_of(values: Measured, names: Names) -> list[str]:
    """All explainers: methods best first, then the controls that have all cells."""
    there = list(values.cells["explainer"].unique())
    methods = [key for key in values.ranked(there) if key not in names.controls]
    return [*methods, *in_order([key for key in there if key in names.controls and key not in values.few])]


def _scaled(values: Measured) -> bool:
    """Whether numbers run from chance to the best possible, where there is a best possible one."""
    if not values.can_be_scaled:
        address.known("unit", ("native",), "unit")
        return False
    titles = {"scaled": "0–1", "native": values.measure.unit}
    about = "0 is chance and 1 the best possible value, so that explainers compare across prompts of different length."
    return address.one_of("Unit", list(titles), "unit", hidden=True, titles=titles, help=about) == "scaled"


def _nothing(measure: Measure, not_asked: bool) -> str:
    if not_asked:
        return "This question is not asked in the chosen regimes; remove a filter above."
    if measure.needs:
        return f"No cell has this measure: run the batch job with {measure.needs}, and publish again."
    return "No cell is left under these filters for this question; remove a filter above, or the slice."


def _numbers(results: Reader, values: Measured, chosen: Filter, names: Names, k: int, drawn: list[str]) -> None:
    table, cells = measure_table(values, names, k), values.cells
    st.html(table.html())
    st.caption(plain(table.note))
    about = {"measure": values.measure.metric, "unit": values.measure.unit, "filter": str(chosen)}
    if values.scaled:
        scaled = as_normalised(cells)
        cells = cells.assign(normalised_low=scaled["low"], normalised_high=scaled["high"])
    with st.container(horizontal=True):
        table_exports(results, cells, values.measure.key, about, latex=lambda: (table.exact(),))
        if values.parts["explainer"].isin(drawn).any():
            picture(results, lambda: as_drawing(figure_of(values, drawn, names)), values.measure.key)
    _all_cells(cells, names)


def _all_cells(cells: pd.DataFrame, names: Names) -> None:
    shown = ["model", "dataset", "regime", "technique", "part", "explainer"]
    shown += ["value", "low", "high", "chance", "n", "group_sizes"]
    more = ["normalised", "normalised_low", "normalised_high", "p", "unavailable"]
    shown += [name for name in more if name in cells.columns and cells[name].notna().any()]
    st.dataframe(names.readable(cells[shown]).rename(columns={"unavailable": "why not available"}).round(3), hide_index=True)


CELL = Selection("cell", ("explainer", "model", "dataset", "regime", "part"))


def draw_picked(results: Reader, values: Measured, chosen: Filter, names: Names, there: pd.DataFrame) -> None:
    """The bar above the figure. there: all models and datasets that these results have."""
    id = CELL.id
    if not id:
        with st.container(key="selection_none"):
            st.caption("Click a mark: what it is stands here, with a way to its instances.")
        return
    if not _readable(id, names, there):
        CELL.refuse()
        return
    row = _row(values, id)
    if row is None:
        st.caption("The mark that was clicked is not part of this figure.")
        return
    with CELL.bar():
        title = f"{names.explainer(id[0])} · {names.place(*id[1:])}"
        st.html(picked_html(id[0], title, _value_of(row, values)), width="stretch")
        _ways_on(results, values, chosen, id)


def _readable(id: Sequence[str], names: Names, there: pd.DataFrame) -> bool:
    if len(id) != 5:
        return False
    explainer, model, dataset, regime, _ = id
    # What is no regime with a title is no mark of a figure either.
    known = regime_title(regime) != regime
    return explainer in names.explainers and model in (ALL, *there["model"]) and dataset in (ALL, *there["dataset"]) and known


def _row(values: Measured, id: Sequence[str]) -> Mapping[Any, Any] | None:
    """The mean or the cell of a mark."""
    explainer, model, dataset, regime, part = id
    if model == ALL:
        rows = in_unit(values.parts, values.scaled)
    else:
        rows = cells_in_unit(values.cells, values.scaled)
        rows = rows[(rows["model"] == model) & (rows["dataset"] == dataset) & rows["value"].notna()]
    rows = rows[(rows["explainer"] == explainer) & (rows["regime"] == regime) & (rows["part"] == part)]
    return rows.iloc[0].to_dict() if len(rows) else None


def _value_of(row: Mapping[Any, Any], values: Measured) -> str:
    said = told(row, values)
    if values.scaled:
        native = f"{interval(row['value'], row['low'], row['high'])} {values.measure.unit} (chance {number(row['chance'])})"
        said = f"{interval(row['at'], row['at_low'], row['at_high'])}, that is {native}"
    cells = f" in {row['cells']} cells" if "cells" in row else ""
    return f"{said}, over {int(row['n']):,} instances{cells}"


def _ways_on(results: Reader, values: Measured, chosen: Filter, id: tuple[str, ...]) -> None:
    explainer, model, dataset, regime, part = id
    groups = links.groups_of(values.measure, part, regime)
    own = replace(chosen, regime=(regime,), group=groups or chosen.group, explained_by=explainer)
    if model != ALL:
        own = replace(own, model=(model,), dataset=(dataset,))
    order = values.measure.sort.format(explainer=explainer) if values.measure.sort else ""
    sort = order if order in SORTED_BY else ""
    descending = bool(sort) and values.measure.best == "low"
    links.link_to(f"Open its {how_many(results, own):,} instances", own, sort, descending)
