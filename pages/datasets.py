"""What were the models asked?"""

import streamlit as st

from heval_core.ui import datasets_view, entry, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("What were the models asked, and what was left of it?")
results = reader()
chosen, _ = filter_bar(results, ("model", "dataset", "regime"))
datasets_view.draw(results, chosen)
provenance.draw(results)
link_button(results)
