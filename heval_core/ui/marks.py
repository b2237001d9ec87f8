"""Figures of marks that the browser draws: a click on a mark, or Enter, picks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import streamlit as st

from heval_core.ui.component import component

OnPick = Callable[[list[str]], None]


def figure_of_marks(name: str, key: str, data: dict[str, Any], on_pick: OnPick) -> None:
    """Draw the component `name`. on_pick: called with the id of the mark that is picked."""

    def picked() -> None:
        state = st.session_state.get(key) or {}
        # It comes from the browser: only texts are taken from it.
        found = json.loads(state.get("picked") or "[]")
        if isinstance(found, list) and found and all(isinstance(part, str) for part in found):
            on_pick(found)

    component(name)(key=key, data=data, on_picked_change=picked)


def dot_panels(drawing: dict[str, Any], key: str, on_pick: OnPick) -> None:
    """The question tabs' figure: dots in panels. drawing: from `figures.panels`."""
    figure_of_marks("dot_panels", key, drawing, on_pick)


def id_of(parts: list[str] | tuple[str, ...]) -> str:
    """As the browser tells marks apart."""
    return json.dumps(list(parts), separators=(",", ":"), ensure_ascii=False)
