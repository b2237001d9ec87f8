"""The explorer: table of contents and shared sidebar. Nothing else."""

from pathlib import Path

import streamlit as st

from heval_core.ui import page_run, sidebar

# A file of our own: a Material symbol here would be fetched from outside.
ICON = Path(__file__).parent / "heval_core" / "ui" / "components" / "icon.png"

st.set_page_config(page_title="HEval", page_icon=str(ICON), layout="wide")

page = st.navigation(
    {
        "": [st.Page("pages/overview.py", title="Overview", icon=":material/home:", default=True)],
        "Which explainer is right?": [
            st.Page("pages/context_or_memory.py", title="Context or memory", icon=":material/psychology:"),
            st.Page("pages/which_document.py", title="Which document", icon=":material/difference:"),
            st.Page("pages/which_token.py", title="Which token", icon=":material/my_location:"),
            st.Page("pages/length_and_position.py", title="Length and position", icon=":material/straighten:"),
            st.Page("pages/faithfulness.py", title="Faithfulness", icon=":material/balance:"),
            st.Page("pages/compare.py", title="Compare explainers", icon=":material/compare_arrows:"),
            st.Page("pages/report.py", title="Report", icon=":material/summarize:"),
        ],
        "Look closer": [
            st.Page("pages/instances.py", title="Instances", icon=":material/article:"),
            st.Page("pages/mechlight_head.py", title="MechLight head", icon=":material/grid_on:"),
            st.Page("pages/failures.py", title="Failures", icon=":material/report:"),
            st.Page("pages/your_prompt.py", title="Your prompt", icon=":material/edit_note:"),
        ],
        "What is behind it": [
            st.Page("pages/datasets.py", title="Datasets", icon=":material/dataset:"),
            st.Page("pages/about.py", title="About", icon=":material/info:"),
        ],
    },
    expanded=True,
)
page_run.mark()
with page_run.watched("sidebar"):
    sidebar.draw()
with page_run.watched(page.title):
    page.run()
