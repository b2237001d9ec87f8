"""Figures as SVG, drawn by a Chromium that is installed here; nothing is fetched, and nothing of the moment is in them."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from heval_core.html import as_data, asset, render

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=600000",
    "--timeout=600000",
)
_SECONDS = 600
_WIDTH = 1000
# Plotly names clip paths, legends and textures by chance: six digits behind one of these.
_NAMED = re.compile(r' id="([^"]*)"')
_RANDOM = re.compile(r"(?:clip|defs-|legend|^g|^p|-)([0-9a-f]{6})(?![0-9a-f])")


def browser() -> str | None:
    """The system's Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def as_svg(program: str, figures: Mapping[str, go.Figure]) -> dict[str, str]:
    """Each figure as SVG, by name; those that could not be drawn are left out."""
    plain = {name: json.loads(figure.to_json()) for name, figure in figures.items()}
    for figure in plain.values():
        figure["layout"].pop("template", None)
        figure["layout"] |= {"width": _WIDTH, "paper_bgcolor": "white", "plot_bgcolor": "white"}
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figures.html"
        html = render("pictures.html", library=get_plotlyjs(), figures=as_data(plain), script=asset("draw.js"))
        page.write_text(html, encoding="utf-8")
        command = [program, *_FLAGS, f"--user-data-dir={folder}/profile", "--dump-dom", page.as_uri()]
        try:
            drawn = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False).stdout
        except (OSError, subprocess.SubprocessError):
            return {}
    match = re.search(r'<pre id="found">([A-Za-z0-9+/=]*)</pre>', drawn)
    if not match or not match[1]:
        return {}
    pictures: dict[str, str] = json.loads(base64.b64decode(match[1]))
    return {name: _settled(picture) for name, picture in pictures.items()}


def _settled(picture: str) -> str:
    """The same picture with its random names replaced by numbers, in order of appearance."""
    names = [name for identifier in _NAMED.findall(picture) for name in _RANDOM.findall(identifier)]
    for number, name in enumerate(dict.fromkeys(names)):
        picture = re.sub(rf"(?<=[a-z-]){name}", f"{number:06d}", picture)  # not where it is digits of a number
    return picture.replace(' style=""', "")  # Plotly writes it only sometimes
