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
from math import erfc, sqrt
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.board.means import replicates
from heval_core.evaluation.board.records import PAIRS, Column
from heval_core.evaluation.means import PLACE
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.paired_tests import holm

LEVEL = 0.05
ROUNDING = 1e-9


def pairs_of(column: Column, counted: pd.DataFrame, rows: Sequence[str]) -> pd.DataFrame:
    """All pairs of rows in every model and dataset where both have all cells that count: see `Board.pairs`."""
    drawn = replicates(counted, ["model", "dataset", "explainer"])
    needed = counted.drop_duplicates(PLACE).groupby(["model", "dataset"]).size()
    means = counted.groupby(["model", "dataset", "explainer"])["normalised"].mean()
    by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {pair: [] for pair in combinations(rows, 2)}
    for (model, dataset), cells in needed.items():
        whole = {key: own for key in rows if (own := drawn.get((model, dataset, key))) is not None and own.shape[1] == cells}
        pairs = list(combinations(whole, 2))
        if not pairs:
            continue
        columns = {key: own.mean(axis=1) for key, own in whole.items()}
        between = np.stack([columns[first] - columns[second] for first, second in pairs], axis=1)
        values = [float(means[model, dataset, first] - means[model, dataset, second]) for first, second in pairs]
        for pair, numbers in zip(pairs, apart(np.array(values), between), strict=True):
            by_pair[pair].append({"model": model, "dataset": dataset, "cells": int(cells), **numbers})
    found: list[dict[str, Any]] = []
    for (first, second), compared in by_pair.items():
        for row, corrected in zip(compared, holm(np.array([row["p"] for row in compared])), strict=True):
            named = {"column": column.key, "first": first, "second": second, "p_holm": float(corrected)}
            found.append(named | row | {"better": _better(first, second, row["difference"], corrected)})
    return pd.DataFrame(found, columns=PAIRS)


def apart(differences: np.ndarray, drawn: np.ndarray) -> list[dict[str, float]]:
    """difference, low, high and p of (C,) differences. drawn: (resamples, C) their replicates."""
    errors = np.nanstd(drawn, axis=0, ddof=1)
    found = []
    for difference, error, own in zip(differences, errors, drawn.T, strict=True):
        low, high = percentile_interval(own)
        p = erfc(abs(difference) / error / sqrt(2)) if error > 0 else float(np.isnan(error))
        # What differs by rounding only is equal, however small the error.
        p = 1.0 if abs(difference) < ROUNDING else p
        found.append({"difference": float(difference), "low": low, "high": high, "p": p})
    return found


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


def tallies(pairs: pd.DataFrame) -> dict[tuple[str, str], Mapping[str, float]]:
    """(row, rival) ▶ what `tally` gives of all their pairs, both ways round."""
    found = {}
    for (first, second), own in pairs.groupby(["first", "second"], sort=False):
        found[first, second] = one = tally(own, first, second)
        turned = {"wins": one["losses"], "losses": one["wins"], "mean difference": -one["mean difference"]}
        found[second, first] = {**one, **turned}
    return found


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
