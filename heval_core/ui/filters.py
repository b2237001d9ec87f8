"""Which instances a page is about: one chip that opens, how many that leaves, and how many of the best tokens count.

What cuts cells, such as a length of prompts, has its values computed live.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.present.html import plain
from heval_core.present.numbers import so_many
from heval_core.records import CELL, TECHNIQUE, head_name
from heval_core.records.regime_keys import ordered_regimes
from heval_core.records.vocabulary import GROUPS, PATTERNS, REGIMES
from heval_core.store.filters import COUNTED, BestToken, Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.exports import link_button
from heval_core.ui.published_results import names_of, query

# Column ▶ its chip, the same for all of them, and in the plural.
_LABELS = {"model": "Models", "dataset": "Datasets", "regime": "Regimes", "group": "Answers"}
_HELP = {
    "regime": "\n\n".join(f"**{word.title}**: {word.meaning}" for word in REGIMES.values())
    + "\n\nRegimes with a decoy or a length are shown only if they are chosen.",
    "group": "Where the answer came from.",
}


def row(key: str = "filters", **looks: Any) -> DeltaGenerator:
    """Return a container in a row: for the chips of a page, or for what stands in a line with them."""
    return st.container(key=key, horizontal=True, gap="xsmall", vertical_alignment="center", **looks)


@contextmanager
def tabs_and_chips(
    results: Reader, page: str, titles: Mapping[str, str], default: str | None = None
) -> Iterator[tuple[str, DeltaGenerator]]:
    """Draw the top of a page: its tabs, and in a line with them the chips that the block draws and the page's link.

    titles: of the tabs, by their keys. Yields the tab, and a place between tabs and chips.
    """
    with st.container(key=f"{page}_top", horizontal=True, vertical_alignment="center"):
        tab = address.one_of("Tab", list(titles), "tab", default, hidden=True, titles=titles)
        between = row(f"{page}_steps", width="content")
        with row():
            yield tab, between
            link_button(results)


def _options(choices: pd.DataFrame, column: str) -> list[str]:
    values = list(dict.fromkeys(choices[column]))
    order = ordered_regimes(values) if column == "regime" else list(GROUPS) if column == "group" else sorted(values)
    return [value for value in order if value in values] + [value for value in values if value not in order]


def usable(results: Reader, *, explained: bool) -> pd.DataFrame:
    """Return what there is to choose from, without dropped instances. explained: only where explainers ran, if any did."""
    choices = query(results, Reader.choices)
    choices = choices[choices["group"] != "dropped"]
    return choices[choices["explained"]] if explained and choices["explained"].any() else choices


def plain_regimes(choices: pd.DataFrame) -> pd.DataFrame:
    """Leave out regimes that have a decoy or a length."""
    return choices[~choices["regime"].str.contains(".", regex=False)]


def filter_bar(
    results: Reader, columns: tuple[str, ...], *, explained: bool = False, sliced: bool = False, by_result: bool = False
) -> Filter:
    """Draw one chip, `2 models · 1 dataset · all regimes`, that opens.

    Return what is chosen; nothing chosen means everything, but of one technique and without decoys and lengths.

    explained: see `usable`. sliced, by_result: see `_slice`.
    """
    choices = usable(results, explained=explained)
    choices = choices if "regime" in columns else plain_regimes(choices)
    chosen: dict[str, Any] = {}
    with st.popover(_chip(results, columns, choices), icon=":material/filter_alt:"):
        for column in columns:
            options = _options(choices, column)
            titles = names_of(results).titles(column, options)
            chosen[column] = address.some_of(_LABELS[column], options, column, titles=titles, help=_HELP.get(column))
        whole = everything(results, choices, explained=explained)
        unsliced = replace(whole, **chosen, technique=_technique(results, _techniques(choices)))
        narrowed = _slice(results, unsliced, by_result=by_result) if sliced else unsliced
    if sliced:
        _held(results, [*_slice_names(by_result=by_result), *(["search"] if by_result else [])])
    return narrowed


def everything(results: Reader, choices: pd.DataFrame, *, explained: bool) -> Filter:
    """Return the filter where nothing is chosen. choices: what is `usable`."""
    # Where explainers ran on some instances only, techniques are compared by their answers alone on the others.
    ran, techniques = query(results, Reader.choices)["explained"], _techniques(choices)
    partly = bool(explained and ran.any() and not ran.all())
    return Filter(technique=tuple(techniques[:1] if len(techniques) > 1 else ()), explained=partly)


def _techniques(choices: pd.DataFrame) -> list[str]:
    return sorted(set(choices["technique"]), key=lambda technique: (technique != TECHNIQUE, technique))


def _chip(results: Reader, columns: Sequence[str], choices: pd.DataFrame) -> str:
    """Return what the closed filter says."""
    names, parts, usual = names_of(results), list[str](), plain_regimes(choices)
    for column in columns:
        chosen = [value for value in address.values(column) if value in set(choices[column])]
        one = plain(names.title(column, chosen[0])) if len(chosen) == 1 else ""
        every = "" if column == "group" else "all regimes" if column == "regime" else so_many(usual[column].nunique(), column)
        several = f"{len(chosen)} {_LABELS[column].lower()}"
        parts.append(one or (several if chosen else every))
    return " · ".join(filter(None, parts))


def counts(results: Reader, chosen: Filter) -> str:
    """Count what a filter leaves, here alone: `5 models · 2 datasets · 9,000 asked, 8,900 usable, 8,542 explained`.

    Of the cells that explainers ran on; on others techniques are compared by their answers alone.
    """
    choices = query(results, Reader.choices)
    choices = choices[choices["explained"]] if choices["explained"].any() else choices
    choices = choices if chosen.regime else plain_regimes(choices)
    for column in CELL:
        if values := getattr(chosen, column):
            choices = choices[choices[column].isin(values)]
    explained, answered = how_many(results, replace(chosen, explained=True)), choices[choices["group"] != "dropped"]
    prompts, usable = choices["instances"].sum(), answered["instances"].sum()
    whole = [] if chosen.cuts_cells else [f"{prompts:,} asked", f"{usable:,} usable"]
    whole += [] if whole and explained == usable else [f"{explained:,} explained"]
    return " · ".join([*(so_many(answered[column].nunique(), column) for column in ("model", "dataset")), ", ".join(whole)])


def how_many(results: Reader, chosen: Filter) -> int:
    """Return the number of kept instances under a filter: of the list that opens."""
    return int(query(results, Reader.ranges, chosen)["instances"].iloc[0])


def _technique(results: Reader, techniques: list[str]) -> tuple[str, ...]:
    """Return the chosen technique where there are several: numbers of two techniques are never combined."""
    if len(techniques) < 2:
        address.known("technique", techniques)
        return ()
    titles = names_of(results).titles("technique", techniques)
    return (address.one_of("Technique", techniques, "technique", titles=titles, help="How answers were produced", menu=True),)


_RANGES = ("tokens", "answer_at")
# How a part of the slice reads on its chip.
_ON_CHIP = {
    "origin": "second answer {}",
    "tokens": "{} tokens",
    "answer_at": "answer at {} %",
    "head": "head {}",
    "search": "search: {}",
    "explained": "with highlights",
    "explained_by": "explained by {}",
}
# Of the used document's answer: the control, its limits, the parameter, and what an error says.
_POSITION = ("Position of the used document's answer, % of the prompt", 0, 100, "answer_at", "a position of the answer of")
# How answers under a technique compare with Regular's.
_CHANGES = {"gained": "gained over Regular", "lost": "lost", "same": "as under Regular", COUNTED: "test questions"}
# What goes along from the list of instances, and does not cut what is measured.
_OF_LISTS = ("best", "changed", "explained_by", "search", "group")


def _slice_names(*, by_result: bool) -> list[str]:
    return [*address.SLICED[: None if by_result else -4]]


def _slice(results: Reader, chosen: Filter, *, by_result: bool) -> Filter:
    """Draw what narrows the instances further. by_result: whether they may be chosen by what explainers make of them. Not
    where explainers are then measured on them: selecting by correctness and then measuring correctness is circular."""
    ranges = query(results, Reader.ranges, chosen).iloc[0]
    if not ranges["instances"]:
        return chosen
    names, relations = _slice_names(by_result=by_result), sorted(set(query(results, Reader.relations, chosen)["relation"]))
    about = "natural: shipped with the dataset. substituted: the first document with another false answer put in."
    limits = int(ranges["shortest"]), int(ranges["longest"])
    origins, what = ("natural", "substituted"), "origin of the second false answer"
    parts: dict[str, Any] = {
        "relation": address.some_of("Relation", relations, "relation"),
        "origin": tuple(filter(None, [address.maybe("Second false answer", origins, "origin", what=what, help=about)])),
        "tokens": address.span("Length of the prompt, tokens", *limits, "tokens", "prompts of a length of"),
        "answer_at": tuple(end / 100 for end in address.span(*_POSITION)),
        "head": _head(results, chosen),
    }
    if by_result:
        parts |= {"best": _best(results), "changed": _changed(results)}
        parts["explained"] = _explained(results)
        titles = names_of(results).known("explainer")
        about = "Only instances on which this explainer ran: others may have run on more, or on fewer."
        explainer = address.maybe("Explained by", list(titles), "explained_by", what="explainer", titles=titles, help=about)
        parts["explained_by"] = explainer or ""
    any_set = any(address.values(name) for name in names)
    st.button("Clear these", key="clear_slice", on_click=address.setter(**dict.fromkeys(names)), disabled=not any_set)
    if not by_result and any(address.values(name) for name in _OF_LISTS):
        st.caption("Search, first choices and groups of answers narrow the list of instances only.")
    return replace(chosen, **parts)


def _held(results: Reader, names: Sequence[str]) -> None:
    """Draw a chip for each part of the slice that is set; a click removes it."""
    words = names_of(results).known("explainer") | _CHANGES
    words |= {str(best): title for best, title in _best_titles(results).items()}
    for name in names:
        values = address.values(name)
        # The two ends of a range are one part.
        parts = [" to ".join(values)] if name in _RANGES and values else values
        for part in parts:
            rest = [] if name in _RANGES else [other for other in values if other != part]
            label = _ON_CHIP.get(name, "{}").format(words.get(part, part))
            about = "Remove this part of the slice"
            st.button(f"{plain(label)} ×", key=f"part_{name}_{part}", help=about, on_click=address.setter(**{name: rest}))


def _best_titles(results: Reader) -> dict[BestToken, str]:
    """Return titles of best tokens, as in `MechLight first: not the answer`."""
    names, words = names_of(results), {key: word.title.lower() for key, word in PATTERNS.items()}
    return {
        best: f"{names.title('explainer', best.explainer)} first: {words.get(best.pattern, 'not the answer')}"
        for best in query(results, Reader.best_tokens)
    }


def _best(results: Reader) -> tuple[BestToken, ...]:
    label, titles = "What explainers' best tokens are", _best_titles(results)
    about = "All of these must hold, for example one explainer is right and another points at the wrong document."
    return address.some_of(label, list(titles), "best", what="best token", titles=titles, help=about, placeholder="anything")


def _changed(results: Reader) -> str:
    """Offer how BCU differs from Regular's for the same question; nothing to choose where techniques were not compared."""
    if query(results, Reader.technique_cells, Filter()).empty:
        address.known("changed", (), "change of BCU")
        return ""
    about = "Of answers under other techniques, to test questions only."
    held = address.maybe("BCU against Regular", list(_CHANGES), "changed", what="change of BCU", titles=_CHANGES, help=about)
    return held or ""


def _explained(results: Reader) -> bool:
    """Offer only instances with highlights; nothing to choose where there are no others."""
    if query(results, Reader.choices)["explained"].all():
        address.known("explained", ("true",), "choice of instances with highlights")
        return False
    about = "Where techniques are compared by their answers alone, no explainer ran."
    return address.switch("Only instances with highlights", "explained", help=about)


def _head(results: Reader, chosen: Filter) -> str:
    """Offer the heads that MechLight chose, of one model. Heads of different models have nothing but their name in common."""
    counts = query(results, Reader.chosen_heads, chosen)
    if counts["model"].nunique() != 1:
        if address.values("head"):
            address.unreadable("head", "the head", "asked for together with one model, for heads of two share only their name")
        return ""
    names = sorted((row.layer, row.head) for row in counts.itertuples())
    options = ["", *(head_name(*name) for name in names)]
    return address.one_of(
        "Head that MechLight chose", options, "head", titles={name: name or "any" for name in options}, menu=True
    )
