"""Rows against rows: who is better in which model and dataset, and how often.

For each question, two rows and a model with a dataset: the difference of their means over the cells that count, first minus
second, from chance (0) to best (1). Its interval: percentiles of the bootstrap over questions, in which both rows and all
regimes have the same resample, so that it is paired. p: of the normal distribution, with the bootstrap's standard error (a
share of resamples could not fall below 1 in 2,000, which Holm over many models and datasets would make useless).
Holm corrects over the models and datasets of a question and a pair, which together answer one thing: where is the first better
than the second? A win is a corrected p below .05. Questions, and pairs, are not corrected for one another.
Cost: no scores are read, only replicates; a second for 18 rows, three models and two datasets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from heval_core.evaluation.board.means import PLACE, replicates
from heval_core.evaluation.board.records import PAIRS, Column
from heval_core.evaluation.live import Spread
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.paired_tests import holm

LEVEL = 0.05


def pairs_of(column: Column, counted: pd.DataFrame, spread: Spread, rows: Sequence[str]) -> pd.DataFrame:
    """All pairs of rows in every model and dataset where both have all cells that count: see `Board.pairs`."""
    drawn = replicates(counted, spread)
    needed = counted.drop_duplicates(PLACE).groupby(["model", "dataset"]).size()
    means = counted.groupby(["model", "dataset", "explainer"])["normalised"].mean()
    there = {place: own.mean(axis=1) for place, own in drawn.items() if own.shape[1] == needed[place[:2]]}
    found: list[dict[str, Any]] = []
    for first, second in combinations(rows, 2):
        compared = []
        for (model, dataset), cells in needed.items():
            one, other = there.get((model, dataset, first)), there.get((model, dataset, second))
            if one is None or other is None:
                continue
            difference = float(means[model, dataset, first] - means[model, dataset, second])
            where = {"model": model, "dataset": dataset, "cells": int(cells)}
            compared.append({**where, **apart(difference, one - other)})
        for row, corrected in zip(compared, holm(np.array([row["p"] for row in compared])), strict=True):
            named = {"column": column.key, "first": first, "second": second, "p_holm": float(corrected)}
            found.append(named | row | {"better": _better(first, second, row["difference"], corrected)})
    return pd.DataFrame(found, columns=PAIRS)


def apart(difference: float, drawn: np.ndarray) -> dict[str, float]:
    """difference, low, high, p. drawn: (resamples,) replicates of the difference."""
    low, high = percentile_interval(drawn)
    error = float(np.nanstd(drawn, ddof=1))
    p = 2 * float(norm.sf(abs(difference) / error)) if error > 0 else float(difference == 0)
    return {"difference": difference, "low": low, "high": high, "p": p}


def _better(first: str, second: str, difference: float, p: float) -> str:
    if not p < LEVEL:
        return ""
    return first if difference > 0 else second


def counted_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """Per column and pair: wins of the first, ties, losses, compared (models and datasets), mean difference."""
    found = [
        {"column": column, "first": first, "second": second, **tally(own, first, second)}
        for (column, first, second), own in pairs.groupby(["column", "first", "second"], sort=False)
    ]
    names = ["column", "first", "second", "wins", "ties", "losses", "compared", "mean difference"]
    return pd.DataFrame(found, columns=names)


def tally(own: pd.DataFrame, first: str, second: str) -> Mapping[str, float]:
    return {
        "wins": int((own["better"] == first).sum()),
        "ties": int((own["better"] == "").sum()),
        "losses": int((own["better"] == second).sum()),
        "compared": len(own),
        "mean difference": float(own["difference"].mean()),
    }


def against(pairs: pd.DataFrame, key: str) -> pd.DataFrame:
    """The pairs of one row, turned so that it is the first: differences, ends and names with it."""
    first, second = pairs[pairs["first"] == key], pairs[pairs["second"] == key]
    turned = second.assign(
        first=second["second"],
        second=second["first"],
        difference=-second["difference"],
        low=-second["high"],
        high=-second["low"],
    )
    return pd.concat([first, turned], ignore_index=True)
