"""Figures of marks: a click on a mark, or Enter, picks it."""

from __future__ import annotations

import json
from collections.abc import Callable

import streamlit as st

from heval_core.figures.dots import DotFigure
from heval_core.figures.dots_drawn import Part, as_html
from heval_core.ui.component import component

OnPick = Callable[[list[str]], None]


def draw_figures(key: str, *figures: Part | DotFigure, on_pick: OnPick | None = None, picked: str = "") -> None:
    """on_pick: called with the id of the mark that is picked. picked: the id of the one that is, as `id_of` writes it."""

    def told() -> None:
        state = st.session_state.get(key) or {}
        # It comes from the browser: only texts are taken from it.
        found = json.loads(state.get("picked") or "[]")
        if on_pick and isinstance(found, list) and found and all(isinstance(part, str) for part in found):
            on_pick(found)

    parts = [one if isinstance(one, Part) else Part(one) for one in figures]
    component("marks")(key=key, data={"html": as_html(*parts), "picked": picked}, on_picked_change=told)
