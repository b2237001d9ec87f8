"""Do the paper's findings hold here?"""

import streamlit as st

from heval_core.ui import entry, overview_view, provenance, report_view
from heval_core.ui.exports import link_button
from heval_core.ui.results import reader

entry.through_app()
st.title("Do the paper's findings hold here?")
st.caption(
    "Every sentence of the paper about which explainer is right, as a test on these results; below it, the paper's tables and "
    "figures as these results have them. All of it can be taken away as one file."
)
results = reader()
overview_view.banner(results)
report_view.draw(results)
provenance.draw(results)
link_button(results)
