"""Components of our own: scripts and a style of the folder `components`, declared once."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from heval_core.html import joined


@cache
def component(name: str) -> Any:
    """The component of this name; what it draws goes into the element of the class `host`."""
    html = '<div class="host"></div>'
    return st.components.v2.component(f"heval_{name}", html=html, css=joined(name, "css"), js=joined(name, "js"))
