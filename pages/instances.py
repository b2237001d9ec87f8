"""Which tokens does each explainer point at?"""

import streamlit as st

from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.stored import StoredAttribution, StoredInstance
from heval_core.ui import address, filters, heads, listing, own_answer, reading
from heval_core.ui.exports import link_button
from heval_core.ui.frame import results_page
from heval_core.ui.instance_tables import draw_answers, html_export, more, scores_table
from heval_core.ui.published_results import ASKED, names_of, query


def page(results: Reader) -> None:
    """The chips, the list in its drawer, and the instance."""
    if st.session_state.get("counted") != results.snapshot_id:  # at first sight those that other pages count; all on request
        st.session_state["counted"] = results.snapshot_id
        ran = query(results, Reader.choices)["explained"]
        if set(st.query_params) <= {ASKED, "k"} and ran.any():
            address.put(explained=not ran.all())
    bar = st.container(horizontal=True, key="filters", gap="xsmall", vertical_alignment="center")
    with bar:
        steps = st.container(horizontal=True, gap="xsmall", vertical_alignment="center", width="content")
        chosen = filters.filter_bar(results, ("model", "dataset", "regime", "group"), sliced=True, by_result=True)
    listed = listing.ordered(results, chosen)
    position, shown = listing.position_of(results, listed)
    with steps:
        listing.steps(position, listing.show_instance, "instance")
    with listing.beside_drawer(lambda: listing.draw_instances(results, listed, position, shown)):
        if shown is None:
            nothing()
            return
        instance = results.instance(shown)
        one(results, instance, results.attributions(shown), position, bar, chosen)


def nothing() -> None:
    st.title("Which tokens does each explainer point at?")
    st.info("No instance is left under these filters, the slice and the search.", icon=":material/filter_alt_off:")
    names = dict.fromkeys([*address.SLICED, "search", "model", "dataset", "regime", "group", "instance"])
    st.button("Show all instances", on_click=address.setter(**names))


def one(
    results: Reader,
    instance: StoredInstance,
    attributions: dict[str, StoredAttribution],
    position: listing.Position,
    bar: st.delta_generator.DeltaGenerator,
    chosen: Filter,
) -> None:
    """The reading surface, and the numbers below it. chosen: the filter that the instance is looked at under."""
    rows = reading.rows_of(results, attributions)
    mechlight = attributions.get("mechlight")
    mapped = None
    if mechlight is not None and mechlight.chosen_head is not None:
        layers = int(results.models().set_index("model").loc[instance.model, "layers"])
        mapped = heads.HeadMap.of_stored(mechlight, layers)
    view = reading.view_of(rows, mapped.names if mapped else [], len(instance.tokens))
    all_rows, data = heads.with_map(results, instance, mapped, rows, view.pick)

    def asked(what: str) -> None:
        if what == "need":
            address.put(need=True)
        else:
            listing.show_instance(position.beside(int(what.removeprefix("step "))))

    title = instance.question or instance.subject
    reading.draw(instance, all_rows, view, data, title, reading.sentence(instance, rows), asked=asked)
    names = names_of(results)
    st.caption(reading.facts(instance, names.dataset(instance.dataset), names.technique(instance.technique)))
    own_answer.draw_stored(results, instance)
    draw_answers(results, instance)
    with bar, st.popover("Save", icon=":material/download:"):
        html_export(results, instance, [row for row in rows if not row.control], view.k)
    with bar:
        link_button(results)
    if not attributions:  # the surface says so
        return
    scores_table(results, instance.instance_id, attributions, view.k)
    shown_rows = [row for row in rows if not row.control]
    others = {"heads": "Which heads does MechLight choose?"} if mapped else {}
    if more(results, instance, shown_rows, others) == "heads":
        heads.draw_counts(results, chosen, instance.model)


with results_page() as results:
    page(results)
