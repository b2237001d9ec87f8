"""Components of our own: scripts and a style of the folder `components`, declared once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

_ASSETS = Path(__file__).parent / "components"


# Those whose figures are made of marks, with what these share.
_OF_MARKS = ("dot_panels", "technique_figure")


def scripts_of(name: str) -> list[Path]:
    """The scripts that make one module, in their order."""
    return [_ASSETS / "element.js", *_shared(name, "js"), *(sorted((_ASSETS / name).glob("*.js")) or [_ASSETS / f"{name}.js"])]


def _shared(name: str, ending: str) -> list[Path]:
    return [_ASSETS / f"marks.{ending}"] if name in _OF_MARKS else []


@cache
def component(name: str) -> Any:
    """The component of `components/NAME.js` and `.css`; what it draws goes into the element of the class `host`.

    One that is too large for a file is a folder `NAME`: its scripts, in the order of their names, are one module.
    """
    folder = _ASSETS / name
    styles = [*_shared(name, "css"), (folder if folder.is_dir() else _ASSETS) / f"{name}.css"]
    return st.components.v2.component(
        f"heval_{name}", html='<div class="host"></div>', css=_joined(styles), js=_joined(scripts_of(name))
    )


def _joined(files: list[Path]) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
