"""Every page begins here."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

_MARK = "came_through_app"


def mark() -> None:
    """Called by app.py in every run."""
    st.session_state[_MARK] = True


def through_app() -> None:
    """Run again through app.py where Streamlit has not.

    Because there is a folder named `pages`, a fresh server runs a sub-page by itself, without table of contents and
    sidebar, until st.navigation was called once: a link to a sub-page would open broken. So the flag is set here.
    """
    if _MARK not in st.session_state:
        PagesManager.uses_pages_directory = False
        st.rerun()
