"""Says so where these are the demo models' results."""

from __future__ import annotations

import streamlit as st

from heval_core.store.reader import Reader
from heval_core.wording import DEMO_NOTE


def banner(results: Reader) -> None:
    """Name the demo models as such, until other results are published."""
    if results.bundled:
        st.info(DEMO_NOTE, icon=":material/science:")
