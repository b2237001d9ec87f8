"""Components of our own: a script and a style of the folder `components`, declared once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

_ASSETS = Path(__file__).parent / "components"


@cache
def component(name: str) -> Any:
    """The component of `components/NAME.js` and `.css`; what it draws goes into the element of the class `host`."""
    style, script = ((_ASSETS / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return st.components.v2.component(f"heval_{name}", html='<div class="host"></div>', css=style, js=script)
