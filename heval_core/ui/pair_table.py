"""Every pair of explainers on the same instances, paired over questions."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.comparisons import Compared, against, comparisons
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import Names
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.filters import in_regimes
from heval_core.ui.measured_means import waiting
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query


def compared(results: Reader, chosen: Filter, measure: Measure, metric: str, k: int) -> Compared:
    """`comparisons` of a measure, in the regimes that it is read in; metric: its key, or a variant of it."""
    limited = in_regimes(chosen, measure)
    if limited is None:
        return Compared(pd.DataFrame(), pd.DataFrame())
    with waiting(metric, "Comparing every pair on the same questions"):
        return query(results, comparisons, limited, metric, measure.together, k)


def draw(results: Reader, chosen: Filter, metric: str, measure: Measure, k: int, names: Names) -> None:
    """Draw wins, ties and losses over cells, and the paired differences behind them."""
    cells, overall = compared(results, chosen, measure, metric, k)
    if cells.empty:
        st.info("No cell has this measure for two explainers under these filters.", icon=":material/balance:")
        return
    no_winner = measure.best == "zero"
    st.dataframe(
        names.readable(overall).drop(columns=["wins", "ties", "losses"] if no_winner else []).round(3), hide_index=True
    )
    if address.switch("Every pair in every cell", "pair_cells"):
        st.dataframe(names.readable(cells).drop(columns=["better"] if no_winner else []).round(4), hide_index=True)
    st.caption(
        "Differences are first minus second, over the same instances. Intervals are 95 %; for the mean over cells, the same "
        "questions are resampled in all cells. p: signs flipped by question, 5,000 times; for measures that learn from the "
        "instances, Student's t on halves of the questions. p_holm: adjusted for all pairs of a cell. A win needs p_holm < .05"
    )


def compared_pair(
    results: Reader, chosen: Filter, measure: Measure, k: int, first: str, second: str
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """`comparisons` of two explainers, signed as first minus second: cells, with a label each, and the row over all."""
    cells, overall = compared(results, chosen, measure, measure.metric, k)
    if cells.empty:
        return cells, {}
    both = against(cells, first, second).sort_values([*CELL, "part"], kind="stable")
    names = names_of(results)
    labels = [names.place(row.model, row.dataset, row.regime, row.part) for row in both.itertuples()]
    rows = against(overall, first, second).to_dict("records")
    return both.assign(label=labels), {str(key): value for key, value in rows[0].items()} if rows else {}
