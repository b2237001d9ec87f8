"""What do the prompt's length and the answer's place do to accuracy?"""

from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.evaluation.curves import curve
from heval_core.figures.accuracy import quarter_lines
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import Names
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, links, picked, verdicts
from heval_core.ui.exports import table_exports
from heval_core.ui.filters import choose_k, in_regimes
from heval_core.ui.measured_means import choose_measure, choose_question, define, waiting
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.selection import Selection

TITLE = "Do length and position matter?"

ALONG = {
    "Length of the prompt": ("tokens", "tokens of the prompt"),
    "Place of the answer": ("answer_at", "position of the answer, % of the prompt"),
}


POINT = Selection("quarter", ("explainer", "quarter"))


def draw(results: Reader, chosen: Filter, chips: DeltaGenerator) -> None:
    """Draw question, measure and axis, the curves, and the numbers behind them."""
    said = st.container(key="answer")
    with st.container(key="measure_row", horizontal=True):
        along = address.one_of("Along", list(ALONG), "along", what="axis", hidden=True)
        measure = choose_measure(choose_question())
        k = choose_k() if measure.uses_k else 0
    by, axis = ALONG[along]
    wanted = in_regimes(chosen, measure)
    if wanted is None:
        st.info(
            "This question is not asked in the chosen regimes; remove one of the chips above.",
            icon=":material/filter_alt_off:",
        )
        return
    with waiting(measure.metric, "Computing the curves"):
        points, changes, ends, asked = query(results, curve, wanted, measure.metric, measure.together, measure.at(k), by)
    if points.empty:
        st.info(
            "No cell has enough different instances in every quarter: each group needs 30 there (10 for measures that learn "
            "from the instances). Choose another measure, or results with more instances.",
            icon=":material/straighten:",
        )
        return
    names = names_of(results)
    with said:
        st.markdown(verdicts.of_curves(changes, names))
    define(measure)
    st.caption(verdicts.cells_covered(points, ends, asked, axis, names))
    drawn = quarter_lines(points, names, measure.unit, axis)
    picked.figure(results, drawn, "curves", f"{measure.unit} by {axis}", POINT.hold, "stretch")
    if POINT.on(drawn):
        offer_quarter(list(ends[ends["bin"] == int(POINT.id[1])].itertuples()), wanted, by, measure, names)
    st.caption(
        "A point is the mean over those cells. Whiskers: 95 % intervals of that mean, questions resampled. "
        "Dashed: chance. Click a point to get to its instances."
    )
    if address.switch("The numbers", "numbers"):
        st.dataframe(names.readable(points).round(3), hide_index=True)
    about = {"measure": measure.metric, "unit": measure.unit, "along": axis, "filter": str(wanted)}
    table_exports(results, points, "curve", about)


def offer_quarter(cells: list[Any], chosen: Filter, by: str, measure: Measure, titled: Names) -> None:
    """Link to the instances of one quarter. The reader chooses a cell, because each cell has its own quarters.

    cells: rows of `Curve.ends`, by name.
    """
    names = {titled.place(row.model, row.dataset, row.regime, row.part): row for row in cells}
    several = len(names) > 1
    name = st.selectbox(f"This quarter, of {len(names)} cells", list(names), key="quarter_of") if several else None
    row = names[name] if name in names else next(iter(names.values()))
    groups = links.groups_of(measure, row.part, row.regime) or chosen.group
    quarter = replace(chosen, model=(row.model,), dataset=(row.dataset,), regime=(row.regime,), group=groups)
    if by == "tokens":
        quarter = replace(quarter, tokens=(int(row.least), int(row.most)))
        where = f"{row.least:.0f} to {row.most:.0f} tokens"
    else:
        quarter = replace(quarter, answer_at=(row.least / 100, row.most / 100))
        where = f"the answer at about {row.least:.0f} to {row.most:.0f} % of the prompt"
    links.link_to(f"Open its instances, those with {where}", quarter)
