"""Figures that can be zoomed, and tables, of which a reader picks a point or a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from heval_core.figures.layout import legible
from heval_core.store.reader import Reader
from heval_core.ui.links import INSTANCES
from heval_core.ui.marks import OnPick

_REMOVED = ["select2d", "lasso2d", "autoScale2d"]


def figure(
    results: Reader, drawn: Any, key: str, about: str, on_pick: OnPick | None, width: Literal["stretch", "content"]
) -> None:
    """Draw a figure of Plotly, with a camera that saves it. about: it in words, for those who do not see it.

    on_pick: called with the id of the point that is clicked; without any when that is let go. None: nothing is picked.
    """
    # The picture is made in the browser.
    saved = {"format": "svg", "filename": f"heval-{key.replace('_', '-')}-{results.snapshot_id[:8]}"}
    config = {"displaylogo": False, "modeBarButtonsToRemove": _REMOVED, "toImageButtonOptions": saved}

    def told() -> None:
        points = st.session_state[key].selection.points
        # It comes from the browser: only texts are taken from it.
        if on_pick:
            on_pick([part for part in points[0].get("customdata") or [] if isinstance(part, str)] if points else [])

    legible(drawn, st.context.theme.type == "dark")
    st.plotly_chart(
        drawn, width=width, key=key, on_select=told if on_pick else "ignore", selection_mode="points", config=config, alt=about
    )


def instances(table: pd.DataFrame, ids: Sequence[str], key: str, about: str) -> None:
    """Draw a table of instances; the one that is ticked has a link. ids: of its rows. about: the caption below it."""
    event = st.dataframe(table, hide_index=True, on_select="rerun", selection_mode="single-row", key=key)
    st.caption(about)
    rows = event.selection.rows if event else []
    if rows and rows[0] < len(table):
        instance_id = str(list(ids)[rows[0]])
        asked = {"instance": instance_id}
        st.page_link(INSTANCES, label=f"Open the instance {instance_id}", icon=":material/article:", query_params=asked)
