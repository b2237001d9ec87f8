"""A measure by regime: the answer in a sentence, the figure, what a click on it leads to, and the numbers.

Values are the published ones where these are of all instances, else computed now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from heval_core.evaluation.cells import cells_of
from heval_core.evaluation.means import cells_and_means, means_of
from heval_core.evaluation.ranking import AT, NameOf, sentences, valued
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.measures import (
    Measured,
    as_normalised,
    figure_of,
    given_sentence,
    measure_table,
    of_measure,
    picked_html,
    wanted_of,
)
from heval_core.metrics._features import LearnedMetric
from heval_core.metrics.shared.cell import DEFAULT_K, KS
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.plugins import catalogue
from heval_core.plugins.measures import measures_of
from heval_core.present.html import plain
from heval_core.present.names import ALL, Names, regime_title
from heval_core.present.numbers import interval, number
from heval_core.records.regime_keys import ordered_regimes
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links
from heval_core.ui.board import choose_question
from heval_core.ui.exports import picture, table_exports
from heval_core.ui.filters import usable
from heval_core.ui.marks import MarkSelection
from heval_core.ui.published_results import names_of, query

CELL = MarkSelection("cell", ("explainer", "model", "dataset", "regime", "part"))
_SINK = "If a tokenizer adds no BOS, the first token of the first document becomes the attention sink."


def draw(results: Reader, chosen: Filter, question: str = "") -> tuple[Measure, int]:
    """Draw a measure of a question.

    Return the measure and the k. question: a key of QUESTIONS; the reader chooses one where none is given.
    """
    answer = st.container(key="answer")
    with st.container(horizontal=True, key="measure_row", vertical_alignment="center"):
        chosen_question = question or choose_question()
        menu = st.popover("Other measures", icon=":material/tune:")
    with menu:
        measure = choose_measure(results, chosen, chosen_question)
        label = "Leave the prompt's first token out of the ranks"
        without_first = measure.ranked and address.switch(label, "without_first", help=_SINK)
        metric = f"{measure.metric}(drop_first=1)" if without_first else measure.metric
        titles, about = {k: f"k = {k}" if k == KS[0] else str(k) for k in KS}, "How many of the best-ranked tokens count"
        k = 0
        if measure.uses_k:
            k = measure.at(address.one_of("k", KS, "k", DEFAULT_K, hidden=True, titles=titles, help=about))
        unit = st.container()
    values = measured(results, chosen, measure, metric, k)
    if values is None or values.cells.empty:
        st.info(_nothing(measure, values is None), icon=":material/filter_alt_off:")
        return measure, k
    with unit:
        values = replace(values, scaled=_scaled(values))
    names = names_of(results)
    with answer:
        st.markdown(verdict(values, names))
    given = given_sentence(measure) if any(map(measure.given, values.cells["explainer"])) else ""
    st.caption(f"**{plain(measure.title)}.** {plain(f'{measure.meaning} {given}'.rstrip())}")
    draw_picked(results, values, chosen, names)
    # Controls only where they have all cells.
    explainers = [key for key in values.explainers(names.controls) if not {key} & names.controls & values.few]
    CELL.draw("figure", figure_of(values, explainers, names))
    with st.expander("The numbers · table, every cell, CSV, Parquet, LaTeX", key="numbers", on_change="rerun") as box:
        if box.open:
            _numbers(results, values, chosen, names, k, explainers)
    return measure, k


# Of the methods that are worse than guessing.
_NAMED = 3


def verdict(values: Measured, names: Names) -> str:
    """Say who is best, by how much, and who is below chance: from the numbers on screen."""
    ranking = values.ranking(values.overall, names.controls)
    means = values.in_unit(values.overall).set_index("explainer")
    nothing = "Nothing is available under these filters; the table below says why."

    def bold(key: str) -> str:
        return f"**{plain(names.explainer(key))}**"

    def short(key: str) -> str:
        return f"{number(means.loc[key, 'at'])}{f' {values.unit}' if key == ranking.best[0] else ''}"

    if values.measure.best == "zero":
        nearest = next((key for key in values.ranked(list(means.index)) if key not in names.controls), "")
        if not nearest:
            return nothing
        mean, away = means.loc[nearest].to_dict(), f"{number(values.away[nearest])} {values.measure.unit} away"
        distance = f"{away} on average over {int(mean['cells'])} cells"
        return f"{bold(nearest)} stays nearest to chance: {distance}. Its mean is {values.in_words(mean)}."
    if not ranking.methods:
        return nothing
    ranking, below = ranking._replace(below=()), _wrong_side(values, ranking.methods, bold)
    clauses = valued(ranking, AT[values.measure.question], bold, lambda key: values.in_words(means.loc[key].to_dict()), short)
    return f"{sentences(clauses)} {below}".strip()


def _wrong_side(measured: Measured, methods: Sequence[str], bold: NameOf) -> str:
    """Say which methods' whole intervals lie on the wrong side of chance, in how many cells."""
    counts = measured.wrong_side.loc[list(methods)].query("wrong > 0").sort_values("wrong", ascending=False, kind="stable")
    phrases = [f"{bold(str(key))} in {row['wrong']} of {row['numbers']}" for key, row in counts.head(_NAMED).iterrows()]
    return f"Worse than guessing: {', '.join(phrases)} comparisons." if phrases else ""


