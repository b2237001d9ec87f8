"""Metrics computed live, from the stored scores of the instances that a filter leaves; no model is needed.

Without a filter these are the published values: the same instances, the same functions, the same resamples.
Cost: a cell of 2,000 instances and 7 explainers takes about .3 s for ranks, margins and MRR, and a second for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heval_core import catalogue
from heval_core.evaluation import cells
from heval_core.evaluation.regime import Regime, regime_of
from heval_core.evaluation.scored import Measurements, Scored, measured_metrics
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

COLUMNS = [
    *CELL, "explainer", "metric", "part", "k", "value", "low", "high", "chance", "above_low", "above_high",
    "best", "normalised", "p", "n", "group_sizes", "details", "unavailable",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Stored:
    """What is stored of one model, dataset, regime and technique, under a filter."""

    regime: Regime
    scored: Scored


def stored(reader: Reader, chosen: Filter) -> Iterator[Stored]:
    """The stored results under a filter, regime by regime in stored order."""
    for (_, dataset, *_), own in reader.measured_instances(chosen).groupby(list(CELL), sort=False):
        ids = list(own["instance_id"])
        measured = Measurements.of(reader.measured_of(ids, list(measured_metrics())))
        scored = Scored(reader.scores_of(ids), measured, reader.scores_of(ids, towards_context=True))
        yield Stored(regime_of(own, reader.resamples(dataset)), scored)


def cells_of(reader: Reader, chosen: Filter, metric: str, k: int, drawn: bool = False) -> pd.DataFrame:
    """Rows like those of `cell_metric`. Raises HEvalError for an unknown metric.

    drawn: with the (resamples,) replicates of the values; there are none of values that are made of mirrored prompts.
    """
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    mirrored: list[cells.Mirrored] = []
    for one in stored(reader, chosen):
        _, evaluated = cells.evaluate_all(one.regime, one.scored, [plugin], (k,), wanted=lambda *value: drawn)
        rows += evaluated.rows
        mirrored.append(cells.Mirrored(one.regime.key, one.regime.questions, evaluated.swap_inputs))
    found = pd.DataFrame([*rows, *cells.swap_rows(mirrored)], columns=[*COLUMNS, *(["drawn"] if drawn else [])])
    return found.sort_values([*CELL, "part"], kind="stable", ignore_index=True)
