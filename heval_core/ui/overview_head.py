"""The top of the Overview: what this is about, whether these are demo results, and which results are looked at."""

from __future__ import annotations

import streamlit as st

from heval_core.figures import overview
from heval_core.figures.headline import side_by_side, standings
from heval_core.figures.palette import in_order
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import filters
from heval_core.ui.exports import link_button
from heval_core.ui.names import controls_of, titles_of
from heval_core.ui.overview_prompt import STYLE
from heval_core.ui.published_results import query
from heval_core.wording import DEMO_NOTE, counted

TITLE = "Which highlight explanation can be trusted?"


def draw(results: Reader) -> Filter:
    """Title, introduction, badge and chips. Returns what the chips ask for."""
    st.html(STYLE)
    with st.container(key="overview_head", horizontal=True):
        with st.container(key="overview_words"):
            st.title(TITLE)
            st.html(overview.lead())
        with st.container(key="overview_tools"):
            if results.bundled:
                models = counted(len(query(results, Reader.models)), "tiny model")
                with st.container(key="demo_badge", width="content"):
                    badge = st.popover(f"Demo results · {models} · what that means", help="Not the paper’s models")
                    badge.markdown(DEMO_NOTE)
            with filters.row():
                chosen = filters.filter_bar(results, ("model", "dataset"), count=False, explained=True)
                link_button(results)
    return chosen


def ranking(results: Reader, chosen: Filter) -> list[str]:
    """The methods, best on average over the three questions first: over all results, whatever model or dataset is chosen."""
    headline = side_by_side(query(results, Reader.headline, Filter(technique=chosen.technique)))
    controls = controls_of(results)
    ranked = [key for key in standings(headline).index if key not in controls]
    rest = [key for key in in_order(list(titles_of(results))) if key not in (*controls, *ranked)]
    return ranked if ranked else rest
