"""The slice: some of the filtered instances, and whether ranks leave out the first token; its values are computed live."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.records import head_name
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.filters import refuse_value
from heval_core.ui.instance_links import SLICED, SLICING, keep
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

_LINKED = (*SLICED, "without_first")
# A link names options as they are shown, so controls show their keys.
_ORIGINS = ("natural", "substituted")


def slice_bar(results: Reader, chosen: Filter, *, ranked: bool, by_result: bool = False) -> tuple[Filter, bool]:
    """Draw the slice under a filter. Returns the narrower filter, and whether the prompt's first token is left out.

    by_result: whether instances may be chosen by what explainers make of them. Not where explainers are then measured on them:
    selecting by correctness and then measuring correctness is circular.
    """
    if SLICING not in st.session_state:
        st.session_state[SLICING] = any(name in st.query_params for name in _LINKED)
    # A toggle, because what is folded away in an expander is computed all the same.
    if not st.toggle("Slice: only some of these instances", key=SLICING):
        return chosen, False
    ranges = query(results, Reader.ranges, chosen).iloc[0]
    if not ranges["instances"]:
        return chosen, False
    with st.container(border=True):
        first, second, third = st.columns(3)
        narrowed = replace(
            chosen,
            relation=_relation(results, chosen, first),
            origin=_origin(first),
            tokens=_tokens(int(ranges["shortest"]), int(ranges["longest"]), second),
            head=_head(results, chosen, second),
            answer_at=_answer_at(third),
            best=_best(results) if by_result else (),
        )
        about = "If a tokenizer adds no BOS, the first token of the first document becomes the attention sink."
        without_first = ranked and third.toggle(
            "Leave the prompt's first token out of the ranks", key="without_first", bind="query-params", help=about
        )
    if narrowed.cuts_cells:
        left = len(query(results, Reader.instance_ids, narrowed))
        st.caption(f"{left:,} of {int(ranges['instances']):,} instances are in the slice; everything below is about these.")
    return narrowed, bool(without_first)


def _relation(results: Reader, chosen: Filter, column: DeltaGenerator) -> tuple[str, ...]:
    there = sorted(set(query(results, Reader.relations, chosen)["relation"]))
    refuse_value("relation", there, "relation")
    return tuple(column.multiselect("Relation", there, key="relation", bind="query-params", placeholder="all"))


def _origin(column: DeltaGenerator) -> tuple[str, ...]:
    refuse_value("origin", _ORIGINS, "origin of the second false answer")
    about = "natural: shipped with the dataset. substituted: the first document with another false answer put in."
    origin = column.pills("Second false answer", _ORIGINS, key="origin", bind="query-params", help=about)
    return (origin,) if origin else ()


def _tokens(shortest: int, longest: int, column: DeltaGenerator) -> tuple[int, int] | tuple[()]:
    """Least and most tokens of a prompt; empty where these are the shortest and the longest there are."""
    if shortest == longest:
        return ()
    _from_link("tokens", shortest, longest)
    _clamp("tokens", shortest, longest)
    tokens: tuple[int, int] = column.slider(
        "Length of the prompt, tokens", shortest, longest, (shortest, longest), key="tokens", bind="query-params"
    )
    return () if tokens == (shortest, longest) else tokens


def _answer_at(column: DeltaGenerator) -> tuple[float, float] | tuple[()]:
    """Where the used document's answer stands, as shares of the prompt; empty for anywhere."""
    _from_link("answer_at", 0, 100)
    least, most = column.slider(
        "Position of the used document's answer, % of the prompt", 0, 100, (0, 100), key="answer_at", bind="query-params"
    )
    return () if (least, most) == (0, 100) else (least / 100, most / 100)


def _best(results: Reader) -> tuple[str, ...]:
    options = query(results, Reader.best_tokens)
    refuse_value("best", options, "best token")
    if "best" in st.session_state:
        st.session_state["best"] = [pattern for pattern in st.session_state["best"] if pattern in options]
    label = "What explainers' best tokens are"
    about = "All of these must hold, for example one explainer is right and another points at the wrong document."
    return tuple(st.multiselect(label, options, key="best", bind="query-params", placeholder="anything", help=about))


def _from_link(name: str, least: int, most: int) -> None:
    """The link's range, cut to the possible values. Shows an error if there is none; a slider would silently show all."""
    asked = st.query_params.get_all(name)
    if not asked or name in st.session_state:
        return
    ends = [int(value) for value in asked if value.isdecimal()]
    if len(asked) == len(ends) == 2 and least <= ends[1] and ends[0] <= most and ends[0] <= ends[1]:
        if ends != [max(least, ends[0]), min(most, ends[1])]:
            keep(name, (max(least, ends[0]), min(most, ends[1])))
        return
    shown = " to ".join(plain(value[:40]) for value in asked)
    st.error(f"The link asks for {plain(name)} from {shown}; there are {least} to {most} under these filters.")
    del st.query_params[name]


def _clamp(name: str, least: int, most: int) -> None:
    """A range that another page's link has set lies within what this filter holds, or is forgotten."""
    ends = st.session_state.get(name)
    if ends:
        low, high = max(least, ends[0]), min(most, ends[1])
        if low > high:
            st.error(f"No prompt under these filters has {ends[0]} to {ends[1]} {name}; there are {least} to {most}.")
            del st.session_state[name]
        elif (low, high) != tuple(ends):
            st.session_state[name] = (low, high)


def _head(results: Reader, chosen: Filter, column: DeltaGenerator) -> str:
    """Of one model: the head that MechLight chose. Heads of different models have nothing but their name in common."""
    counts = query(results, Reader.chosen_heads, chosen)
    if counts["model"].nunique() != 1:
        if "head" in st.query_params:
            st.error("The link asks for a head; choose one model first, for heads of two have only their name in common.")
            del st.query_params["head"]
        return ""
    names = sorted((row.layer, row.head) for row in counts.itertuples())
    options = [head_name(*name) for name in names]
    refuse_value("head", options, "head")
    if st.session_state.get("head") not in (None, *options):
        del st.session_state["head"]
    return (
        column.selectbox("Head that MechLight chose", options, index=None, key="head", bind="query-params", placeholder="any")
        or ""
    )
