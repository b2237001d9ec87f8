"""Metrics computed live, from the stored scores of the instances that a filter leaves; no model is needed.

Without a filter these are the published values: the same instances, the same functions, the same resamples.
Cost: a cell of 2,000 instances and 7 explainers takes about .3 s for ranks, margins and MRR, and a second for the others.
"""

from typing import Any

import pandas as pd

from heval_core import catalogue
from heval_core.evaluation import cells
from heval_core.evaluation.scored import Measurements, Scored, measured_metrics, regime_of
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from heval_core.store.reader import Reader

COLUMNS = TABLES["cell_metric"].names


def cells_of(reader: Reader, chosen: Filter, metric: str, k: int, drawn: bool = False) -> pd.DataFrame:
    """Rows like those of `cell_metric`. Raises HEvalError for an unknown metric.

    drawn: with the (resamples,) replicates of the values; there are none of values that are made of mirrored prompts.
    """
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    mirrored: list[cells.Mirrored] = []
    for (_, dataset, *_), instances in reader.measured_instances(chosen).groupby(list(CELL), sort=False):
        ids, regime = list(instances["instance_id"]), regime_of(instances, reader.resamples(str(dataset)))
        measured = Measurements.of(reader.measured_of(ids, list(measured_metrics())))
        scored = Scored(reader.scores_of(ids), measured, reader.scores_of(ids, towards_context=True))
        _, evaluated = cells.evaluate_all(regime, scored, [plugin], (k,), wanted=lambda *value: drawn)
        rows += evaluated.rows
        mirrored.append(cells.Mirrored(regime.key, regime.facts, regime.resamples, evaluated.swap_inputs))
    values = pd.DataFrame([*rows, *cells.swap_rows(mirrored)], columns=[*COLUMNS, *(["drawn"] if drawn else [])])
    return values.sort_values([*CELL, "part"], kind="stable", ignore_index=True)