def choose_measure(results: Reader, chosen: Filter, question: str) -> Measure:
    """Offer the measures of a question; where one was measured in one way only, the chosen one in that way."""
    by_title = measures_of(question)
    names = [name for name, measure in by_title.items() if not measure.variant_of]
    link = QUESTIONS[question].link
    if len(names) == 1:
        address.known(link, names, "measure")
        return by_title[names[0]]
    measure = by_title[address.one_of("Measure", names, link, what="measure", hidden=True)]
    variant = next((candidate for candidate in by_title.values() if candidate.variant_of == measure.title), None)
    if variant is None or variant.switch is None:
        return measure
    parts = set(query(results, Reader.cells, chosen, measure.metric, measure.at(DEFAULT_K))["part"])
    if not parts.intersection(measure.parts) and parts.intersection(variant.parts):
        return variant
    return variant if address.switch(variant.switch.title, variant.switch.link, help=variant.switch.about) else measure


def measured(results: Reader, chosen: Filter, measure: Measure, metric: str, k: int) -> Measured | None:
    """Return a measure under a filter, in its unit.

    metric: the measure's, or a variant of it. None where the chosen regimes do not ask its question.
    """
    regimes = tuple(filter(measure.asks, ordered_regimes(chosen.regime or measure.regimes)))
    if measure.regimes and not regimes:
        return None
    limited = replace(chosen, regime=regimes) if measure.regimes else chosen
    wanted_means = wanted_of(measure)
    if (limited.cuts_cells or metric != measure.metric) and isinstance(catalogue.find("metric", metric), LearnedMetric):
        with st.spinner("Computed again on a hundred halves of the questions: some seconds for each cell …", show_time=True):
            cells, questions = query(results, cells_of, limited, metric, k), query(results, Reader.questions, limited)
        controls, question = names_of(results).controls, measure.question
        means = [means_of(cells, *parts_and_by, controls, question, questions) for parts_and_by in wanted_means]
    else:
        cells, means = query(results, cells_and_means, limited, metric, k, wanted_means, measure.question)
    parts, regimes, overall = means
    return Measured(measure, of_measure(cells, measure), parts, regimes, overall)


def _scaled(values: Measured) -> bool:
    """Return whether numbers run from chance to the best possible, where there is a best possible one."""
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


def _numbers(results: Reader, values: Measured, chosen: Filter, names: Names, k: int, explainers: list[str]) -> None:
    table, cells = measure_table(values, names, k), values.cells
    st.html(table.html())
    st.caption(plain(table.note))
    about = {"measure": values.measure.metric, "unit": values.measure.unit, "filter": str(chosen)}
    if values.measure.paired:
        cells = cells.assign(above=cells["value"] - cells["chance"])
    if values.scaled:
        scaled = as_normalised(cells)
        cells = cells.assign(normalised_low=scaled["low"], normalised_high=scaled["high"])
    with st.container(horizontal=True):
        table_exports(results, cells, values.measure.key, about, latex=lambda: (table.exact(),))
        if values.parts["explainer"].isin(explainers).any():
            picture(
                results, lambda: as_drawing(figure_of(values, explainers, names)), values.measure.key, chosen, cells["model"]
            )
    columns = ["model", "dataset", "regime", "technique", "part", "explainer"]
    columns += ["value", "low", "high", "chance", "n", "group_sizes"]
    optional = ["normalised", "normalised_low", "normalised_high", "p", "unavailable"]
    optional += ["above", "above_low", "above_high"] if values.measure.paired else []
    columns += [name for name in optional if name in cells.columns and cells[name].notna().any()]
    st.dataframe(names.readable(cells[columns]).rename(columns={"unavailable": "why not available"}).round(3), hide_index=True)


def draw_picked(results: Reader, values: Measured, chosen: Filter, names: Names) -> None:
    """Draw the bar above the figure."""
    choices = usable(results, explained=True)

    def known(explainer: str, model: str, dataset: str, regime: str, part: str) -> bool:
        placed = model in (ALL, *choices["model"]) and dataset in (ALL, *choices["dataset"])
        # What is no regime with a title is no mark of a figure either.
        return explainer in names.explainers and placed and regime_title(regime) != regime

    if not CELL.is_one(known, "Click a mark: what it is stands here, with a way to its instances."):
        return
    row = _row(values)
    if row is None:
        st.caption("The mark that was clicked is not part of this figure.")
        return
    with CELL.bar():
        title = f"{names.explainer(CELL.id[0])} · {names.location(*CELL.id[1:])}"
        st.html(picked_html(CELL.id[0], title, _value_of(row, values)), width="stretch")
        _, model, dataset, regime, part = CELL.id
        cell = {} if model == ALL else {"model": (model,), "dataset": (dataset,)}
        behind_mark = links.of_part(chosen, values.measure, regime, part, explained_by=CELL.id[0], **cell)
        links.link_behind(results, behind_mark, CELL.id[0], values.measure)


def _row(values: Measured) -> Mapping[Any, Any] | None:
    """Return the mean or the cell of the picked mark."""
    explainer, model, dataset, regime, part = CELL.id
    if model == ALL:
        rows = values.in_unit(values.parts)
    else:
        rows = values.in_unit(values.cells)
        rows = rows[(rows["model"] == model) & (rows["dataset"] == dataset) & rows["value"].notna()]
    rows = rows[(rows["explainer"] == explainer) & (rows["regime"] == regime) & (rows["part"] == part)]
    return rows.iloc[0].to_dict() if len(rows) else None


def _value_of(row: Mapping[Any, Any], values: Measured) -> str:
    words = values.in_words(row)
    if values.scaled or values.measure.paired:
        native = f"{interval(row['value'], row['low'], row['high'])} {values.measure.unit} (chance {number(row['chance'])})"
        words = f"{words}, that is {native}"
    cells = f" in {row['cells']} cells" if "cells" in row else ""
    return f"{words}, over {int(row['n']):,} instances{cells}"
