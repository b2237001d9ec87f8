"""RQ2: if there were two documents, which one did the answer come from?"""

import streamlit as st

from heval_core.ui import measured_cells, page_run, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.published_results import reader

page_run.through_app()
st.title("Which document did the answer come from?")
st.caption(
    "Two documents offer two answers, and the model gave one of them. A good explainer ranks the used document's "
    "tokens above the other's, wherever it stands; every question is also asked with the documents swapped, so that a "
    "liking for one place shows."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
measured_cells.draw(results, chosen, k, "RQ2")
provenance.draw(results)
link_button(results)
