"""The head-map component: layers by heads, coloured by S; choosing a square (mouse or keyboard) chooses a head."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from heval_core.ui.component import component


def head_map(strengths: Iterable[Iterable[float]], chosen: str, runner_up: str, *, key: str) -> str:
    """Draw the map and return the head shown, the chosen one until another is picked. strengths: (layers, heads)."""
    state = st.session_state.get(key) or {}
    shown = state.get("head") or chosen
    data = {
        "strengths": [[float(f"{value:.5g}") for value in row] for row in strengths],
        "chosen": chosen,
        "runner_up": runner_up,
        "shown": shown,
    }
    result = component("head_map")(key=key, data=data, on_head_change=lambda: None)
    return str(result.head or chosen)


def head_at(name: str) -> tuple[int, int]:
    """Layer and head of a name such as `L3H5`."""
    layer, head = name[1:].split("H")
    return int(layer), int(head)
