"""The filter row on top of a page: which instances it is about, and by how many of the best tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.metrics.shared.cell import DEFAULT_K, KS
from heval_core.metrics.shared.measure import Measure
from heval_core.records import TECHNIQUE
from heval_core.regime_keys import ordered_regimes
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.exports import link_button
from heval_core.ui.names import titles_of
from heval_core.ui.published_results import query
from heval_core.ui.techniques import names_of
from heval_core.ui.text import plain
from heval_core.wording import GROUP_TITLES, REGIME_MEANINGS, REGIME_TITLES

# Column ▶ its chip, the same for all of them, and in the plural.
_LABELS = {"model": "Models", "dataset": "Datasets", "regime": "Regimes", "group": "Answers"}
_HELP = {
    "regime": "\n\n".join(f"**{title}**: {REGIME_MEANINGS[key]}" for key, title in REGIME_TITLES.items())
    + "\n\nRegimes with a decoy or a length are shown only if they are chosen.",
    "group": "Where the answer came from.",
}


@contextmanager
def row() -> Iterator[None]:
    """The chips of a page, side by side."""
    with st.container(horizontal=True, key="filters", gap="xsmall", vertical_alignment="center"):
        yield


@contextmanager
def tabs_and_chips(
    results: Reader, page: str, titles: Mapping[str, str], label: str = "Tab", default: str | None = None
) -> Iterator[tuple[str, DeltaGenerator]]:
    """The top of a page: its tabs, and in a line with them the chips that the block draws and the page's link.

    titles: of the tabs, by their keys. Yields the tab, and a place between tabs and chips.
    """
    with st.container(key=f"{page}_top", horizontal=True, vertical_alignment="center"):
        tab = address.one_of(label, list(titles), "tab", default, hidden=True, titles=titles)
        key = f"{page}_steps"
        between = st.container(horizontal=True, key=key, gap="xsmall", vertical_alignment="center", width="content")
        with row():
            yield tab, between
            link_button(results)


def _options(choices: pd.DataFrame, column: str) -> list[str]:
    values = list(dict.fromkeys(choices[column]))
    order = ordered_regimes(values) if column == "regime" else list(GROUP_TITLES) if column == "group" else sorted(values)
    return [value for value in order if value in values] + [value for value in values if value not in order]


def in_regimes(chosen: Filter, measure: Measure) -> Filter | None:
    """The filter, limited to the regimes of a measure; None where none of these is chosen."""
    if not measure.regimes:
        return chosen
    there = tuple(filter(measure.asks, ordered_regimes(chosen.regime or measure.regimes)))
    return replace(chosen, regime=there) if there else None


def kept(results: Reader, *, explained: bool) -> pd.DataFrame:
    """What there is to choose from, without dropped instances. explained: only where explainers ran, if any did."""
    choices = query(results, Reader.choices)
    choices = choices[choices["group"] != "dropped"]
    return choices[choices["explained"]] if explained and choices["explained"].any() else choices


def plain_regimes(choices: pd.DataFrame) -> pd.DataFrame:
    """Without regimes that have a decoy or a length."""
    return choices[~choices["regime"].str.contains(".", regex=False)]


def _partly_explained(results: Reader) -> bool:
    """Whether explainers ran on some instances, and on others not: there techniques are compared by their answers alone."""
    there = query(results, Reader.choices)["explained"]
    return bool(there.any() and not there.all())


def all_explained(results: Reader) -> Filter:
    """What a page about highlights asks for as long as nothing is chosen."""
    there = sorted(set(kept(results, explained=True)["technique"]), key=_regular_first)
    return Filter(technique=tuple(there[:1]) if len(there) > 1 else (), explained=_partly_explained(results))


def _regular_first(technique: str) -> tuple[bool, str]:
    return technique != TECHNIQUE, technique


def filter_bar(
    results: Reader, columns: tuple[str, ...], *, count: bool = True, explained: bool = False, variants: bool = False
) -> Filter:
    """Draw a chip for each column, each with a menu. Nothing chosen means everything, but of one technique and without decoys
    and lengths.

    count: whether to say how many instances are left. explained: see `kept`. variants: whether the page shows decoys and
    lengths before they are chosen.
    """
    choices = kept(results, explained=explained)
    if "regime" not in columns:
        choices = plain_regimes(choices)
    without_options = choices if variants or address.values("regime") else plain_regimes(choices)
    chosen: dict[str, tuple[str, ...]] = {}
    for column in columns:
        options = _options(choices, column)
        titles = titles_of(results, column)
        shown = len(set(without_options[column]))
        with st.popover(_chip(_LABELS[column], address.values(column), options, titles, shown)):
            named = {option: titles.get(option, option) for option in options}
            chosen[column] = address.some_of(_LABELS[column], options, column, titles=named, help=_HELP.get(column))
    technique = _technique(results, sorted(set(choices["technique"]), key=_regular_first))
    if technique:
        choices = choices[choices["technique"].isin(technique)]
    left = choices if chosen.get("regime") or variants else plain_regimes(choices)
    for column, wanted in chosen.items():
        there = left[column].str.split(".").str[0].isin(wanted) & variants if column == "regime" else False
        left = left[left[column].isin(wanted) | there] if wanted else left
    if count:
        st.caption(f"{int(left['instances'].sum()):,} of {int(choices['instances'].sum()):,} instances")
    model, dataset, regime, group = (chosen.get(column, ()) for column in ("model", "dataset", "regime", "group"))
    return Filter(model, dataset, regime, group, technique=technique, explained=explained and _partly_explained(results))


def _chip(label: str, asked: list[str], options: list[str], titles: dict[str, str], shown: int) -> str:
    """What a closed menu says: `Models all 3`, `Datasets World Capital`, or `Regimes 2 of 6`.

    shown: how many there are as long as none is chosen; fewer than can be chosen are those without decoys and lengths.
    """
    wanted = [plain(titles.get(value, value)) for value in asked if value in options]
    if not wanted and len(options) == 1:
        wanted = [plain(titles.get(options[0], options[0]))]
    if not wanted:
        return f"{label} **all {shown}**"
    return f"{label} **{wanted[0]}**" if len(wanted) == 1 else f"{label} **{len(wanted)} of {len(options)}**"


def choose_k() -> int:
    """How many of the best-ranked tokens count."""
    about = "How many of the best-ranked tokens count"
    titles = {k: f"k = {k}" if k == KS[0] else str(k) for k in KS}
    return address.one_of("k", KS, "k", DEFAULT_K, hidden=True, titles=titles, help=about)


def _technique(results: Reader, there: list[str]) -> tuple[str, ...]:
    """The chosen technique where there are several: numbers of two techniques are never combined."""
    if len(there) < 2:
        address.known("technique", there)
        return ()
    names = names_of(results)
    titles = {key: names.title(key) for key in there}
    return (address.chip("Technique", there, "technique", titles=titles, help="How the answers were produced"),)
