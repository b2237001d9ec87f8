"""Which tokens does each explainer point at?"""

import streamlit as st

from heval_core.ui import entry, provenance
from heval_core.ui.filters import filter_bar
from heval_core.ui.instance_tables import scores_table
from heval_core.ui.instance_view import choose, facts_line, prompt_grid, rows_of
from heval_core.ui.results import reader

entry.through_app()
st.title("Which tokens does each explainer point at?")
results = reader()
chosen, k = filter_bar(results, ("model", "dataset", "regime", "group"), metric_k=True)
instance = choose(results, chosen)
if instance:
    facts_line(instance)
    attributions = results.attributions(instance["instance_id"])
    controls = st.toggle("Show the controls too", key="controls", bind="query-params")
    prompt_grid(instance, rows_of(results, attributions, tuple(attributions) if controls else None), key="grid", k=k)
    st.caption(
        "Underlined tokens are the gold answer tokens. Ringed cells are an explainer's best "
        f"{k} tokens. Orange speaks for the answer, blue (hatched) against it."
    )
    st.page_link(
        "pages/mechlight_head.py",
        label="Open MechLight's head for this instance",
        icon=":material/grid_on:",
        query_params={"instance": instance["instance_id"]},
    )
    scores_table(results, instance["instance_id"], k)
provenance.draw(results)
