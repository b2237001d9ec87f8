"""RQ1: did the answer come from the context or from the model's memory?"""

import streamlit as st

from heval_core.ui import measured_cells, page_run, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.published_results import reader

page_run.through_app()
st.title("Did it use the context or its memory?")
st.caption(
    "In one group of instances the model believed the document, in the other its own memory. A good explainer puts "
    "the document's tokens higher where the document was used; the measures below say by how much, and how well the "
    "two can be told apart."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
measured_cells.draw(results, chosen, k, "RQ1")
provenance.draw(results)
link_button(results)
