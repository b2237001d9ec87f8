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
from heval_core.figures.cells import of_measure
from heval_core.metrics import measures, part_title
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.records import TECHNIQUE
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

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
    rows: list[dict[str, Any]] = []
    if set(results.choices()["technique"]) - {TECHNIQUE}:
        for measure in measures().values():
            if measure.question and not measure.variant_of:
                rows += _of_measure(results, measure)
    return pd.DataFrame(rows, columns=_COLUMNS)


def _of_measure(results: Reader, measure: Measure) -> list[dict[str, Any]]:
    k = DEFAULT_K if measure.uses_k else 0
    found = of_measure(values_of(results, Filter(), measure.metric, k, measure.parts), measure).dropna(subset=["value"])
    place = ["model", "dataset", "regime", "explainer", "part"]
    regular = {tuple(row[name] for name in place): row for row in _of(found, found["technique"] == TECHNIQUE)}
    rows = []
    for row in _of(found, found["technique"] != TECHNIQUE):
        before = regular.get(tuple(row[name] for name in place))
        if before is not None:
            rows.append({**_both(row, before), "measure": measure.title, **_difference(row["drawn"], before["drawn"])})
    return rows


def _of(found: pd.DataFrame, chosen: pd.Series) -> list[dict[str, Any]]:
    return found[chosen].to_dict("records")


def _both(row: dict[str, Any], regular: dict[str, Any]) -> dict[str, Any]:
    before = {"regular" if name == "value" else f"regular_{name}": regular[name] for name in ("value", "low", "high", "n")}
    own = {name: row[name] for name in _COLUMNS if name in row}
    return {**own, **before, "part": part_title(row["part"]), "delta": row["value"] - regular["value"]}


def _difference(drawn: Any, before: Any) -> dict[str, float]:
    """Of two values with (resamples,) replicates; nothing without."""
    if not (isinstance(drawn, np.ndarray) and isinstance(before, np.ndarray)):
        return {}
    low, high = percentile_interval(drawn - before)
    return {"delta_low": low, "delta_high": high}
