"""The slice: some of the filtered instances, and whether ranks leave out the first token; its values are computed live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from heval_core.figures.pattern_panels import PATTERN_TITLES
from heval_core.records import head_name
from heval_core.store.filters import NOT_ANSWER, Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.names import titles_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

_ORIGINS = ("natural", "substituted")
_RANGES = ("tokens", "answer_at")
# How a part of the slice reads on its chip.
_SAID = {
    "origin": "second answer {}",
    "tokens": "{} tokens",
    "answer_at": "answer at {} %",
    "head": "head {}",
    "without_first": "without the first token",
    "search": "search: {}",
    "changed": "BCU {} against Regular",
    "explained": "with highlights",
    "explained_by": "explained by {}",
}
# What goes along from the list of instances, and does not cut what is measured.
_OF_LISTS = ("best", "changed", "explained", "explained_by", "search", "group")


def slice_bar(results: Reader, chosen: Filter, *, ranked: bool, by_result: bool = False) -> tuple[Filter, bool]:
    """Draw the slice's chip. Returns the narrower filter, and whether the prompt's first token is left out.

    by_result: whether instances may be chosen by what explainers make of them. Not where explainers are then measured on them:
    selecting by correctness and then measuring correctness is circular.
    """
    ranges = query(results, Reader.ranges, chosen).iloc[0]
    if not ranges["instances"]:
        return chosen, False
    names = [*address.SLICED[: None if by_result else -4], *(["without_first"] if ranked else [])]
    held = sum(bool(address.values(name)) for name in names)
    with st.popover(
        f"Slice **{held}**" if held else "Slice", help="Only some of these instances; values are computed for them."
    ):
        narrowed = replace(
            chosen,
            relation=_relation(results, chosen),
            origin=_origin(),
            tokens=_tokens(int(ranges["shortest"]), int(ranges["longest"])),
            answer_at=_answer_at(),
            head=_head(results, chosen),
            best=_best(results) if by_result else (),
            changed=_changed(results) if by_result else "",
            explained=_explained(results) if by_result else chosen.explained,
            explained_by=_explained_by(results) if by_result else "",
        )
        about = "If a tokenizer adds no BOS, the first token of the first document becomes the attention sink."
        without_first = ranked and address.switch(
            "Leave the prompt's first token out of the ranks", "without_first", help=about
        )
        st.button("Clear the slice", key="clear_slice", on_click=address.setter(**dict.fromkeys(names)), disabled=not held)
    _held(results, [*names, *(["search"] if by_result else [])])
    if not by_result and any(address.values(name) for name in _OF_LISTS):
        st.caption("Search, first choices and groups of answers narrow the list of instances only.")
    if narrowed.cuts_cells and not by_result:
        left = len(query(results, Reader.instance_ids, narrowed))
        st.caption(f"slice: **{left:,} of {int(ranges['instances']):,}**")
    return narrowed, bool(without_first)


def _held(results: Reader, names: Sequence[str]) -> None:
    """A chip for each part of the slice that is set; a click removes it."""
    words = titles_of(results) | _best_titles(results)
    for name in names:
        asked = address.values(name)
        # The two ends of a range are one part.
        parts = [" to ".join(asked)] if name in _RANGES and asked else asked
        for part in parts:
            rest = [] if name in _RANGES else [other for other in asked if other != part]
            shown = _SAID.get(name, "{}").format(words.get(part, part))
            about = "Remove this part of the slice"
            st.button(f"{plain(shown)} ×", key=f"part_{name}_{part}", help=about, on_click=address.setter(**{name: rest}))


def _best_titles(results: Reader) -> dict[str, str]:
    """`mechlight: not answer` ▶ `MechLight first: not the answer`."""
    titles = titles_of(results)
    named = {}
    for option in query(results, Reader.best_tokens):
        explainer, _, pattern = option.rpartition(": ")
        what = "not the answer" if pattern == NOT_ANSWER else PATTERN_TITLES.get(pattern, pattern).lower()
        named[option] = f"{titles.get(explainer, explainer)} first: {what}"
    return named


def _relation(results: Reader, chosen: Filter) -> tuple[str, ...]:
    there = sorted(set(query(results, Reader.relations, chosen)["relation"]))
    return address.some_of("Relation", there, "relation")


def _origin() -> tuple[str, ...]:
    about = "natural: shipped with the dataset. substituted: the first document with another false answer put in."
    origin = address.maybe("Second false answer", _ORIGINS, "origin", what="origin of the second false answer", help=about)
    return (origin,) if origin else ()


def _tokens(shortest: int, longest: int) -> tuple[int, int] | tuple[()]:
    """Least and most tokens of a prompt; empty where these are the shortest and the longest there are."""
    if shortest == longest:
        return ()
    tokens = address.span("Length of the prompt, tokens", shortest, longest, "tokens", "prompts of a length of")
    return () if tokens == (shortest, longest) else tokens


def _answer_at() -> tuple[float, float] | tuple[()]:
    """Where the used document's answer stands, as shares of the prompt; empty for anywhere."""
    label = "Position of the used document's answer, % of the prompt"
    least, most = address.span(label, 0, 100, "answer_at", "a position of the answer of")
    return () if (least, most) == (0, 100) else (least / 100, most / 100)


def _best(results: Reader) -> tuple[str, ...]:
    options = query(results, Reader.best_tokens)
    label = "What explainers' best tokens are"
    about = "All of these must hold, for example one explainer is right and another points at the wrong document."
    titles = _best_titles(results)
    return address.some_of(label, options, "best", what="best token", titles=titles, help=about, placeholder="anything")


def _changed(results: Reader) -> str:
    """How BCU differs from Regular's for the same question; nothing to choose where techniques were not compared."""
    if query(results, Reader.technique_cells, Filter()).empty:
        address.known("changed", (), "change of BCU")
        return ""
    titles = {"gained": "gained", "lost": "lost", "same": "the same"}
    about = "Of answers under other techniques, to test questions only."
    held = address.maybe("BCU against Regular", list(titles), "changed", what="change of BCU", titles=titles, help=about)
    return held or ""


def _explained_by(results: Reader) -> str:
    """The explainer that ran on them; any where none is chosen."""
    titles = titles_of(results)
    about = "Only instances on which this explainer ran: others may have run on more, or on fewer."
    return address.maybe("Explained by", list(titles), "explained_by", what="explainer", titles=titles, help=about) or ""


def _explained(results: Reader) -> bool:
    """Only instances with highlights; nothing to choose where there are no others."""
    if query(results, Reader.choices)["explained"].all():
        address.known("explained", ("true",), "choice of instances with highlights")
        return False
    about = "Where techniques are compared by their answers alone, no explainer ran."
    return address.switch("Only instances with highlights", "explained", help=about)


def _head(results: Reader, chosen: Filter) -> str:
    """Of one model: the head that MechLight chose. Heads of different models have nothing but their name in common."""
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
