"""What a technique does to explanations: each explainer's values before and after, and their difference.

Formula: the value of a cell under the technique less the same cell's under Regular. Both are the published values. The
interval comes from questions that are resampled in both together, so that it is paired over questions. A technique moves
answers from one group to another: the instances that a value is of are not the same. Measures whose replicates are not made of
stored values have none.
Cost: one pass over the stored values for each measure.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.evaluation.cells import ValueKey, value_key
from heval_core.evaluation.live import Spread
from heval_core.evaluation.regime_means import cells_and_replicates
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
    found, spread = cells_and_replicates(results, Filter(), measure.metric, k, measure.parts)
    known = {value_key(row): row for row in of_measure(found, measure).dropna(subset=["value"]).to_dict("records")}
    rows = []
    for key, row in known.items():
        before = key._replace(cell=key.cell._replace(technique=TECHNIQUE))
        if key.cell.technique != TECHNIQUE and before in known:
            rows.append({**_both(row, known[before]), "measure": measure.title, **_difference(key, before, spread)})
    return rows


def _both(row: dict[str, Any], regular: dict[str, Any]) -> dict[str, Any]:
    before = {"regular" if name == "value" else f"regular_{name}": regular[name] for name in ("value", "low", "high", "n")}
    own = {name: row[name] for name in _COLUMNS if name in row}
    return {**own, **before, "part": part_title(row["part"]), "delta": row["value"] - regular["value"]}


def _difference(key: ValueKey, before: ValueKey, spread: Spread) -> dict[str, float]:
    if key not in spread or before not in spread:
        return {}
    low, high = percentile_interval(spread[key] - spread[before])
    return {"delta_low": low, "delta_high": high}
