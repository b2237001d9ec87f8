"""Is it faithful to the model, and is the faithful one right?"""

import streamlit as st

from heval_core.ui import accuracy_view, entry, faithfulness_view, provenance, replacement_view
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.results import reader

entry.through_app()
st.title("Is it faithful, and does faithful mean right?")
st.caption(
    "Faithfulness asks the model: take out what an explainer points at, and the answer should suffer (comprehensiveness); "
    "keep only that, and it should not (sufficiency). Accuracy asks the world: is the true origin on top? The two need not "
    "agree. Faithfulness is measured of all instances or of the first questions, as the batch job was asked; n says how many."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
accuracy_view.draw(results, chosen, k, "faithfulness")
replacement_view.draw(results, chosen)
faithfulness_view.draw(results, chosen, k)
provenance.draw(results)
link_button(results)
