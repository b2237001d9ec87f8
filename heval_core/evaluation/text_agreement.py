"""How often an answer's first token and its text give the same group, for results with both (`--match text`)."""

from __future__ import annotations

import pandas as pd

from heval_core.statistics.values import Column
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

COLUMNS = ["model", "dataset", "n", "same", "share", "low", "high"]


def text_agreement(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """Per model and dataset, over the kept instances: n, how many have the same group both ways, and their share.

    low, high: 95 % interval of the share, over questions, since a question is asked under several regimes.
    """
    rows = []
    for (model, dataset), own in reader.same_group_counts(chosen).groupby(["model", "dataset"]):
        counts = own.groupby("fact_id")[["same", "n"]].sum().to_numpy(dtype=float)
        share = Column(counts[:, 0], counts[:, 1], ends=(0.0, 1.0)).bounded()
        same, n = (int(total) for total in counts.sum(axis=0))
        low, high = share.interval()
        rows.append((model, dataset, n, same, same / n, low, high))
    return pd.DataFrame(rows, columns=COLUMNS)
