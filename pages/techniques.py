"""Which technique fits my documents?"""

import streamlit as st

from heval_core.folders import program
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import techniques
from heval_core.ui.exports import link_button
from heval_core.ui.frame import results_page
from heval_core.ui.published_results import query

EMPTY = (
    f"These results compare no techniques yet. Run `{program()} run --grid cub-smoke --store STORE`, then publish. "
    "This page then says which technique answers best, by how good your documents are and by what you can pay."
)


def page(results: Reader) -> None:
    """Draw the recommendation, then the evidence."""
    if query(results, Reader.technique_cells, Filter()).empty:
        st.title(techniques.TITLE)
        st.info(EMPTY, icon=":material/tune:")
        link_button(results)
        return
    compared = techniques.head(results)
    techniques.advise(results, compared)
    techniques.evidence(results, compared)


with results_page() as results:
    page(results)
