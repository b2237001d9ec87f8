"""Which tokens does each explainer point at?"""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.highlights import instance_page
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, filters, heads, listing, own_answer, reading
from heval_core.ui.exports import download, link_button, table_exports
from heval_core.ui.frame import results_page
from heval_core.ui.instance_tables import draw_answers, scores_table, tokens_of
from heval_core.ui.published_results import WHICH_RESULTS, names_of, query

FILE = "One file with the prompt, the highlights on screen and their numbers; no script, no request, opens anywhere."


def page(results: Reader) -> None:
    """Draw the chips, the list in its drawer, and the instance."""
    if st.session_state.get("counted") != results.snapshot_id:  # at first sight those that other pages count; all on request
        st.session_state["counted"] = results.snapshot_id
        ran = query(results, Reader.choices)["explained"]
        if set(st.query_params) <= {WHICH_RESULTS, "k"} and ran.any():
            address.put(explained=not ran.all())
    bar = filters.row()
    with bar:
        steps = filters.row("steps", width="content")
        chosen = filters.filter_bar(results, ("model", "dataset", "regime", "group"), sliced=True, by_result=True)
    listed, position, shown_id = listing.listed_instances(results, chosen)
    with steps:
        listing.steps(position, listing.show_instance, "instance")
    with listing.beside_drawer(lambda: listing.draw_instances(results, listed, position, shown_id)):
        if shown_id is None:
            nothing()
            return
        one(results, shown_id, position, bar, chosen)


def nothing() -> None:
    st.title("Which tokens does each explainer point at?")
    st.info("No instance is left under these filters, the slice and the search.", icon=":material/filter_alt_off:")
    names = dict.fromkeys([*address.SLICED, "search", "model", "dataset", "regime", "group", "instance"])
    st.button("Show all instances", on_click=address.setter(**names))


def one(results: Reader, shown: str, position: listing.Position, bar: DeltaGenerator, chosen: Filter) -> None:
    """Draw the reading surface, and the numbers below it. chosen: the filter that the instance is looked at under."""
    instance, attributions, names = results.instance(shown), results.attributions(shown), names_of(results)
    asked_of = [best.explainer for best in chosen.best]  # by a door, or the filter: these methods come first
    rows = sorted(reading.rows_of(results, attributions), key=lambda row: row.control or row.explainer not in asked_of)
    methods = [row for row in rows if not row.control]
    mechlight, mapped = attributions.get("mechlight"), None
    if mechlight is not None and mechlight.head_name:
        layers = int(results.models().set_index("model").loc[instance.model, "layers"])
        runner_up, foil = (str(mechlight.details.get(name, "")) for name in ("runner_up", "foil"))
        mapped = heads.HeadMap(mechlight.strengths(layers), mechlight.head_name, runner_up, foil)
    view = reading.view_of(rows, mapped.names if mapped else [], len(instance.tokens))
    all_rows, data = heads.with_map(results, instance, mapped, rows, view["pick"])

    def act(what: str) -> None:
        if what == "need":
            address.put(need=True)
        else:
            listing.show_instance(position.beside(int(what.removeprefix("step "))))

    reading.draw(instance, all_rows, view, data, act, reading.mention_marks(results.sources_of([shown])), asked_of)
    st.caption(reading.facts(instance, names.dataset(instance.dataset), names.technique(instance.technique)))
    own_answer.draw_stored(results, instance)
    draw_answers(results, instance)
    with bar, st.popover("Save", icon=":material/download:"):
        make = partial(instance_page, instance, reading.on_screen(rows, view), view["k"], results.snapshot_id)
        download("This instance as an HTML file", make, f"heval-{shown}.html", "instance_html", FILE)
    with bar:
        link_button(results)
    if not attributions:  # the surface says so
        return
    scores_table(results, shown, attributions, view["k"])
    # Only the table that is asked for is made.
    titles = {"tokens": "Every token's rank and score"} | ({"heads": "Which heads does MechLight choose?"} if mapped else {})
    more = address.maybe("More about this instance", list(titles), "more", titles=titles, hidden=True)
    if more == "tokens":
        table = tokens_of(instance, methods)
        st.dataframe(table, hide_index=True)
        table_exports(results, table, "tokens")
    elif more == "heads":
        heads.draw_counts(results, chosen, instance.model)


with results_page() as results:
    page(results)
