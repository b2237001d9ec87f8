"""Which explainer is best, and at what price?"""

import streamlit as st

from heval_core.ui import board, filters
from heval_core.ui.frame import results_page

TABS = {
    "board": ("The board", "Which explainer is best, and at what price?", board.draw_whole),
    "models": ("By model", "Is the same explainer best for every model?", board.draw_models),
    "pairs": ("One against another", "Which explainer beats which?", board.draw_pairs),
}

with results_page(link=False) as results:
    titles = {key: tab[0] for key, tab in TABS.items()}
    with filters.tabs_and_chips(results, "leaderboard", titles) as (tab, _):
        chosen = filters.filter_bar(results, ("model", "dataset", "regime"), explained=True, variants=True)
    _, title, draw = TABS[tab]
    st.title(title)
    found = board.board_of(results, chosen)
    if found is not None:
        draw(results, chosen, found)
