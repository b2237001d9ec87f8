"""What were the models asked, and how are the numbers made?"""

import streamlit as st

from heval_core.ui import address, filters
from heval_core.ui.exports import link_button
from heval_core.ui.frame import results_page
from heval_core.ui.tabs import datasets, methods

TABS = {"data": "Data", "methods": "Methods"}

with results_page(link=False) as results:
    with filters.row():
        tab = address.one_of("Tab", list(TABS), "tab", hidden=True, titles=TABS)
        chosen = filters.filter_bar(results, ("model", "dataset", "regime")) if tab == "data" else None
        link_button(results)
    if chosen is None:
        st.title("How are these numbers made?")
        methods.draw(results)
    else:
        st.title("What were the models asked, and what was left of it?")
        datasets.draw(results, chosen)
