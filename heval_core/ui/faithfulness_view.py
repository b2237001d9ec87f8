"""Below the faithfulness bars: faithfulness against accuracy, a dot per cell and explainer."""

from __future__ import annotations

from typing import cast

import pandas as pd
import streamlit as st

from heval_core.figures.accuracy import scatter
from heval_core.figures.cells import as_normalised
from heval_core.records import CELL
from heval_core.statistics.correlation import clustered_spearman
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import behind
from heval_core.ui.accuracy_view import titles_of
from heval_core.ui.exports import figure_config
from heval_core.ui.results import cached
from heval_core.wording import REGIME_TITLES, number

# Accuracy ▶ metric and the parts of it, one of which each regime has.
ACCURACY = {
    "MRR": ("mrr", ("C", "balanced")),
    "Group margin": ("group_rank_margin", ("c",)),
    "Instance margin": ("instance_rank_margin", ("balanced",)),
}


def draw(results: Reader, chosen: Filter, k: int) -> None:
    """The scatter, its rank correlation, and a way to the instances of a dot."""
    st.subheader("Does faithful mean right?")
    accuracy = str(
        st.segmented_control(
            "Accuracy", list(ACCURACY), default="MRR", key="accuracy", required=True, bind="query-params"
        )
    )
    points = points_of(results, chosen, accuracy, k)
    if points.empty:
        st.info("No cell has both faithfulness and this accuracy; run the batch job with --faithfulness, and publish again.",
                icon=":material/scatter_plot:")  # fmt: skip
        return
    known = cast(pd.DataFrame, cached(results, "catalogue", "explainer"))
    methods = points[~points["explainer"].isin(set(known[known["control"]]["key"]))]
    names = list(methods[list(CELL)].itertuples(index=False, name=None))
    rho, (low, high) = clustered_spearman(methods["x"].to_numpy(), methods["y"].to_numpy(), names)
    st.markdown(
        f"Over {len(methods)} dots of methods in {len(set(names))} cells, faithfulness and accuracy have a rank correlation "
        f"of **{number(rho)}** [{number(low)}, {number(high)}] (0: none; 95 % interval, whole cells resampled, for the dots "
        "of a cell share their instances)."
    )
    event = st.plotly_chart(
        scatter(points, titles_of(results), "comprehensiveness above the random control, nats",
                f"{accuracy}, normalised: 0 is chance"),
        width="stretch", key="faithful_and_right", on_select="rerun", selection_mode="points", config=figure_config(),
    )  # fmt: skip
    behind.offer_cell(event, chosen)


def points_of(results: Reader, chosen: Filter, accuracy: str, k: int) -> pd.DataFrame:
    """Comprehensiveness minus the random control's (x) and normalised accuracy (y) of every cell that has both."""
    metric, parts = ACCURACY[accuracy]
    faithful = cast(pd.DataFrame, cached(results, "cells", chosen, "comprehensiveness", 0))
    right = cast(pd.DataFrame, cached(results, "cells", chosen, metric, 0 if metric == "mrr" else k))
    right = as_normalised(right[right["part"].isin(parts)].dropna(subset=["value"]))
    faithful = faithful[faithful["part"] == "all"]
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
