"""Which technique makes a model use its context well?"""

import streamlit as st

from heval_core.store.reader import Reader
from heval_core.ui import filters, techniques
from heval_core.ui.exports import link_button
from heval_core.ui.frame import results_page

TABS = {"compare": "Compare", "depends": "What it depends on", "search": "Search"}
EMPTY = (
    "These results compare no techniques yet. Run `python -m precompute run --grid cub-smoke --store STORE`, then publish. "
    "This page then shows how well each technique follows relevant documents and ignores irrelevant ones, its difference to "
    "Regular in each kind of context, what this depends on, and the settings that were searched."
)


def page(results: Reader) -> None:
    """The tabs and chips in a line, then the tab."""
    if not techniques.has_techniques(results):
        st.title(techniques.COMPARE)
        st.info(EMPTY, icon=":material/tune:")
        link_button(results)
        return
    with filters.tabs_and_chips(results, "techniques", TABS) as (tab, _):
        if tab == "depends":
            chosen = techniques.choose_features(results)
        else:
            shown = techniques.choose(results, compare=tab == "compare")
    if tab == "depends":
        st.title(techniques.DEPENDS)
        techniques.draw_features(results, chosen)
    elif tab == "search":
        st.title(techniques.SEARCH)
        techniques.draw_search(results, shown)
    else:
        st.title(techniques.COMPARE)
        techniques.draw_compare(results, shown)


with results_page(link=False) as results:
    page(results)
