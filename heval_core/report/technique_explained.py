"""What a technique does to explanations: each explainer's values before and after, and their difference.

Formula: the value of a cell under the technique less the same cell's under Regular. Both are the published values. The
interval comes from questions that are resampled in both together, so that it is paired over questions. A technique moves
answers from one group to another: the instances that a value is of are not the same. Measures whose replicates are not made of
stored values have none.
Cost: one pass over the stored values for each measure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.means import values_of
from heval_core.figures.measured_panels import of_measure
from heval_core.metrics import measures, part_title
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.records import TECHNIQUE
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

_PLACE = ["model", "dataset", "regime", "explainer", "part"]
_COLUMNS = [
    *("model", "dataset", "regime", "technique", "explainer", "measure", "part", "k", "regular", "regular_low"),
    *("regular_high", "regular_n", "value", "low", "high", "n", "chance", "delta", "delta_low", "delta_high"),
]


def explained_text() -> str:
    return (
        "Each explainer's value under Regular and under the technique, in the same model, dataset and kind of context, with "
        "the difference; 95 % intervals, with the questions resampled in both together. A technique moves answers from one "
        "group to another, so the two values are not of the same instances: n has the numbers of both. Only measures that are "
        "means of stored values have an interval of the difference."
    )


def explained(results: Reader) -> pd.DataFrame:
    """A row for each cell under a technique that Regular has too, measure and part; empty where there is none."""
    several = set(results.choices()["technique"]) - {TECHNIQUE}
    asked = [measure for measure in measures().values() if measure.question and not measure.variant_of] if several else []
    found = [own for measure in asked if len(own := _of_measure(results, measure))]
    return pd.concat(found, ignore_index=True)[_COLUMNS] if found else pd.DataFrame(columns=_COLUMNS)


def _of_measure(results: Reader, measure: Measure) -> pd.DataFrame:
    values = values_of(results, Filter(), measure.metric, measure.at(DEFAULT_K), measure.parts)
    found = of_measure(values, measure).dropna(subset=["value"])
    regular = found["technique"] == TECHNIQUE
    before = found[regular].rename(columns={"value": "regular"} | {name: f"regular_{name}" for name in ("low", "high", "n")})
    before = before[[*_PLACE, "regular", "regular_low", "regular_high", "regular_n", "drawn"]]
    both = found[~regular].merge(before, on=_PLACE, suffixes=("", "_before"))
    ends = [_interval(*own) for own in zip(both["drawn"], both["drawn_before"], strict=True)]
    return both.assign(
        measure=measure.title,
        part=both["part"].map(part_title),
        delta=both["value"] - both["regular"],
        **{f"delta_{end}": [own[place] for own in ends] for place, end in enumerate(("low", "high"))},
    )


def _interval(drawn: Any, before: Any) -> tuple[float, float]:
    """Of the difference of two values with (resamples,) replicates; NaN without."""
    there = isinstance(drawn, np.ndarray) and isinstance(before, np.ndarray)
    return percentile_interval(drawn - before) if there else (np.nan, np.nan)
