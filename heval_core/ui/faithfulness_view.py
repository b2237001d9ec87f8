"""Below the faithfulness bars: faithfulness against accuracy, a dot per cell and explainer."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from heval_core.figures.accuracy import scatter
from heval_core.figures.cells import as_normalised
from heval_core.metrics import headlines, measures_of
from heval_core.metrics.shared.measure import Measure
from heval_core.records import CELL
from heval_core.statistics.correlation import clustered_spearman
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.accuracy_view import titles_of
from heval_core.ui.exports import figure_config
from heval_core.ui.results import query
from heval_core.wording import REGIME_TITLES, number

# What links call the Overview's measure of a question, where they do not call it by its title.
_LINKED = {"RQ1": "Group margin"}


def accuracies() -> dict[str, Measure]:
    """What faithfulness is compared with: the Overview's measures, that of tokens first."""
    shown = sorted(headlines().items(), key=lambda own: own[0] != "RQ3")
    return {_LINKED.get(question, measure.title): measure for question, measure in shown}


def _faithfulness() -> Measure:
    """The first measure of faithfulness stands for it."""
    return next(iter(measures_of("faithfulness").values()))


def draw(results: Reader, chosen: Filter, k: int) -> None:
    """The scatter, its rank correlation, and a way to the instances of a dot."""
    st.subheader("Does faithful mean right?")
    names = list(accuracies())
    accuracy = str(
        st.segmented_control("Accuracy", names, default=names[0], key="accuracy", required=True, bind="query-params")
    )
    points = points_of(results, chosen, accuracy, k)
    if points.empty:
        st.info("No cell has both faithfulness and this accuracy; run the batch job with --faithfulness, and publish again.",
                icon=":material/scatter_plot:")  # fmt: skip
        return
    faithfulness = _faithfulness()
    known = query(results, Reader.catalogue, "explainer")
    methods = points[~points["explainer"].isin(set(known[known["control"]]["key"]))]
    names = list(methods[list(CELL)].itertuples(index=False, name=None))
    rho, (low, high) = clustered_spearman(methods["x"].to_numpy(), methods["y"].to_numpy(), names)
    st.markdown(
        f"Over {len(methods)} dots of methods in {len(set(names))} cells, faithfulness and accuracy have a rank correlation "
        f"of **{number(rho)}** [{number(low)}, {number(high)}] (0: none; 95 % interval, whole cells resampled, for the dots "
        "of a cell share their instances)."
    )
    event = st.plotly_chart(
        scatter(points, titles_of(results), f"{faithfulness.title.lower()} above the random control, {faithfulness.unit}",
                f"{accuracy}, normalised: 0 is chance"),
        width="stretch", key="faithful_and_right", on_select="rerun", selection_mode="points", config=figure_config(),
    )  # fmt: skip
    behind.offer_cell(event, chosen, accuracies()[accuracy])


def points_of(results: Reader, chosen: Filter, accuracy: str, k: int) -> pd.DataFrame:
    """Faithfulness minus the random control's (x) and normalised accuracy (y) of every cell that has both."""
    measure, faithfulness = accuracies()[accuracy], _faithfulness()
    faithful = query(results, Reader.cells, chosen, faithfulness.metric, faithfulness.at(k))
    right = query(results, Reader.cells, chosen, measure.metric, measure.at(k))
    right = as_normalised(right[right["part"].isin(measure.together)].dropna(subset=["value"]))
    faithful = faithful[faithful["part"].isin(faithfulness.together)]
    found = faithful.dropna(subset=["value"]).merge(right, on=[*CELL, "explainer"], suffixes=("", "_right"))
    labels = [
        f"{row.model} · {row.dataset} · {REGIME_TITLES.get(row.regime, row.regime)}" for row in found.itertuples()
    ]
    return found.assign(
        label=labels,
        x=found["value"] - found["chance"],
        x_low=found["above_low"],
        x_high=found["above_high"],
        **{f"y{end}": found[f"{name}_right"] for end, name in (("", "value"), ("_low", "low"), ("_high", "high"))},
    )
