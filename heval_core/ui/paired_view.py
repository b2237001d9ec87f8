"""Every pair of explainers, below the bars of a question's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.comparisons import Compared, comparisons
from heval_core.figures.cells import apart
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.computing import waiting
from heval_core.ui.filters import in_regimes
from heval_core.ui.results import query
from heval_core.ui.text import plain
from heval_core.wording import number


def compared(results: Reader, chosen: Filter, measure: Measure, metric: str, k: int) -> Compared:
    """`comparisons` of a measure, in the regimes that it is read in; metric: its key, or a variant of it."""
    own = in_regimes(chosen, measure)
    if own is None:
        return Compared(pd.DataFrame(), pd.DataFrame())
    with waiting(metric):
        return query(results, comparisons, own, metric, measure.together, k)


def pairs(results: Reader, chosen: Filter, metric: str, measure: Measure, k: int, titles: dict[str, str]) -> None:
    """Draw wins, ties and losses over cells, and the paired differences behind them."""
    found, overall = compared(results, chosen, measure, metric, k)
    if found.empty:
        st.info("No cell has this measure for two explainers under these filters.", icon=":material/balance:")
        return
    st.markdown(_sentence(overall, titles, measure))
    shown = overall.assign(
        **{side: overall[side].map(lambda key: titles.get(key, key)) for side in ("first", "second")}
    )
    no_winner = measure.best == "zero"
    st.dataframe(apart(shown).drop(columns=["wins", "ties", "losses"] if no_winner else []).round(3), hide_index=True)
    with st.expander("Every cell"):
        st.dataframe(apart(found).drop(columns=["better"] if no_winner else []).round(4), hide_index=True)
    st.caption(
        "Differences are first minus second, over the same instances; the mean over cells, too, has its interval: 95 %, the "
        "same questions resampled everywhere. "
        "p: signs flipped by question, 5,000 times; for measures that learn from the instances, Student's t on halves of the "
        "questions. p_holm: adjusted for all pairs of a cell. A win needs p_holm < .05."
    )


def over(row: Mapping[Any, Any]) -> str:
    """`12 cells`, or `24 comparisons in 12 cells` where a cell has several parts."""
    comparisons, cells = int(row["comparisons"]), int(row["cells"])
    return f"{cells} cells" if comparisons == cells else f"{comparisons} comparisons in {cells} cells"


def difference(row: Mapping[Any, Any], unit: str, sign: int = 1) -> str:
    """`mean difference 3.1 [2.9, 3.3] ranks` of a row of `Compared.overall`; sign -1 turns it round."""
    mean, *ends = (sign * row[name] for name in ("mean difference", "low", "high"))
    low, high = sorted(ends)
    return f"mean difference {number(mean)} [{number(low)}, {number(high)}] {unit}"


def _sentence(counted: pd.DataFrame, titles: dict[str, str], measure: Measure) -> str:
    if measure.best == "zero":
        return "A bias has no winner; the table gives the differences."
    leads = counted.assign(lead=counted["wins"] - counted["losses"])
    clearest = leads.sort_values(["lead", "mean difference"], key=abs).iloc[-1]
    names = [titles.get(clearest[side], clearest[side]) for side in ("first", "second")]
    wins, losses = int(clearest["wins"]), int(clearest["losses"])
    sign = -1 if clearest["mean difference"] < 0 else 1
    if wins < losses:
        names, wins, losses = names[::-1], losses, wins
    return (
        f"Clearest: **{plain(names[0])}** over {plain(names[1])}, better in {wins} of {over(clearest)} and "
        f"worse in {losses} ({difference(clearest, measure.unit, sign)})."
    )
