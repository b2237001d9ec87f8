"""Figures and tables of which a reader picks a point or a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.figures.layout import legible
from heval_core.ui.exports import PICTURE
from heval_core.ui.links import INSTANCES

_REMOVED = ["zoom2d", "pan2d", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d"]


def figure(drawn: object, key: str, width: str = "stretch") -> list[Any]:
    """Draw a Plotly figure. Returns the custom data of the point that is clicked; empty without one."""
    kind = st.session_state.get(PICTURE, "svg")
    # Plotly's own picture button, in the chosen format; everything happens in the browser.
    config = {
        "displaylogo": False,
        "displayModeBar": "hover",
        "modeBarButtonsToRemove": _REMOVED,
        "toImageButtonOptions": {"format": kind, "filename": "heval", "scale": 3 if kind == "png" else 1},
    }
    legible(drawn, st.context.theme.type == "dark")
    event = st.plotly_chart(drawn, width=width, key=key, on_select="rerun", selection_mode="points", config=config)
    points = event.selection.points if event and event.selection else []
    return list(points[0].get("customdata") or []) if points else []


def instances(table: pd.DataFrame, ids: Sequence[str], key: str, about: str) -> None:
    """Draw a table of instances; the one that is ticked has a link. ids: of its rows. about: the caption below it."""
    event = st.dataframe(table, hide_index=True, on_select="rerun", selection_mode="single-row", key=key)
    st.caption(about)
    rows = event.selection.rows if event else []
    if rows and rows[0] < len(table):
        instance_id = str(list(ids)[rows[0]])
        asked = {"instance": instance_id}
        st.page_link(INSTANCES, label=f"Open the instance {instance_id}", icon=":material/article:", query_params=asked)
