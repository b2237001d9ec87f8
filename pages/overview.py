"""Which highlight explanation can be trusted?"""

import streamlit as st

from heval_core.ui import board, links, overview
from heval_core.ui.frame import results_page

with results_page(at_once=True) as results:
    overview.follow_pick()
    chosen = overview.draw_head(results)
    with st.container(key="overview_columns"):
        with st.container(key="overview_answer"):
            overview.draw_answer()
            doors = st.container()
        with st.container(key="overview_board"):
            leaderboard = board.board_of(results, chosen)
            if leaderboard is not None:
                overview.draw_board(results, chosen, leaderboard)
    with doors:  # beside the figure, which is long
        overview.draw_doors(results, chosen, leaderboard)
    links.follow()
