"""Faithfulness beside accuracy: what it can be compared with, and a point for every cell and explainer."""

from __future__ import annotations

import pandas as pd

from heval_core.figures.cells import as_normalised
from heval_core.metrics import headlines, measures_of
from heval_core.metrics.shared.measure import QUESTION_PROTECTED, Measure
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.published_results import query
from heval_core.wording import regime_title


def accuracies() -> dict[str, Measure]:
    """What faithfulness is compared with: the Overview's measures, that of tokens first."""
    shown = sorted(headlines().items(), key=lambda pair: pair[0] != "RQ3")
    return {measure.title: measure for _, measure in shown}


def faithfulness_measure(protected: bool = False) -> Measure:
    """The first measure of faithfulness stands for it. protected: whether the question is."""
    return next(own for own in measures_of("faithfulness").values() if (own.switch == QUESTION_PROTECTED) is protected)


def faithful_and_right(results: Reader, chosen: Filter, accuracy: str, k: int, protected: bool = False) -> pd.DataFrame:
    """Faithfulness minus the random control's (x) and normalised accuracy (y) of every cell that has both."""
    measure, faithfulness = accuracies()[accuracy], faithfulness_measure(protected)
    faithful = query(results, Reader.cells, chosen, faithfulness.metric, faithfulness.at(k))
    right = query(results, Reader.cells, chosen, measure.metric, measure.at(k))
    right = as_normalised(right[right["part"].isin(measure.together)].dropna(subset=["value"]))
    faithful = faithful[faithful["part"].isin(faithfulness.together)]
    points = faithful.dropna(subset=["value"]).merge(right, on=[*CELL, "explainer"], suffixes=("", "_right"))
    labels = [f"{row.model} · {row.dataset} · {regime_title(row.regime)}" for row in points.itertuples()]
    return points.assign(
        label=labels,
        x=points["value"] - points["chance"],
        x_low=points["above_low"],
        x_high=points["above_high"],
        **{f"y{end}": points[f"{name}_right"] for end, name in (("", "value"), ("_low", "low"), ("_high", "high"))},
    )
