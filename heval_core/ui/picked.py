"""Tables of which a reader picks a row."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from heval_core.ui.links import INSTANCES


def instances(table: pd.DataFrame, ids: Sequence[str], key: str, about: str) -> None:
    """Draw a table of instances; the one that is ticked has a link. ids: of its rows. about: the caption below it."""
    event = st.dataframe(table, hide_index=True, on_select="rerun", selection_mode="single-row", key=key)
    st.caption(about)
    rows = event.selection.rows if event else []
    if rows and rows[0] < len(table):
        instance_id = str(list(ids)[rows[0]])
        asked = {"instance": instance_id}
        st.page_link(INSTANCES, label=f"Open the instance {instance_id}", icon=":material/article:", query_params=asked)
