"""The explorer: table of contents and shared sidebar. Nothing else."""

from pathlib import Path

import streamlit as st

from heval_core.ui import entry, sidebar

# A file of our own: a Material symbol here would be fetched from outside.
ICON = Path(__file__).parent / "heval_core" / "ui" / "components" / "icon.png"

st.set_page_config(page_title="HEval", page_icon=str(ICON), layout="wide")

page = st.navigation(
    [
        st.Page("pages/overview.py", title="Overview", icon=":material/home:", default=True),
        st.Page("pages/instances.py", title="Instances", icon=":material/article:"),
        st.Page("pages/mechlight_head.py", title="MechLight head", icon=":material/grid_on:"),
        st.Page("pages/accuracy.py", title="Accuracy", icon=":material/bar_chart:"),
        st.Page("pages/datasets.py", title="Datasets", icon=":material/dataset:"),
        st.Page("pages/your_prompt.py", title="Your prompt", icon=":material/edit_note:"),
    ]
)
entry.mark()
sidebar.draw()
page.run()
