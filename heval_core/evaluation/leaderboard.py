"""The headline measure of each question, by technique and explainer, as it is published.

The same numbers as on the board, because the same cells count (`evaluation.means`); only rows that have all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import pandas as pd

from heval_core.evaluation.means import means_of
from heval_core.metrics import headlines
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure

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
