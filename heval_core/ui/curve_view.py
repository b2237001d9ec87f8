"""The length and position page: any measure along the quarters of each cell's instances."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from heval_core.evaluation.curves import curve
from heval_core.figures.accuracy import quarter_lines
from heval_core.figures.cells import apart
from heval_core.metrics.shared.measure import Measure
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.accuracy_view import choose, choose_question, titles_of
from heval_core.ui.computing import waiting
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.filters import in_regimes, refuse_value
from heval_core.ui.results import query
from heval_core.ui.text import plain
from heval_core.wording import number

ALONG = {"Length of the prompt": ("tokens", "tokens of the prompt"), "Place of the answer": ("answer_at", "place of the answer, % of the prompt")}  # fmt: skip  # noqa: E501


def draw(results: Reader, chosen: Filter, k: int) -> None:
    """Draw question, measure and axis, the curves, and the numbers behind them."""
    refuse_value("along", list(ALONG), "axis")
    along = str(
        st.segmented_control("Along", list(ALONG), default=next(iter(ALONG)), key="along", required=True,
                             bind="query-params", label_visibility="collapsed")
    )  # fmt: skip
    measure = choose(choose_question())
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
    st.markdown(_sentence(changes, titles, results))
    st.caption(_covered(found, ends, asked, axis))
    event = st.plotly_chart(
        quarter_lines(found, titles, measure.unit, axis), width="stretch", key="curves", on_select="rerun",
        selection_mode="points", config=figure_config(),
    )  # fmt: skip
    point = behind.clicked(event)
    if point:
        _offer(ends[ends["bin"] == int(point[1])], wanted, by, measure)
    st.caption(
        f"{measure.meaning} A point is the mean over those cells. Whiskers: 95 % intervals of that mean, questions resampled. "
        "Dashed: chance. Click a point to get to its instances."
    )
    with st.expander("The numbers behind these curves"):
        st.dataframe(apart(found).round(3), hide_index=True)
    of = {"measure": measure.metric, "unit": measure.unit, "along": axis, "filter": str(wanted)}
    table_exports(results, found, "curve", of)


def _offer(cells: pd.DataFrame, chosen: Filter, by: str, measure: Measure) -> None:
    """Link to the instances of one quarter. The reader chooses a cell, because each cell has its own quarters."""
    names = {" · ".join((row.model, row.dataset, row.regime, row.part)): row for row in cells.itertuples()}
    name = (
        st.selectbox(f"This quarter, of {len(names)} cells", list(names), key="quarter_of") if len(names) > 1 else None
    )
    row = names[name] if name in names else next(iter(names.values()))
    groups = behind.groups_of(measure, row.part, row.regime) or chosen.group
    own = replace(chosen, model=(row.model,), dataset=(row.dataset,), regime=(row.regime,), group=groups)
    if by == "tokens":
        own, where = replace(own, tokens=(int(row.least), int(row.most))), f"{row.least:.0f} to {row.most:.0f} tokens"
    else:
        own = replace(own, answer_at=(row.least / 100, row.most / 100))
        where = f"the answer at about {row.least:.0f} to {row.most:.0f} % of the prompt"
    behind.link_to(f"Open its instances, those with {where}", own)


def _covered(points: pd.DataFrame, ends: pd.DataFrame, asked: int, axis: str) -> str:
    """Which cells the curve shows: often not all of them, because each quarter must be large enough."""
    there = ends.drop_duplicates(list(CELL))
    named = ", ".join(plain(str(name)) for column in ("dataset", "regime") for name in there[column].unique())
    least, most = number(ends["least"].min()), number(ends["most"].max())
    rest = ""
    if asked > len(there):
        rest = (
            f" In the other {asked - len(there)} a quarter has too few instances of a group, or all are of one length."
        )
    n = int(points.groupby("explainer")["n"].sum().max())
    return f"Of {len(there)} of {asked} cells ({named}): {n:,} instances, {least} to {most} {axis}.{rest}"


def _sentence(changes: pd.DataFrame, titles: dict[str, str], results: Reader) -> str:
    """From the first to the last quarter: how each method's lead over chance changes."""
    known = query(results, Reader.catalogue, "explainer")
    methods = changes[~changes["explainer"].isin(set(known[known["control"]]["key"]))].sort_values("change")
    if methods.empty:
        return "No method is available here."
    each = []
    for row in methods.itertuples():
        change, low, high = (_signed(value) for value in (row.change, row.low, row.high))
        each.append(f"**{plain(titles.get(row.explainer, row.explainer))}** {change} [{low}, {high}]")
    return f"From the first to the last quarter the lead over chance changes by: {', '.join(each)}."


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{number(abs(value))}"
