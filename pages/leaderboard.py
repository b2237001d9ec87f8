"""Which explainer is best, and at what price?"""

import streamlit as st

from heval_core.ui import address, board_page, filters
from heval_core.ui.exports import link_button
from heval_core.ui.page_run import results_page
from heval_core.ui.tabs import board_against, board_models, board_whole

TABS = {
    "board": ("The board", "Which explainer is best, and at what price?", board_whole.draw),
    "models": ("By model", "Is the same explainer best for every model?", board_models.draw),
    "pairs": ("One against another", "Which explainer beats which?", board_against.draw),
}

with results_page(link=False) as results:
    titles = {key: tab[0] for key, tab in TABS.items()}
    with st.container(key="leaderboard_top", horizontal=True, vertical_alignment="center"):
        tab = address.one_of("Tab", list(TABS), "tab", hidden=True, titles=titles)
        with filters.row():
            chosen = filters.filter_bar(results, ("model", "dataset", "regime"), explained=True, unnamed=True)
            link_button(results)
    _, title, draw = TABS[tab]
    st.title(title)
    found = board_page.found(results, chosen)
    if found is not None:
        draw(results, chosen, found)
