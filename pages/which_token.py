"""RQ3: which token did the answer come from?"""

import streamlit as st

from heval_core.ui import measured_cells, page_run, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.published_results import reader

page_run.through_app()
st.title("Which token did the answer come from?")
st.caption(
    "Where the answer came from a document, it stands there literally, and these tokens should rank first. The "
    "control *lexical* only looks for the answer's own token, so it finds it by construction: its bar is where a "
    "string match gets, not a level that a method has to beat."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
measured_cells.draw(results, chosen, k, "RQ3")
provenance.draw(results)
link_button(results)
