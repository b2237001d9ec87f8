"""Which of two explainers is better, where, and on which instances do they differ?"""

import streamlit as st

from heval_core.ui import compare_view, entry, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("Which of two explainers is better?")
st.caption(
    "Both explained the same instances, so they are compared pair by pair: the difference in every cell with its "
    "interval, and a win "
    "only where it holds after correcting for all pairs. Below are the instances on which they differ most."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
compare_view.draw(results, chosen, k)
provenance.draw(results)
link_button(results)
