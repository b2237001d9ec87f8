"""Which head does MechLight read, and what would another one say?"""

import streamlit as st

from heval_core.ui import entry, head_view, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.instance_view import choose, facts_line
from heval_core.ui.results import reader

entry.through_app()
st.title("Which head does MechLight read?")
st.caption(
    "Each square is an attention head: how much more it writes for the answer than for its competitor (S). "
    "MechLight takes the strongest "
    "and shows where it looks; pick another one to see what it would have shown, and what that would change."
)
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime", "group"), metric_k=True)
instance = choose(results, chosen)
if instance:
    facts_line(instance)
    head_view.draw(results, instance, k)
    st.page_link(
        "pages/instances.py",
        label="All explainers on this instance",
        icon=":material/article:",
        query_params={"instance": instance.instance_id},
    )
    head_view.how_often(results, chosen, instance.model)
    link_button(results, {"instance": instance.instance_id})
provenance.draw(results)
