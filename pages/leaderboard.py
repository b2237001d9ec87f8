"""Which explainer should I use, and where does that hold?"""

import streamlit as st

from heval_core.store.filters import Filter
from heval_core.ui import board, failures, faithfulness, filters, marked, measured_cells, sources
from heval_core.ui.frame import results_page

# Tab ▶ its name, and the question that it answers.
TABS = {
    "source": ("Source", "Which place did the answer depend on?"),
    "overall": ("Overall", "Which explainer should I use?"),
    "regime": ("By regime", "Does that depend on what the documents say?"),
    "faithful": ("Faithful?", "Is it faithful, and does faithful mean right?"),
    "marked": ("People's answers", "Does an explainer find what people marked, and a text search not?"),
    "failures": ("Failures", "What do explainers point at when they fail?"),
    "against": ("One against another", "Which of two explainers is better?"),
}
# Those that are drawn from the board.
OF_BOARD = {"source": sources.draw, "overall": board.draw_overall, "failures": failures.draw, "against": board.draw_pairs}

with results_page() as results:
    titles = {key: tab[0] for key, tab in TABS.items()}
    # The tab that opens is the first one that has something to say of these results.
    default = "source" if len(sources.verdicts(results, Filter())) else "overall"
    with filters.tabs_and_chips(results, "leaderboard", titles, default) as (tab, _):
        columns = ("model",) if tab == "marked" else ("model", "dataset", "regime")
        chosen = filters.filter_bar(results, columns, explained=True, sliced=tab != "marked")
    with st.container(key="title", horizontal=True, vertical_alignment="center"):
        st.title(TABS[tab][1])
        aside = st.container(width="content")
    if tab == "marked":
        marked.draw(results, chosen)
    elif tab not in OF_BOARD:
        aside.caption(filters.counts(results, chosen))
        (measured_cells if tab == "regime" else faithfulness).draw(results, chosen)
    elif (leaderboard := board.board_of(results, chosen)) is not None:
        counted = sources.with_decoys(results, chosen) if tab == "source" else chosen
        with aside, st.popover(filters.counts(results, counted), help="What these results cannot tell"):
            st.markdown(board.what_is_open(leaderboard))
        OF_BOARD[tab](results, chosen, leaderboard)
