"""Which of two explainers is better, where, and on which instances do they differ?"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.accuracy import difference_figure
from heval_core.figures.palette import in_order
from heval_core.metrics import measures
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links, picked, verdicts
from heval_core.ui.exports import table_exports
from heval_core.ui.filters import choose_k
from heval_core.ui.marks import draw_figures
from heval_core.ui.measured_means import choose_measure, choose_question
from heval_core.ui.names import names_of
from heval_core.ui.pair_table import compared_pair
from heval_core.ui.published_results import query
from heval_core.ui.selection import Selection
from heval_core.ui.text import plain

TITLE = "Which of two explainers is better?"

SHOWN = 10
MARK = Selection("difference", ("model", "dataset", "regime", "part"))


def draw(results: Reader, chosen: Filter, chips: DeltaGenerator) -> None:
    """Draw the choice of explainers and measure, a sentence, a dot per cell, and the instances that differ most."""
    names = names_of(results)
    titles = names.known("explainer")
    keys = in_order([key for key in titles if key not in names.controls])
    if len(keys) < 2:
        st.info("These results hold one explainer; run another to compare it with.", icon=":material/balance:")
        return
    said = st.container(key="answer")
    left, right = st.columns(2)
    with left:
        first = address.one_of("Explainer", keys, "first", keys[0], what="explainer", titles=titles, menu=True)
    with right:
        second = address.one_of("against", keys, "second", keys[1], what="explainer", titles=titles, menu=True)
    with st.container(key="measure_row", horizontal=True):
        measure = choose_measure(choose_question())
        k = measure.at(choose_k()) if measure.uses_k else 0
    if first == second:
        st.info("These are the same explainer; choose another one to compare it with.", icon=":material/balance:")
        return
    pairs, overall = compared_pair(results, chosen, measure, k, first, second)
    if pairs.empty:
        st.info("No cell has this measure for both of them under these filters.", icon=":material/balance:")
        return
    one, other = (titles.get(key, key) for key in (first, second))
    with said:
        st.markdown(verdicts.of_two(overall, measure, one, other))
    figure = difference_figure(pairs, f"{one} minus {other}, {measure.unit}", measure.best)
    draw_figures("differences", figure, on_pick=MARK.pick, picked=MARK.drawn)
    if MARK.id in set(pairs[list(MARK.parts)].itertuples(index=False, name=None)):
        links.offer_cell(MARK.id, chosen, measure, names)
    elif MARK.id:
        MARK.refuse()
    st.caption(
        "One dot per cell, in the colour of the better explainer; filled if the difference is significant (signs flipped by "
        "question, Holm over all pairs of the cell, p < .05). Whiskers: 95 % intervals, questions resampled together."
    )
    if address.switch("The numbers", "numbers"):
        st.dataframe(names.readable(pairs.drop(columns=["label"])).round(4), hide_index=True)
    about = {"measure": measure.metric, "unit": measure.unit, "filter": str(chosen)}
    table_exports(results, pairs.drop(columns=["label"]), "comparison", about)
    most_different(results, chosen, measure, k, {first: one, second: other})


def most_different(results: Reader, chosen: Filter, measure: Measure, k: int, titles: dict[str, str]) -> None:
    """titles: of the two explainers."""
    st.subheader("Where they differ most")
    if not measure.instance_parts:
        others = [m.title for m in measures().values() if m.instance_parts and m.question and not m.variant_of]
        st.caption(f"This measure is defined for groups, not for single instances. These are: {', '.join(others)}.")
        return
    first, second = titles
    highest(results, chosen, measure, k, first, second, titles)
    highest(results, chosen, measure, k, second, first, titles)


def highest(
    results: Reader, chosen: Filter, measure: Measure, k: int, higher: str, lower: str, titles: dict[str, str]
) -> None:
    """Draw the instances in which one explainer's value is furthest above the other's, with links to them."""
    asked = (chosen, measure.metric, measure.instance_parts, k, higher, lower, SHOWN)
    instances = query(results, Reader.differences, *asked)
    st.markdown(f"**{plain(titles[higher])} higher than {plain(titles[lower])}**")
    if instances.empty:
        st.caption("In no instance.")
        return
    named = instances.rename(columns={"first": titles[higher], "second": titles[lower]}).round(3)
    about = f"The {len(instances)} instances with the largest difference. Tick one to get a link to it."
    picked.instances(names_of(results).readable(named), instances["instance_id"], f"higher_{higher}", about)
