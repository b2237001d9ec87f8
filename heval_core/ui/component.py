"""Components of our own: scripts and a style of the folder `components`, declared once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import streamlit as st

from heval_core.present.html import joined


@cache
def _declared(name: str) -> Any:
    """Declare a component. What it draws goes into the element of the class `host`."""
    html = '<div class="host"></div>'
    return st.components.v2.component(f"heval_{name}", html=html, css=joined(name, "css"), js=joined(name, "js"))


def component(name: str, key: str, data: Any, width: str = "stretch", **heard: Callable[[Any], None]) -> None:
    """Draw the component of this name. heard: of each value that its script sets, what is called with it."""

    def changed(what: str) -> None:
        if value := (st.session_state.get(key) or {}).get(what):
            heard[what](value)

    _declared(name)(key=key, data=data, width=width, **{f"on_{what}_change": partial(changed, what) for what in heard})
