"""What stands around every page: the stylesheet, the navigation, the sidebar's button, and addresses that have moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.ui import address, annotate, own_prompts
from heval_core.ui.component import component

_ASSETS = Path(__file__).parent / "components"
# A file of our own: a Material symbol here would be fetched from outside.
ICON = str(_ASSETS / "icon.png")
OWN_PROMPT = "Your prompt"
# Pixels from which on the sidebar is open at first.
WIDE, NEVER = 1600, 1_000_000
_ACCURACY, _INSTANCES, _BEHIND = "pages/accuracy.py", "pages/instances.py", "pages/data_and_methods.py"
# An address of the first version ▶ the page that took its place, and its tab.
MOVED = {
    "context_or_memory": (_ACCURACY, "memory"),
    "which_document": (_ACCURACY, "document"),
    "which_token": (_ACCURACY, "token"),
    "faithfulness": (_ACCURACY, "faithful"),
    "length_and_position": (_ACCURACY, "length"),
    "failures": (_ACCURACY, "failures"),
    "compare": (_ACCURACY, "compare"),
    "mechlight_head": (_INSTANCES, ""),
    "datasets": (_BEHIND, "data"),
    "about": (_BEHIND, "methods"),
}
# The prefix of the first version's links from one page to another. Ranges were one text there: `40-60`.
_PREFIXES = ("at_", "leader_")
_RANGES = {"tokens": 1.0, "answer_at": 100.0}


def draw(pages: Sequence[StreamlitPage], current: StreamlitPage) -> None:
    """Stylesheet, links to all pages with the view that goes along, and the button of the sidebar.

    The sidebar opens by itself on wide windows, and where there is nothing to look at but its form.
    """
    st.html(_ASSETS / "page.css")
    with st.container(horizontal=True, key="navigation", gap="xsmall", vertical_alignment="center"):
        # First, so that the keyboard comes to it first; the stylesheet puts it last.
        own = current.title == OWN_PROMPT
        shown = any(own_prompts.find(name) for name in address.values("result"))
        # Beside the task of annotating it would only distract.
        wide = NEVER if current.title == annotate.TITLE else WIDE
        data = {"open_from": wide, "open": own and not shown, "own": own}
        component("sidebar_button")(key="sidebar_button", data=data, width="content")
        st.html(_ASSETS / "brand.html", width="content")
        for page in pages:
            here = "here" if page is current else "there"
            with st.container(key=f"{here}_{page.url_path or 'overview'}", width="content"):
                st.page_link(page, label=page.title, query_params=address.onward(page.title))


def moved() -> list[StreamlitPage]:
    """Pages out of sight that send old addresses to where their content is now."""
    return [st.Page(partial(_redirect, *to), title=old, url_path=old, visibility="hidden") for old, to in MOVED.items()]


def _redirect(page: str, tab: str) -> None:
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    st.switch_page(page, query_params=renamed(asked) | ({"tab": [tab]} if tab else {}))


def rename_old() -> None:
    """Links of the first version to a page that still has its address."""
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    if any(name.startswith(_PREFIXES) for name in asked):
        st.query_params.from_dict(renamed(asked))


def renamed(asked: dict[str, list[str]]) -> dict[str, list[str]]:
    """The parameters of a link of the first version as they are called today."""
    tabs = {question.title: question.link for question in QUESTIONS.values()}
    view: dict[str, list[str]] = {}
    for name, values in asked.items():
        for prefix in _PREFIXES:
            name = name.removeprefix(prefix)
        if name in _RANGES and len(values) == 1:
            values = [f"{float(end) * _RANGES[name]:.0f}" if _number(end) else end for end in values[0].split("-")]
        if name == "question":
            values = [tabs.get(value, value) for value in values]
        view[name] = values
    return view


def _number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
