"""Which explainers the figure draws: all methods if they are few, else the first four; the controls always."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.dots import WITH_CELLS
from heval_core.present.names import Names
from heval_core.ui import address

PARAMETER = "explainers"
_FEW = 4


def drawn(methods: Sequence[str], names: Names, chips: DeltaGenerator) -> list[str]:
    """The chip with its menu. methods: the best first. Returns those to draw, the best first."""
    default = list(methods) if len(methods) <= WITH_CELLS else list(methods[:_FEW])
    asked = [key for key in methods if key in address.values(PARAMETER)] or default
    with chips, st.popover(f"Explainers **{len(asked)} of {len(methods)}**"):
        titles = {key: names.explainer(key) for key in methods}
        chosen = address.some_of(
            "Explainers to draw", list(methods), PARAMETER, what="explainer", titles=titles, default=default
        )
        with st.container(horizontal=True):
            if few := len(default) < len(methods):
                st.button(f"First {_FEW}", key="draw_first", on_click=address.setter(explainers=None))
            st.button("All", key="draw_all", on_click=address.setter(explainers=list(methods) if few else None))
        st.caption(f"The table has all of them. With more than {WITH_CELLS}, rows are thinner and show means only.")
    return [key for key in methods if key in (chosen or default)]
