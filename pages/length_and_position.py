"""What do the prompt's length and the answer's place do to accuracy?"""

from dataclasses import replace
from typing import Any

import streamlit as st

from heval_core.evaluation.curves import curve
from heval_core.figures.accuracy import quarter_lines
from heval_core.figures.cells import apart
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import instance_links, page_run, provenance, verdicts
from heval_core.ui.explainers import controls_of, titles_of
from heval_core.ui.exports import figure_config, link_button, table_exports
from heval_core.ui.filters import filter_bar, in_regimes, refuse_value
from heval_core.ui.live_cells import waiting
from heval_core.ui.measure_choice import choose_measure, choose_question
from heval_core.ui.published_results import query, reader

ALONG = {
    "Length of the prompt": ("tokens", "tokens of the prompt"),
    "Place of the answer": ("answer_at", "place of the answer, % of the prompt"),
}


def page() -> None:
    st.title("Do length and position matter?")
    st.caption(
        "Each cell's instances are cut into four quarters, by length of the prompt or by the place of the answer in "
        "it, and every measure is computed in each. Chance changes with length too, so it is drawn beside the curves."
    )
    results = reader()
    chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
    curves(results, chosen, k)
    provenance.draw(results)
    link_button(results)


def curves(results: Reader, chosen: Filter, k: int) -> None:
    """Draw question, measure and axis, the curves, and the numbers behind them."""
    refuse_value("along", list(ALONG), "axis")
    along = str(
        st.segmented_control("Along", list(ALONG), default=next(iter(ALONG)), key="along", required=True,
                             bind="query-params", label_visibility="collapsed")
    )  # fmt: skip
    measure = choose_measure(choose_question())
    by, axis = ALONG[along]
    wanted = in_regimes(chosen, measure)
    if wanted is None:
        st.info("This question is not asked in the chosen regimes; remove one of the chips above.",
                icon=":material/filter_alt_off:")  # fmt: skip
        return
    with waiting(measure.metric):
        found, changes, ends, asked = query(results, curve, wanted, measure.metric, measure.together, measure.at(k), by)
    if found.empty:
        st.info(
            "No cell has enough different instances in every quarter: each group needs 30 there (10 for measures that learn "
            "from the instances). Choose another measure, or results with more instances.", icon=":material/straighten:",
        )  # fmt: skip
        return
    titles = titles_of(results)
    st.markdown(verdicts.of_curves(changes, titles, controls_of(results)))
    st.caption(verdicts.cells_covered(found, ends, asked, axis))
    event = st.plotly_chart(
        quarter_lines(found, titles, measure.unit, axis), width="stretch", key="curves", on_select="rerun",
        selection_mode="points", config=figure_config(),
    )  # fmt: skip
    point = instance_links.clicked(event)
    if point:
        offer_quarter(list(ends[ends["bin"] == int(point[1])].itertuples()), wanted, by, measure)
    st.caption(
        f"{measure.meaning} A point is the mean over those cells. Whiskers: 95 % intervals of that mean, questions resampled. "
        "Dashed: chance. Click a point to get to its instances."
    )
    with st.expander("The numbers behind these curves"):
        st.dataframe(apart(found).round(3), hide_index=True)
    of = {"measure": measure.metric, "unit": measure.unit, "along": axis, "filter": str(wanted)}
    table_exports(results, found, "curve", of)


def offer_quarter(cells: list[Any], chosen: Filter, by: str, measure: Measure) -> None:
    """Link to the instances of one quarter. The reader chooses a cell, because each cell has its own quarters.

    cells: rows of `Curve.ends`, by name.
    """
    names = {" · ".join((row.model, row.dataset, row.regime, row.part)): row for row in cells}
    name = (
        st.selectbox(f"This quarter, of {len(names)} cells", list(names), key="quarter_of") if len(names) > 1 else None
    )
    row = names[name] if name in names else next(iter(names.values()))
    groups = instance_links.groups_of(measure, row.part, row.regime) or chosen.group
    own = replace(chosen, model=(row.model,), dataset=(row.dataset,), regime=(row.regime,), group=groups)
    if by == "tokens":
        own, where = replace(own, tokens=(int(row.least), int(row.most))), f"{row.least:.0f} to {row.most:.0f} tokens"
    else:
        own = replace(own, answer_at=(row.least / 100, row.most / 100))
        where = f"the answer at about {row.least:.0f} to {row.most:.0f} % of the prompt"
    instance_links.link_to(f"Open its instances, those with {where}", own)


page_run.through_app()
page()
