"""RQ1: did the answer come from the context or from the model's memory?"""

import streamlit as st

from heval_core.ui import accuracy_view, entry, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("Did it use the context or its memory?")
st.caption(
    "In one group of instances the model believed the document, in the other its own memory. A good explainer "
    "puts the document's "
    "tokens higher where the document was used; the measures below say by how much, and how well the two can be told apart."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
accuracy_view.draw(results, chosen, k, "RQ1")
provenance.draw(results)
link_button(results)
