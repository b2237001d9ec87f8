"""What stands around every page: the stylesheet, the navigation, and the sidebar's button."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from heval_core.ui import address, annotate, own_prompts
from heval_core.ui.component import component

_ASSETS = Path(__file__).parent / "components"
# A file of our own: a Material symbol here would be fetched from outside.
ICON = str(_ASSETS / "icon.png")
OWN_PROMPT = "Your prompt"
# Pixels from which on the sidebar is open at first.
WIDE, NEVER = 1600, 1_000_000


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
