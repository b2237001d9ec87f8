"""How accurate is each explainer?"""

import streamlit as st

from heval_core.ui import accuracy_view, entry, provenance
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("How accurate is each explainer?")
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
accuracy_view.draw(results, chosen, k)
provenance.draw(results)
