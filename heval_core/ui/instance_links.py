"""Links from a number to its instances: they give a filter to the Instances page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from heval_core.evaluation.orders import SORTED_BY
from heval_core.groups import MEMORY, compared_groups, document_of
from heval_core.metrics.shared.measure import Measure
from heval_core.records import SINGLE_REGIMES
from heval_core.store.filters import Filter
from heval_core.ui.text import plain

# A link cannot set a control's own parameter, because the value from another page wins. So links have names of their own.
PREFIX = "at_"
SLICING = "slicing"
SLICED = ("relation", "origin", "tokens", "answer_at", "head", "best")
_CHIPS = ("model", "dataset", "regime", "group")
# Ranges, and how many steps of the control one unit of the filter is.
_RANGES = {"tokens": 1, "answer_at": 100}
_ROUNDING = 1e-6  # a link has six digits
# The groups whose instances a cell's part is made of. A group's own name is a part too; other parts are of all groups.
GROUPS_OF_PART = {"balanced": compared_groups(2), "all": (), "swap": ()}


def open_instance(label: str, instance_id: str, page: str = "instances", **more: str) -> None:
    """A link to one instance on a page. more: further parameters of that page."""
    icon = ":material/grid_on:" if page == "mechlight_head" else ":material/article:"
    st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params={"instance": instance_id, **more})


def link_to(label: str, chosen: Filter, sort: str = "") -> None:
    """A link to the instances under a filter. sort: a key of SORTED_BY; as stored where it is empty."""
    st.page_link("pages/instances.py", label=plain(label), icon=":material/article:", query_params=parameters(chosen, sort))


def parameters(chosen: Filter, sort: str = "") -> list[tuple[str, str]]:
    """What `take` reads back on the other page."""
    asked: dict[str, list[str]] = {}
    for name in (field.name for field in fields(Filter)):
        value = getattr(chosen, name)
        if name in _RANGES and value:
            asked[PREFIX + name] = [f"{value[0]:g}-{value[1]:g}"]
        elif value:
            asked[PREFIX + name] = [value] if isinstance(value, str) else list(value)
    if sort:
        asked[f"{PREFIX}sort"] = [sort]
    return [(name, value) for name, values in asked.items() for value in values]


def offer_cell(clicked: Sequence[object], chosen: Filter, measure: Measure) -> None:
    """Link from a bar or a dot to its instances.

    clicked: its custom data, which begin with model, dataset, regime and part; empty if none was clicked. chosen: the filter
    of the figure, whose slice goes along. measure: what the figure shows.
    """
    if len(clicked) < 4:
        return
    model, dataset, regime, part = (str(value) for value in clicked[:4])
    groups = groups_of(measure, part, regime)
    cell = replace(chosen, model=(model,), dataset=(dataset,), regime=(regime,), group=groups or chosen.group)
    named = [model, dataset, regime, *(["answered from " + " or ".join(groups)] if groups else [])]
    link_to(f"Open the instances of {', '.join(named)}", cell)


def groups_of(measure: Measure, part: str, regime: str) -> tuple[str, ...]:
    """The groups whose instances a cell's part is made of; none where all are. Most parts compare the regime's two groups."""
    if document_of(part) is not None:
        return (part,)
    both = compared_groups(1 if regime in SINGLE_REGIMES else 2)
    return GROUPS_OF_PART.get(part, tuple(group for group in both if not (measure.used_only and group == MEMORY)))


def take(choices: pd.DataFrame) -> None:
    """Set the controls as such a link asks, and clear all others. Shows an error for values that these results do not have."""
    asked = {name: st.query_params.get_all(name) for name in st.query_params if name.startswith(PREFIX)}
    if not asked:
        return
    for name in asked:
        del st.query_params[name]
    for column in _CHIPS:
        wanted = asked.get(PREFIX + column, [])
        known = set(choices[column])
        for value in wanted:
            if value not in known:
                st.error(f"The link asks for the {column} {plain(value[:80])}, which is not in these results.")
        keep(column, [value for value in wanted if value in known])
    _take_technique(asked.get(f"{PREFIX}technique", []), set(choices["technique"]))
    st.session_state[SLICING] = any(PREFIX + name in asked for name in SLICED)
    for name in (*SLICED, "search", "sort", "descending", "page"):
        st.session_state.pop(name, None)
    for name in (*SLICED, "search", "sort"):
        values = asked.get(PREFIX + name, [])
        if values:
            _set(name, values)


def _take_technique(wanted: Sequence[str], known: set[str]) -> None:
    """Set the technique; its control exists only if the results have several."""
    st.session_state.pop("technique", None)
    for value in wanted[:1]:
        if value not in known:
            st.error(f"The link asks for the technique {plain(value[:80])}, which is not in these results.")
        elif len(known) > 1:
            keep("technique", value)


def _set(name: str, values: Sequence[str]) -> None:
    if name in _RANGES:
        ends = _range(values[0], _RANGES[name])
        if ends is None:
            st.error(f"The link asks for {plain(name)} {plain(values[0][:80])}; it should be two numbers, as in 60-80.")
        else:
            keep(name, ends)
    elif name == "sort" and values[0] not in SORTED_BY:
        st.error(f"The link asks for the order {plain(values[0][:80])}; there are: {', '.join(SORTED_BY)}.")
    elif name == "origin" and values[0] not in ("natural", "substituted"):
        st.error(f"The link asks for the origin {plain(values[0][:80])}; there are: natural, substituted.")
    else:
        keep(name, list(values) if name in ("relation", "best") else values[0])


def _range(text: str, steps: int) -> tuple[int, int] | None:
    """The least and most step of a control that hold a range of a filter; None for what is no range."""
    least, _, most = text.partition("-")
    try:
        low, high = float(least) * steps, float(most) * steps
    except ValueError:
        return None
    if not (math.isfinite(low) and math.isfinite(high) and 0 <= low <= high) or (steps == 100 and high > 100 + _ROUNDING):
        return None
    return math.floor(low + _ROUNDING * 100), math.ceil(high - _ROUNDING * 100)


def keep(name: str, value: Any) -> None:
    """Set a control that is about to be drawn, and its parameter in the address."""
    st.session_state[name] = value
    with suppress(StreamlitAPIException):  # where the page before had this control too, it writes its parameter itself
        st.query_params[name] = [str(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
