"""Components of our own: scripts and a style of the folder `components`, declared once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

_ASSETS = Path(__file__).parent / "components"


def scripts_of(name: str) -> list[Path]:
    """The scripts that make one module, in their order."""
    return [_ASSETS / "element.js", *(sorted((_ASSETS / name).glob("*.js")) or [_ASSETS / f"{name}.js"])]


@cache
def component(name: str) -> Any:
    """The component of `components/NAME.js` and `.css`; what it draws goes into the element of the class `host`.

    One that is too large for a file is a folder `NAME`: its scripts, in the order of their names, are one module.
    """
    folder = _ASSETS / name
    style = (folder if folder.is_dir() else _ASSETS) / f"{name}.css"
    return st.components.v2.component(
        f"heval_{name}", html='<div class="host"></div>', css=_joined([style]), js=_joined(scripts_of(name))
    )


def _joined(files: list[Path]) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
