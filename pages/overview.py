"""Which highlight explanation can be trusted?"""

import streamlit as st

from heval_core.ui import links, overview, overview_scale
from heval_core.ui.frame import results_page

with results_page(link=False) as results:
    chosen = overview.draw_head(results)
    ranking = overview.ranking(results, chosen)
    with st.container(key="overview_columns"):
        with st.container(key="overview_prompt"):
            overview.draw_prompt(results, chosen, ranking)
        with st.container(key="overview_scale"):
            overview_scale.draw(results, chosen)
    overview.draw_doors(results, chosen, ranking)
    links.follow()
