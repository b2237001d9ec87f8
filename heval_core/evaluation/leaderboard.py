"""The leaderboard over the cells under a filter: rows like those of the table `headline`, from what is stored.

Cost: a tenth of a second for the demo results; under a filter that cuts cells everything is computed anew, see `live`.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from heval_core.evaluation.means import available, means, values_of
from heval_core.metrics import headlines
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

COLUMNS = [
    "question", "technique", "explainer", "metric", "k", "value", "low", "high", "chance",
    "normalised", "normalised_low", "normalised_high", "cells", "n",
]  # fmt: skip


def headline(values_of: Callable[[Measure, int], pd.DataFrame]) -> pd.DataFrame:
    """The headline measure of every question, by technique and explainer; nothing of a question that no cell can answer.

    values_of: a measure and k ▶ its cells, see `means.means`.
    """
    found = []
    for question, measure in headlines().items():
        k = measure.at(DEFAULT_K)
        own = means(available(values_of(measure, k), measure.together), ("technique", "explainer"))
        found.append(own.assign(question=question, metric=measure.metric, k=k))
    return pd.concat(found)[COLUMNS]


def leaderboard(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """The headline under a filter, best first."""
    own = headline(lambda measure, k: values_of(reader, chosen, measure.metric, k, measure.together))
    return own.sort_values(["technique", "question", "value"], ascending=[True, True, False], ignore_index=True)
