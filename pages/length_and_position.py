"""What do the prompt's length and the answer's place do to accuracy?"""

import streamlit as st

from heval_core.ui import curve_view, entry, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("Do length and position matter?")
st.caption(
    "Each cell's instances are cut into four quarters, by length of the prompt or by the place of the answer in "
    "it, and every measure "
    "is computed in each. Chance changes with length too, so it is drawn beside the curves."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
curve_view.draw(results, chosen, k)
provenance.draw(results)
link_button(results)
