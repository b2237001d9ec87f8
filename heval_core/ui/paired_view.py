"""Below the bars of the Accuracy page: explainer against explainer, and what prompts' length does."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pandas as pd
import streamlit as st

from heval_core.figures.accuracy import length_lines
from heval_core.store.live import tally
from heval_core.store.reader import Filter, Reader
from heval_core.ui.measures import Measure
from heval_core.ui.results import cached
from heval_core.ui.text import number, plain


def pairs(results: Reader, chosen: Filter, metric: str, measure: Measure, k: int, titles: dict[str, str]) -> None:
    """Wins, ties and losses over cells, and every paired difference behind them."""
    found = cast(pd.DataFrame, cached(results, "comparisons", chosen, metric, measure.whole or measure.parts, k))
    if measure.regimes:
        found = found[found["regime"].isin(measure.regimes)]
    if found.empty:
        st.info("No cell has this measure for two explainers under these filters.", icon=":material/balance:")
        return
    if measure.best == "zero":
        found = found.assign(better="")
    counted = tally(found)
    st.markdown(_sentence(counted, titles, measure))
    shown = counted.assign(
        **{side: counted[side].map(lambda key: titles.get(key, key)) for side in ("first", "second")}
    )
    st.dataframe(shown.round(3), hide_index=True)
    with st.expander("Every cell"):
        st.dataframe(found.drop(columns=["better"] if measure.best == "zero" else []).round(4), hide_index=True)
    st.caption(
        "Differences are first minus second, over the same instances. Intervals: 95 %, questions resampled together. "
        "p: signs flipped by question, 5,000 times; p_holm: adjusted for all pairs of a cell. A win needs p_holm < .05."
    )


def _sentence(counted: pd.DataFrame, titles: dict[str, str], measure: Measure) -> str:
    if measure.best == "zero":
        return "A bias has no winner; the table gives the differences."
    clearest = counted.assign(lead=counted["wins"] - counted["losses"]).sort_values("lead", key=abs).iloc[-1]
    names = [titles.get(clearest[side], clearest[side]) for side in ("first", "second")]
    wins, losses = int(clearest["wins"]), int(clearest["losses"])
    if wins < losses:
        names, wins, losses = names[::-1], losses, wins
    return (
        f"Clearest: **{plain(names[0])}** over {plain(names[1])}, better in {wins} of {int(clearest['cells'])} cells and "
        f"worse in {losses} (mean difference {number(abs(clearest['mean difference']))} {measure.unit})."
    )


def lengths(results: Reader, chosen: Filter, metric: str, measure: Measure, k: int) -> None:
    """The measure in quarters of the instances by length of the prompt."""
    wanted = replace(chosen, regime=measure.regimes) if measure.regimes and not chosen.regime else chosen
    found = cast(pd.DataFrame, cached(results, "length_curve", wanted, metric, measure.whole or measure.parts, k))
    if found.empty:
        st.info("In no cell do prompts differ enough in length, with enough instances in every quarter: groups need 30 "
                "(10 for probes) in each. Choose results with more instances.", icon=":material/straighten:")  # fmt: skip
        return
    known = cast(pd.DataFrame, cached(results, "catalogue", "explainer"))
    titles = dict(zip(known["key"], known["title"], strict=True))
    st.plotly_chart(
        length_lines(found, titles, measure.unit), width="stretch", key="lengths", config={"displayModeBar": False}
    )
    st.caption(
        f"Each cell's instances in four quarters by length; a point is the mean over the {int(found['cells'].max())} cells "
        "in which every quarter is large enough. Whiskers: 95 % intervals of that mean, questions resampled. Dashed: chance, "
        "which changes with length too."
    )
    with st.expander("The numbers behind this curve"):
        st.dataframe(found.round(3), hide_index=True)
