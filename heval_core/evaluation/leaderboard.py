"""The headline measure of each question, by technique and explainer: as published, and over the cells under a filter.

The same numbers as on the board, because the same cells count (`evaluation.means`); only rows that have all of them.
Cost: a tenth of a second for the demo results; under a filter that cuts cells everything is computed anew, see `live`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import pandas as pd

from heval_core.evaluation.means import available, controls_of, counting, means_of, values_of
from heval_core.metrics import headlines
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.records import CELL
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

COLUMNS = [
    "question", "technique", "explainer", "metric", "k", "value", "low", "high", "chance",
    "normalised", "normalised_low", "normalised_high", "cells", "n",
]  # fmt: skip


def headline(values_of: Callable[[Measure, int], pd.DataFrame], controls: Collection[str]) -> pd.DataFrame:
    """Nothing of a question that no cell can answer. values_of: a measure and k ▶ its cells, see `means.means`."""
    found = []
    for question, measure in headlines().items():
        k = measure.at(DEFAULT_K)
        own = means_of(values_of(measure, k), measure.together, (), controls)
        found.append(own[own["whole"].astype(bool)].assign(question=question, metric=measure.metric, k=k))
    return pd.concat(found)[COLUMNS]


def leaderboard(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """The headline under a filter, best first."""
    own = headline(lambda measure, k: values_of(reader, chosen, measure.metric, k, measure.together), controls_of(reader))
    return own.sort_values(["technique", "question", "value"], ascending=[True, True, False], ignore_index=True)


def places(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """What each question's numbers are over: question, model, dataset, regime and technique of the cells that count."""
    found, controls = [], controls_of(reader)
    for question, measure in headlines().items():
        cells = available(reader.cells(chosen, measure.metric, measure.at(DEFAULT_K)), measure.together)
        found.append(counting(cells, controls)[list(CELL)].drop_duplicates().assign(question=question))
    return pd.concat(found, ignore_index=True)
