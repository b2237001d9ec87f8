"""Which of two explainers is better, where, and on which instances do they differ?"""

import streamlit as st

from heval_core.figures.accuracy import difference_dots
from heval_core.figures.cells import apart
from heval_core.figures.palette import in_order
from heval_core.metrics import measures
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import instance_links, page_run, provenance, verdicts
from heval_core.ui.explainers import controls_of, titles_of
from heval_core.ui.exports import figure_config, link_button, table_exports
from heval_core.ui.filters import filter_bar, refuse_value
from heval_core.ui.measure_choice import choose_measure, choose_question
from heval_core.ui.pair_table import compared_pair
from heval_core.ui.published_results import query, reader
from heval_core.ui.text import plain

SHOWN = 10


def page() -> None:
    st.title("Which of two explainers is better?")
    st.caption(
        "Both explained the same instances, so they are compared pair by pair: the difference in every cell with its "
        "interval, and a win only where it holds after correcting for all pairs. Below are the instances on which "
        "they differ most."
    )
    results = reader()
    chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
    comparison(results, chosen, k)
    provenance.draw(results)
    link_button(results)


def comparison(results: Reader, chosen: Filter, k: int) -> None:
    """Draw the choice of explainers and measure, a sentence, a dot per cell, and the instances that differ most."""
    titles, controls = titles_of(results), controls_of(results)
    keys = in_order([key for key in titles if key not in controls])
    if len(keys) < 2:
        st.info("These results hold one explainer; run another to compare it with.", icon=":material/balance:")
        return
    left, right = st.columns(2)
    for name in ("first", "second"):
        refuse_value(name, keys, "explainer")
    first = left.selectbox("Explainer", keys, index=0, key="first", bind="query-params", format_func=str)
    second = right.selectbox("against", keys, index=1, key="second", bind="query-params", format_func=str)
    measure = choose_measure(choose_question())
    if first == second:
        st.info("These are the same explainer; choose another one to compare it with.", icon=":material/balance:")
        return
    own_k = measure.at(k)
    pairs, overall = compared_pair(results, chosen, measure, own_k, first, second)
    if pairs.empty:
        st.info("No cell has this measure for both of them under these filters.", icon=":material/balance:")
        return
    st.markdown(verdicts.of_two(overall, measure, titles.get(first, first), titles.get(second, second)))
    event = st.plotly_chart(
        difference_dots(pairs, f"{first} minus {second}, {measure.unit}", measure.best), width="stretch", key="differences",
        on_select="rerun", selection_mode="points", config=figure_config(),
    )  # fmt: skip
    instance_links.offer_cell(event, chosen, measure)
    st.caption(
        "A dot per cell, in the colour of the one that is ahead: filled where the difference holds (signs flipped by "
        "question, Holm over all pairs of the cell, p < .05). Whiskers: 95 % intervals, questions resampled together. "
        "Click a dot for its instances."
    )
    with st.expander("The numbers behind these dots"):
        st.dataframe(apart(pairs.drop(columns=["label"])).round(4), hide_index=True)
    table_exports(results, pairs.drop(columns=["label"]), "comparison",
                  {"measure": measure.metric, "unit": measure.unit, "filter": str(chosen)})  # fmt: skip
    most_different(results, chosen, measure, own_k, first, second)


def most_different(results: Reader, chosen: Filter, measure: Measure, k: int, first: str, second: str) -> None:
    st.subheader("Where they differ most")
    if not measure.instance_parts:
        others = [
            own.title for own in measures().values() if own.instance_parts and own.question and not own.variant_of
        ]
        st.caption(f"This measure is defined for groups, not for single instances. These are: {', '.join(others)}.")
        return
    for place, (one, other) in enumerate(((first, second), (second, first))):
        highest(results, chosen, measure, k, one, other, key=f"differing_{place}")


def highest(results: Reader, chosen: Filter, measure: Measure, k: int, one: str, other: str, key: str) -> None:
    """Draw the instances in which the first explainer's value is furthest above the other's, with links to them."""
    asked = (chosen, measure.metric, measure.instance_parts, k, one, other, SHOWN)
    found = query(results, Reader.differences, *asked)
    st.markdown(f"**{plain(one)} higher than {plain(other)}**")
    if found.empty:
        st.caption("In no instance.")
        return
    named = found.rename(columns={"first": one, "second": other}).round(3)
    event = st.dataframe(named, hide_index=True, on_select="rerun", selection_mode="single-row", key=key)
    rows = event.selection.rows if event else []
    st.caption(f"The {len(found)} instances with the largest difference. Tick one to get a link to it.")
    if rows:
        row = found.iloc[rows[0]]
        st.page_link(
            "pages/instances.py", label=f"Open the instance {row['instance_id']}", icon=":material/article:",
            query_params={"instance": str(row["instance_id"])},
        )  # fmt: skip


page_run.through_app()
page()
