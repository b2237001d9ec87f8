"""Which highlight explanation can be trusted?"""

import streamlit as st

from heval_core.ui import entry, overview_view, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("Which highlight explanation can be trusted?")
st.markdown(
    "A language model is given a question and some documents. Did its answer come from them or from its memory, from "
    "which document, and from which token? Highlight explanations claim to show it; here the true origin is known, so "
    "each of them can be marked."
)
results = reader()
overview_view.banner(results)
chosen, _ = filter_bar(results, ("model", "dataset"), prefix="leader_")
overview_view.draw(results, chosen)
provenance.draw(results)
link_button(results)
