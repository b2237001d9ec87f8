"""The table of instances: searched, sorted and paged in the database; a row opens its instance."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from heval_core.evaluation.orders import SORTED_BY, scores_of
from heval_core.metrics import headlines
from heval_core.records import HEvalError
from heval_core.store.filters import AS_STORED, Filter
from heval_core.store.reader import Reader
from heval_core.ui import picked
from heval_core.ui.filters import refuse_value
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

PAGE = 25
_ORDER = "order_of_instances"


class Found(NamedTuple):
    """The filter, narrowed by the search, and the order that instances are gone through in."""

    chosen: Filter
    order: str = AS_STORED
    descending: bool = False


def find(results: Reader, chosen: Filter) -> Found:
    """Draw the table if its toggle is on. A selected row is opened."""
    named = "instance" in st.query_params
    # A toggle, because what is folded away in an expander is computed all the same.
    if not st.toggle("Find an instance", value=not named, key=f"finding_{named}"):
        return _folded(results, chosen)
    with st.container(border=True):
        left, middle, right = st.columns([3.6, 2.4, 1.7], vertical_alignment="bottom")
        search = left.text_input(
            "Search prompts and answers", key="search", bind="query-params", placeholder="a word, or a regular expression"
        )
        refuse_value("sort", list(SORTED_BY), "order")
        sort = middle.selectbox("Order by", list(SORTED_BY), key="sort", bind="query-params")
        descending = right.toggle("Descending", key="descending", bind="query-params")
        narrowed = replace(chosen, search=search)
        st.session_state[_ORDER] = (sort, descending)
        count = _count(results, narrowed)
        if count is None:
            return Found(chosen, sort, descending)
        page = _page(max(1, -(-count // PAGE)))
        _table(results, Found(narrowed, sort, descending), (page - 1) * PAGE)
        st.caption(f"{count:,} instances; tick a row to open it.")
    return Found(narrowed, sort, descending)


def _table(results: Reader, search: Found, offset: int) -> None:
    """One page of the table, from a row on. The row that is ticked is opened, once."""
    shown = scores_of(headlines()["RQ3"])
    table = query(results, Reader.instances, search.chosen, SORTED_BY[search.order], search.descending, offset, PAGE, shown)
    ticked = picked.row(table.round(3), "found", height=min(38 + 35 * max(1, len(table)), 400))
    if ticked is not None:
        wanted = str(table.iloc[ticked]["instance_id"])
        if st.session_state.get("opened_from_table") != wanted:
            st.session_state["opened_from_table"] = wanted
            st.query_params["instance"] = wanted
            st.rerun()


def _folded(results: Reader, chosen: Filter) -> Found:
    """The last search and order of the table, or the link's, without drawing the table."""
    linked = st.query_params.get("sort")
    if linked is not None:
        refuse_value("sort", list(SORTED_BY), "order")
        st.session_state[_ORDER] = (linked, st.query_params.get("descending") == "true")
    order, descending = st.session_state.get(_ORDER, (AS_STORED, False))
    if order not in SORTED_BY:
        order = AS_STORED
    narrowed = replace(chosen, search=str(st.query_params.get("search", "")))
    return Found(chosen if _count(results, narrowed) is None else narrowed, order, descending)


def _page(pages: int) -> int:
    """The page of the table, from 1; kept in the link. If a narrower filter has fewer pages, it is the last one."""
    if pages == 1:
        return 1
    if not str(st.query_params.get("page", "1")).isdecimal():
        st.error(f"The link asks for the page {plain(st.query_params['page'][:80])}; it should be a number.")
        del st.query_params["page"]
    known = st.session_state.get("page", st.query_params.get("page", 1))
    st.session_state["page"] = min(max(1, int(known)), pages)
    return int(st.number_input(f"Page, of {pages:,}", 1, pages, key="page", bind="query-params", width=160))


def _count(results: Reader, narrowed: Filter) -> int | None:
    """How many instances a search leaves; None, with an error on the page, if it is no regular expression."""
    try:
        # With the arguments that `choose` asks with where nothing is sorted, so that it is asked once.
        return len(query(results, Reader.instance_ids, narrowed, AS_STORED, False))
    except HEvalError as error:
        st.error(plain(str(error)))
        return None
