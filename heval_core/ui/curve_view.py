"""The length and position page: any accuracy measure along the quarters of each cell's instances."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pandas as pd
import streamlit as st

from heval_core.figures.accuracy import quarter_lines
from heval_core.measures import MEASURES
from heval_core.store.reader import Filter, Reader
from heval_core.ui import behind
from heval_core.ui.accuracy_view import choose, titles_of
from heval_core.ui.exports import figure_config, table_exports
from heval_core.ui.filters import in_regimes, refuse_value
from heval_core.ui.results import cached
from heval_core.ui.text import plain
from heval_core.wording import number

ALONG = {"Length of the prompt": ("tokens", "tokens of the prompt"), "Place of the answer": ("answer_at", "place of the answer, % of the prompt")}  # fmt: skip  # noqa: E501


def draw(results: Reader, chosen: Filter, k: int) -> None:
    """Question, measure, what along; the curves, and the numbers behind them."""
    refuse_value("along", list(ALONG), "axis")
    refuse_value("question", list(MEASURES), "question")
    along = str(
        st.segmented_control("Along", list(ALONG), default=next(iter(ALONG)), key="along", required=True,
                             bind="query-params", label_visibility="collapsed")
    )  # fmt: skip
    question = str(
        st.segmented_control("Question", list(MEASURES), default="Which token?", key="question", required=True,
                             bind="query-params", label_visibility="collapsed")
    )  # fmt: skip
    measure = MEASURES[question][choose(question)]
    by, axis = ALONG[along]
    wanted = in_regimes(chosen, measure)
    if wanted is None:
        st.info("This question is not asked in the chosen regimes; remove one of the chips above.",
                icon=":material/filter_alt_off:")  # fmt: skip
        return
    parts, own_k = measure.whole or measure.parts, k if measure.uses_k else 0
    found = cast(pd.DataFrame, cached(results, "curve", wanted, measure.metric, parts, own_k, by))
    if found.empty:
        st.info(
            "In no cell do instances differ enough there, with enough of them in every quarter: groups need 30 "
            "(10 for probes) in "
            "each. Take another measure, or results with more instances.", icon=":material/straighten:",
        )  # fmt: skip
        return
    titles = titles_of(results)
    st.markdown(_sentence(found, titles, results))
    event = st.plotly_chart(
        quarter_lines(found, titles, measure.unit, axis), width="stretch", key="curves", on_select="rerun",
        selection_mode="points", config=figure_config(),
    )  # fmt: skip
    point = behind.clicked(event)
    if point:
        ends = cast(pd.DataFrame, cached(results, "curve_cells", wanted, measure.metric, parts, own_k, by))
        _offer(ends[ends["bin"] == int(point[1])], wanted, by)
    st.caption(
        f"{measure.meaning} A point is the mean over the {int(found['cells'].max())} cells in which every quarter is large "
        "enough. Whiskers: 95 % intervals of that mean, questions resampled. Dashed: chance. "
        "Click a point to get to its instances."
    )
    with st.expander("The numbers behind these curves"):
        st.dataframe(found.round(3), hide_index=True)
    of = {"measure": measure.metric, "unit": measure.unit, "along": axis, "filter": str(wanted)}
    table_exports(results, found, "curve", of)


def _offer(cells: pd.DataFrame, chosen: Filter, by: str) -> None:
    """The way to the instances of one quarter, cell by cell, for each cell is cut at ends of its own."""
    names = {" · ".join((row.model, row.dataset, row.regime, row.part)): row for row in cells.itertuples()}
    name = (
        st.selectbox(f"This quarter, of {len(names)} cells", list(names), key="quarter_of") if len(names) > 1 else None
    )
    row = names[name] if name in names else next(iter(names.values()))
    groups = behind.groups_of(row.part, row.regime) or chosen.group
    own = replace(chosen, model=(row.model,), dataset=(row.dataset,), regime=(row.regime,), group=groups)
    if by == "tokens":
        own, where = replace(own, tokens=(int(row.least), int(row.most))), f"{row.least:.0f} to {row.most:.0f} tokens"
    else:
        own = replace(own, answer_at=(row.least / 100, row.most / 100))
        where = f"the answer at about {row.least:.0f} to {row.most:.0f} % of the prompt"
    behind.link_to(f"Open its instances, those with {where}", own)


def _sentence(found: pd.DataFrame, titles: dict[str, str], results: Reader) -> str:
    """From the first to the last quarter: which method loses most above chance."""
    known = cast(pd.DataFrame, cached(results, "catalogue", "explainer"))
    controls = set(known[known["control"]]["key"])
    above = found.assign(above=found["value"] - found["chance"])
    table = above[~above["explainer"].isin(controls)].pivot(index="explainer", columns="bin", values="above")
    change = (table[table.columns.max()] - table[table.columns.min()]).sort_values()
    if change.empty:
        return "No method is available here."
    worst, best = change.index[0], change.index[-1]
    return (
        f"From the first to the last quarter **{plain(titles.get(worst, worst))}** changes by "
        f"{number(change.iloc[0])} above chance, "
        f"**{plain(titles.get(best, best))}** by {number(change.iloc[-1])}."
    )
