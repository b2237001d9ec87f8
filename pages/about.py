"""How are these numbers made, and who may use them?"""

import streamlit as st

from heval_core.ui import about_view, entry, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.results import reader

entry.through_app()
st.title("How are these numbers made?")
results = reader()
about_view.draw(results)
provenance.draw(results)
link_button(results)
