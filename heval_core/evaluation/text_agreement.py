"""How often an answer's first token and its text give the same group, for results with both (`--match text`)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from heval_core.statistics.bootstrap import percentile_interval, resampled_sums
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

COLUMNS = ["model", "dataset", "n", "same", "share", "low", "high"]


def text_agreement(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """Per model and dataset, over the kept instances: n, how many have the same group both ways, and their share.

    low, high: 95 % interval of the share. Whole questions are resampled, since a question is asked under several regimes.
    """
    rows = []
    for (model, dataset), own in reader.same_group_counts(chosen).groupby(["model", "dataset"]):
        counts = own[["same", "n"]].to_numpy(dtype=float)
        drawn = resampled_sums(reader.resamples(str(dataset)).of(own["fact_id"]), counts)
        with np.errstate(invalid="ignore"):
            low, high = percentile_interval(drawn[:, 0] / drawn[:, 1])
        same, n = (int(total) for total in counts.sum(axis=0))
        rows.append((model, dataset, n, same, same / n, low, high))
    return pd.DataFrame(rows, columns=COLUMNS)
