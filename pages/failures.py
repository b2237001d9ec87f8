"""When an explainer does not point at the answer, what does it point at?"""

import streamlit as st

from heval_core.ui import entry, failures_view, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("What do explainers point at when they fail?")
st.caption(
    "In every instance answered from a document, the token that an explainer ranks first is either the answer or "
    "something else. "
    "These are the paper's patterns of something else, counted, with examples a click away."
)
results = reader()
chosen, _ = filter_bar(results, ("model", "dataset", "regime"))
failures_view.draw(results, chosen)
provenance.draw(results)
link_button(results)
