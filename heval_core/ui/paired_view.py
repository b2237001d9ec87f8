"""Below the bars of a question's page: explainer against explainer."""

from __future__ import annotations

from typing import cast

import pandas as pd
import streamlit as st

from heval_core.measures import Measure
from heval_core.store.live import tally
from heval_core.store.reader import Filter, Reader
from heval_core.ui.results import cached
from heval_core.ui.text import plain
from heval_core.wording import number


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
