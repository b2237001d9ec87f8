"""Which explainer is right, at which question, where, and by how much?"""

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import filters, measured_cells
from heval_core.ui.frame import results_page
from heval_core.ui.tabs import compare, failures, faithfulness, length_and_position

# Tab ▶ its name, the question that it answers, and what draws the answer.
TABS: dict[str, tuple[str, str, Callable[[Reader, Filter, DeltaGenerator], object]]] = {
    "memory": (
        "Context or memory?",
        "Did the answer come from the context or from memory?",
        partial(measured_cells.draw, question="RQ1"),
    ),
    "document": ("Which document?", "Which document did the answer come from?", partial(measured_cells.draw, question="RQ2")),
    "token": ("Which token?", "Which token did the answer come from?", partial(measured_cells.draw, question="RQ3")),
    "faithful": ("Is it faithful?", faithfulness.TITLE, faithfulness.draw),
    "length": ("Length and position", length_and_position.TITLE, length_and_position.draw),
    "failures": ("Failures", failures.TITLE, failures.draw),
    "compare": ("Compare two", compare.TITLE, compare.draw),
}

with results_page(link=False) as results:
    titles = {key: tab[0] for key, tab in TABS.items()}
    with filters.tabs_and_chips(results, "accuracy", titles, "Question", "token") as (tab, _):
        chosen = filters.filter_bar(results, ("model", "dataset", "regime"), explained=True)
        chips = st.container(key="more_chips", horizontal=True, gap="xsmall", width="content", vertical_alignment="center")
    st.title(TABS[tab][1])
    TABS[tab][2](results, chosen, chips)
