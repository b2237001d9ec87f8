"""The table of instances: searched, sorted and paged in the database; a row opens its instance."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pandas as pd
import streamlit as st

from heval_core.records import HEvalError
from heval_core.store.reader import SORTED_BY, Filter, Reader
from heval_core.ui.filters import refuse_value
from heval_core.ui.results import cached
from heval_core.ui.text import plain

PAGE = 25


def find(results: Reader, chosen: Filter) -> Filter:
    """Draw the table, folded away until it is wanted. Returns the filter, narrowed by the search; a selected row is opened."""
    named = "instance" in st.query_params
    # A toggle, because what is folded away in an expander is computed all the same.
    if not st.toggle("Find an instance", value=not named, key=f"finding_{named}"):
        narrowed = replace(chosen, search=str(st.query_params.get("search", "")))
        return chosen if _count(results, narrowed) is None else narrowed
    with st.container(border=True):
        left, middle, right = st.columns([4, 2.2, 1.6], vertical_alignment="bottom")
        search = left.text_input(
            "Search prompts and answers",
            key="search",
            bind="query-params",
            placeholder="a word, or a regular expression",
        )
        refuse_value("sort", list(SORTED_BY), "order")
        sort = middle.selectbox("Order by", list(SORTED_BY), key="sort", bind="query-params")
        descending = right.toggle("Descending", key="descending", bind="query-params")
        narrowed = replace(chosen, search=search)
        count = _count(results, narrowed)
        if count is None:
            return chosen
        pages = max(1, -(-count // PAGE))
        page = _page(pages)
        table = cast(pd.DataFrame, cached(results, "instances", narrowed, sort, descending, (page - 1) * PAGE, PAGE))
        event = st.dataframe(
            table.round(3), hide_index=True, on_select="rerun", selection_mode="single-row", key="found",
            height=min(38 + 35 * max(1, len(table)), 400),
        )  # fmt: skip
        st.caption(f"{count:,} instances; select a row to open it.")
        rows = event.selection.rows if event else []
        if rows and rows[0] < len(table):
            wanted = str(table.iloc[rows[0]]["instance_id"])
            if st.session_state.get("opened_from_table") != wanted:
                st.session_state["opened_from_table"] = wanted
                st.query_params["instance"] = wanted
                st.rerun()
    return narrowed


def _page(pages: int) -> int:
    """Which page of the table, from 1; kept in the link. A page that a narrower filter no longer has is the last one."""
    if pages == 1:
        return 1
    if not str(st.query_params.get("page", "1")).isdecimal():
        st.error(f"The link asks for the page {plain(st.query_params['page'][:80])}; it should be a number.")
        del st.query_params["page"]
    known = st.session_state.get("page", st.query_params.get("page", 1))
    st.session_state["page"] = min(max(1, int(known)), pages)
    return int(st.number_input(f"Page, of {pages:,}", 1, pages, key="page", bind="query-params", width=160))


def _count(results: Reader, narrowed: Filter) -> int | None:
    """How many instances a search leaves; None, with a sentence, where it is no regular expression."""
    try:
        return len(cast(list[str], cached(results, "instance_ids", narrowed)))
    except HEvalError as error:
        st.error(plain(str(error)))
        return None
