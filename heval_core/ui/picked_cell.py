"""The bar under the figure: what the clicked mark is, and where one can go from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY
from heval_core.figures.measured_panels import ALL, Measured, Names, cells_in_unit, in_unit, picked_html, told
from heval_core.figures.panels import interval, shown
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.store.filters import Filter
from heval_core.ui import address, instance_links
from heval_core.ui.text import plain
from heval_core.wording import regime_title

PARAMETER = "cell"


def picked_id() -> tuple[str, ...]:
    """Explainer, model, dataset, regime and part of the mark that the address names; empty without one."""
    return tuple(address.values(PARAMETER))


def pick(id: Sequence[str]) -> None:
    """A second click on the same mark lets go of it."""
    address.put(**{PARAMETER: None if tuple(id) == picked_id() else list(id)})


def draw(found: Measured, chosen: Filter, names: Names, models: Sequence[str]) -> None:
    """models: all that these results have."""
    id = picked_id()
    if not id:
        st.caption("Click a mark to see what it is, and to get to its instances.")
        return
    if not _readable(id, names, models):
        address.unreadable(PARAMETER, "the mark", "a mark of the figure: explainer, model, dataset, regime and part")
        return
    row = _row(found, id)
    if row is None:
        st.caption("The mark that was clicked is not part of this figure.")
        return
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        title = f"{names.explainer(id[0])} · {names.place(*id[1:])}"
        st.html(picked_html(id[0], title, _said(row, found)), width="stretch")
        _ways_on(found, chosen, id, names)


def _readable(id: Sequence[str], names: Names, models: Sequence[str]) -> bool:
    if len(id) != 5:
        return False
    explainer, model, dataset, regime, _ = id
    # What is no regime with a title is no mark of a figure either.
    known = regime_title(regime) != regime
    return explainer in names.explainers and model in (ALL, *models) and dataset in (ALL, *names.datasets) and known


def _row(found: Measured, id: Sequence[str]) -> Mapping[Any, Any] | None:
    """The mean or the cell of a mark."""
    explainer, model, dataset, regime, part = id
    if model == ALL:
        rows = in_unit(found.parts, found.scaled)
    else:
        rows = cells_in_unit(found.cells, found.scaled)
        rows = rows[(rows["model"] == model) & (rows["dataset"] == dataset) & rows["value"].notna()]
    rows = rows[(rows["explainer"] == explainer) & (rows["regime"] == regime) & (rows["part"] == part)]
    return rows.iloc[0].to_dict() if len(rows) else None


def _said(row: Mapping[Any, Any], found: Measured) -> str:
    said = told(row, found)
    if found.scaled:
        native = f"{interval(row['value'], row['low'], row['high'])} {found.measure.unit} (chance {shown(row['chance'])})"
        said = f"{interval(row['at'], row['at_low'], row['at_high'])}, that is {native}"
    cells = f" in {row['cells']} cells" if "cells" in row else ""
    return f"{said}, over {int(row['n']):,} instances{cells}"


def _ways_on(found: Measured, chosen: Filter, id: tuple[str, ...], names: Names) -> None:
    explainer, model, dataset, regime, part = id
    groups = instance_links.groups_of(found.measure, part, regime)
    own = replace(chosen, regime=(regime,), group=groups or chosen.group)
    if model != ALL:
        own = replace(own, model=(model,), dataset=(dataset,))
    order = found.measure.sort.format(explainer=explainer) if found.measure.sort else ""
    sort = order if order in SORTED_BY else ""
    descending = bool(sort) and found.measure.best == "low"
    instance_links.link_to(f"Open its instances{', worst first' if sort else ''}", own, sort, descending)
    rival = next((key for key in found.ranked(list(names.explainers)) if key != explainer and key not in names.controls), "")
    if rival and explainer not in names.controls:
        question = QUESTIONS[found.measure.question]
        asked: dict[str, Any] = {"tab": "compare", "first": explainer, "second": rival, "question": question.link}
        asked[PARAMETER] = None
        st.button(f"Compare with {plain(names.explainer(rival))}", key="compare_picked", on_click=address.setter(**asked))
    alone = {"regime": [regime]} | ({} if model == ALL else {"model": [model], "dataset": [dataset]})
    label = "Only this regime" if model == ALL else "Only this cell"
    st.button(label, key="only_this", on_click=address.setter(**alone))
    st.button("×", key="let_go", help="Let go of the mark", on_click=address.setter(**{PARAMETER: None}))
