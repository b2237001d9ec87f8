"""Hide a citation: can a reader put it back?"""

import streamlit as st

from heval_core.folders import program
from heval_core.store.reader import Reader
from heval_core.ui import citations, filters
from heval_core.ui.exports import link_button
from heval_core.ui.frame import results_page
from heval_core.ui.published_results import WHICH_RESULTS, offered, query, results_folder

TABS = {"overview": "Overview", "claim": "One claim"}
EMPTY = (
    f"These results hold no study of citations yet. Run `{program()} citations run --store STORE`, then publish. "
    "This page then shows whether readers can put a hidden citation back, what the model itself used, where annotators "
    "disagree, and every claim with its evidence."
)


def page(results: Reader) -> None:
    """Draw the tabs and chips in a line, then the tab."""
    if query(results, Reader.citation_choices).empty:
        st.title(citations.TITLE)
        st.info(EMPTY, icon=":material/format_quote:")
        if "demo" in offered() and results_folder() != offered()["demo"]:
            st.page_link(
                "pages/citations.py", label="Open that of models with a taught rule", query_params={WHICH_RESULTS: "demo"}
            )
        link_button(results)
        return
    with filters.tabs_and_chips(results, "citations", TABS) as (tab, steps):
        shown = citations.choose(results)
        if tab == "overview":
            measure, masking = citations.choose_measure(shown)
        else:
            chosen = citations.choose_claims(shown)
    if tab == "overview":
        st.title(citations.TITLE)
        citations.draw(results, shown, measure, masking)
    else:
        citations.draw_claim(results, shown, chosen, steps)


with results_page() as results:
    page(results)
