"""The filter bar: chips on top of the page, kept in the link, with the number of instances left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import pandas as pd
import streamlit as st

from heval_core.metrics.shared.cell import DEFAULT_K, KS
from heval_core.metrics.shared.measure import Measure
from heval_core.records import TECHNIQUE
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import instance_links
from heval_core.ui.published_results import query
from heval_core.ui.text import plain
from heval_core.wording import GROUP_TITLES, REGIME_TITLES

T = TypeVar("T")
_LABELS = {"model": "Model", "dataset": "Dataset", "regime": "Regime", "group": "Answer came from"}
# A link names options as they are shown, so controls show their keys.
_HELP = {
    "regime": "How documents are combined: " + "; ".join(f"{key}: {title}" for key, title in REGIME_TITLES.items()),
    "group": "; ".join(GROUP_TITLES.values()),
}


def _options(choices: pd.DataFrame, column: str) -> list[str]:
    values = list(dict.fromkeys(choices[column]))
    order = {"regime": list(REGIME_TITLES), "group": list(GROUP_TITLES)}.get(column, sorted(values))
    return [value for value in order if value in values] + [value for value in values if value not in order]


def refuse_unknown(choices: pd.DataFrame, columns: tuple[str, ...], prefix: str = "") -> None:
    """Show an error if the link asks for something that these results do not have; a widget would silently ignore it."""
    for column in columns:
        known = set(choices[column])
        for value in st.query_params.get_all(prefix + column):
            if value not in known:
                st.error(f"The link asks for the {column} {plain(value[:80])}, which is not in these results.")


def refuse_value(name: str, known: Sequence[object], what: str) -> None:
    """Show an error if the link asks for a value that a control does not have; it would silently show its default."""
    for value in st.query_params.get_all(name):
        if value not in set(map(str, known)):
            st.error(f"The link asks for the {what} {plain(value[:80])}; there are: {', '.join(map(str, known))}.")


def choose_one(
    label: str,
    values: Sequence[T],
    key: str,
    default: T | None = None,
    *,
    what: str = "",
    hidden: bool = False,
    linked: bool = True,
    help: str | None = None,
) -> T:
    """One of some values, by default the first; kept in the link, if it is linked. what: the name of it in messages."""
    if linked:
        refuse_value(key, values, what or key)
    first = values[0] if default is None else default
    visibility = "collapsed" if hidden else "visible"
    bind = "query-params" if linked else None
    chosen: T | None = st.segmented_control(
        label, values, default=first, key=key, required=True, bind=bind, help=help, label_visibility=visibility
    )
    return first if chosen is None else chosen


def in_regimes(chosen: Filter, measure: Measure) -> Filter | None:
    """The filter, limited to the regimes of a measure; None where none of these is chosen."""
    if not measure.regimes:
        return chosen
    there = tuple(regime for regime in measure.regimes if regime in chosen.regime or not chosen.regime)
    return replace(chosen, regime=there) if there else None


def filter_bar(results: Reader, columns: tuple[str, ...], *, metric_k: bool = False, prefix: str = "") -> tuple[Filter, int]:
    """Draw the bar. Returns the filter and k; nothing chosen means everything, but of one technique.

    prefix: of the parameters in the link, where a page's filters are not to follow to other pages.
    """
    choices = query(results, Reader.choices)
    choices = choices[choices["group"] != "dropped"]
    instance_links.take(choices)
    refuse_unknown(choices, columns, prefix)
    techniques = _techniques(choices)
    chosen: dict[str, tuple[str, ...]] = {}
    slots = st.columns([4.2] * len(columns) + ([4.0] if metric_k else []) + ([4.2] if len(techniques) > 1 else []))
    for slot, column in zip(slots, columns, strict=False):
        with slot:
            picked = st.multiselect(
                _LABELS[column],
                _options(choices, column),
                key=prefix + column,
                bind="query-params",
                placeholder="all",
                help=_HELP.get(column),
            )
            chosen[column] = tuple(picked)
    k = DEFAULT_K
    if metric_k:
        with slots[len(columns)]:
            k = choose_one("k", KS, "k", DEFAULT_K, help="How many of a document's best-ranked tokens count")
    technique: tuple[str, ...] = ()
    if len(techniques) > 1:
        with slots[-1]:
            technique = (_technique(techniques),)
        choices = choices[choices["technique"].isin(technique)]
    left = choices
    for column, values in chosen.items():
        left = left[left[column].isin(values)] if values else left
    st.caption(f"{int(left['instances'].sum()):,} of {int(choices['instances'].sum()):,} instances")
    model, dataset, regime, group = (chosen.get(column, ()) for column in ("model", "dataset", "regime", "group"))
    return Filter(model, dataset, regime, group, technique=technique), k


def _techniques(choices: pd.DataFrame) -> list[str]:
    """The techniques of the results, `regular` first. Shows an error if the link asks for another one."""
    refuse_unknown(choices, ("technique",))
    return sorted(set(choices["technique"]), key=lambda name: (name != TECHNIQUE, name))


def _technique(known: list[str]) -> str:
    """The chosen technique, the same on every page. Numbers of two techniques are never combined."""
    before = st.session_state.get("technique")
    if before in known:
        # Said again: on the first page after a link Streamlit (1.67) would go back to the default.
        st.session_state["technique"] = before
    elif before is not None:
        del st.session_state["technique"]
    return str(
        st.selectbox("Technique", known, key="technique", bind="query-params", help="How the answers were produced")
        or known[0]
    )
