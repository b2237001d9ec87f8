"""Where the numbers come from: what was asked, how they are made, and whether the paper's findings hold."""

import streamlit as st

from heval_core.ui import filters
from heval_core.ui.frame import results_page
from heval_core.ui.tabs import datasets, methods, report

TABS = {"findings": "The paper's findings", "data": "Data", "methods": "Methods"}

with results_page(link=False) as results:
    with filters.tabs_and_chips(results, "about", TABS) as (tab, _):
        chosen = filters.filter_bar(results, ("model", "dataset", "regime")) if tab == "data" else None
    if tab == "findings":
        st.title("Do the paper's findings hold here?")
        report.draw(results)
    elif chosen is None:
        st.title("How are these numbers made?")
        methods.draw(results)
    else:
        st.title("What were the models asked, and what was left of it?")
        datasets.draw(results, chosen)
