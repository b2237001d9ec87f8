"""Which tokens does each explainer point at?"""

import streamlit as st

from heval_core.ui.exports import link_button
from heval_core.ui.filters import filter_bar
from heval_core.ui.find_instance import find
from heval_core.ui.grid_controls import grid_controls
from heval_core.ui.instance_links import open_instance
from heval_core.ui.instance_tables import agreement_table, answer_ranks, html_export, scores_table, token_table
from heval_core.ui.page_run import results_page
from heval_core.ui.shown_instance import choose, facts_line, pressed, prompt_grid, rows_of
from heval_core.ui.slice_bar import slice_bar

TITLE = "Which tokens does each explainer point at?"
ABOUT = (
    "One prompt, with every explainer's score under each token. Point at a token for its scores and ranks. Arrow keys move "
    "between tokens, p and n (or [ and ]) between instances; k changes how many tokens are framed, g whether columns are "
    "tokens, words, sentences or documents."
)

with results_page(TITLE, ABOUT, link=False) as results:
    chosen, k = filter_bar(results, ("model", "dataset", "regime", "group"), metric_k=True)
    chosen, _ = slice_bar(results, chosen, ranked=False, by_result=True)
    search = find(results, chosen)
    instance = choose(results, *search)
    if instance:
        facts_line(instance)
        attributions = results.attributions(instance.instance_id)
        st.markdown(answer_ranks(instance, rows_of(results, attributions)))
        head, page, link = st.columns([4, 4, 3])
        with head:
            open_instance("Open MechLight's head for this instance", instance.instance_id, "mechlight_head")
        how = grid_controls(len(instance.tokens))
        rows = rows_of(results, attributions, tuple(attributions) if how.controls else None)
        with page:
            html_export(results, instance, rows, k)
        with link:
            link_button(results, {"instance": instance.instance_id, "sort": search.order, "descending": search.descending})
        prompt_grid(instance, rows, key="grid", k=k, how=how, on_key=pressed)
        scores_table(results, instance.instance_id, attributions, k)
        agreement_table(rows, instance.first_ranked, k)
        token_table(results, instance, rows)
