"""The explorer: its pages and what stands around every one of them. Nothing else."""

import streamlit as st

from heval_core.ui import address, annotate, frame, sidebar

st.set_page_config(page_title="HEval", page_icon=frame.ICON, layout="wide", initial_sidebar_state="collapsed")

pages = [
    st.Page("pages/overview.py", title="Overview", default=True),
    st.Page("pages/your_prompt.py", title=frame.OWN_PROMPT),
    st.Page("pages/instances.py", title="Instances"),
    st.Page("pages/leaderboard.py", title="Leaderboard"),
    st.Page("pages/techniques.py", title="Techniques"),
    st.Page("pages/citations.py", title="Citations"),
    st.Page("pages/about.py", title="About"),
]
# Where people do not annotate, its address says so.
annotating = st.Page("pages/annotate.py", title=annotate.TITLE, visibility="visible" if annotate.is_on() else "hidden")
page = st.navigation([*pages, annotating], position="hidden")
frame.mark()
address.enter(page.title)
with frame.watched("navigation"):
    frame.draw([*pages, annotating] if annotate.is_on() else pages, page)
with frame.watched("sidebar"):
    sidebar.draw(on_own_page=frame.has_form(page.title))
with frame.watched(page.title):
    page.run()
address.leave()
