"""The explorer: table of contents and shared sidebar. Nothing else."""

import streamlit as st

from heval_core.ui import entry, sidebar

st.set_page_config(page_title="HEval", page_icon=":material/highlight:", layout="wide")

page = st.navigation(
    [
        st.Page("pages/overview.py", title="Overview", icon=":material/home:", default=True),
        st.Page("pages/instances.py", title="Instances", icon=":material/article:"),
        st.Page("pages/mechlight_head.py", title="MechLight head", icon=":material/grid_on:"),
        st.Page("pages/accuracy.py", title="Accuracy", icon=":material/bar_chart:"),
        st.Page("pages/your_prompt.py", title="Your prompt", icon=":material/edit_note:"),
    ]
)
entry.mark()
sidebar.draw()
page.run()
