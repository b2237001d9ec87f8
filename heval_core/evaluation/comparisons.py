"""Explainers in pairs: differences, their intervals and tests, and who wins how often.

`pairs_of` compares what is stored: the difference of two means over the cells that count, first minus second, from chance (0)
to best (1), in each model and dataset. Its interval: percentiles of the bootstrap over questions, in which both rows and all
regimes have the same resample, so that it is paired. p: of the normal distribution, with the bootstrap's standard error (a
share of resamples could not fall below 1 in 2,000, which Holm over many models and datasets would make useless).
Holm corrects over the models and datasets of a question and a pair, which together answer one thing: where is the first
better than the second? A win is a corrected p below LEVEL.
Cost: no scores are read, only replicates; a second for 18 rows, three models and two datasets.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.means import CELL_COLUMNS, replicates
from heval_core.evaluation.ranking import LEVEL, p_of
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.correlation import holm

_OF_BOARD = ["first", "second", "model", "dataset", "difference", "low", "high", "p", "p_holm", "better", "cells"]


def tally(pairs: pd.DataFrame) -> dict[str, float]:
    """Count how often the first of a pair wins, ties and loses. pairs: rows of one pair, the same way round."""
    count = pairs["better"].value_counts()
    wins, losses = (int(count.get(pairs[side].iloc[0], 0)) for side in ("first", "second"))
    return {
        "wins": wins, "ties": int(count.get("", 0)), "losses": losses, "compared": len(pairs),
        "mean difference": float(pairs["difference"].mean()),
    }  # fmt: skip


def against(rows: pd.DataFrame, key: str, other: str = "") -> pd.DataFrame:
    """Select the rows of one explainer (and another), turned so that it is the first: differences, ends and names with it."""
    turned = {"first": "second", "low": "high"}
    second = rows[rows["second"] == key].rename(columns=turned | {new: old for old, new in turned.items()})
    signed = [name for name in ("difference", "low", "high") if name in rows]
    second = second.assign(**{name: -second[name] for name in signed})[list(rows.columns)]
    pairs = pd.concat([rows[rows["first"] == key], second], ignore_index=True)
    return pairs[pairs["second"] == other] if other else pairs


def pairs_of(counted: pd.DataFrame, explainers: Sequence[str]) -> pd.DataFrame:
    """Compare all pairs in every model and dataset where both have all cells that count. counted: see `means.counting`.

    difference (first minus second, scaled), low, high (95 %), p, p_holm (over the models and datasets of the pair), better
    ("" where p_holm is LEVEL or more), cells.
    """
    resampled = replicates(counted, ["model", "dataset", "explainer"])
    needed = counted.drop_duplicates(CELL_COLUMNS).groupby(["model", "dataset"]).size()
    means = counted.groupby(["model", "dataset", "explainer"])["normalised"].mean()
    by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {pair: [] for pair in combinations(explainers, 2)}
    for (model, dataset), count in needed.items():
        by_explainer = {key: resampled[names] for key in explainers if (names := (model, dataset, key)) in resampled}
        whole = {key: of_cells.mean(axis=1) for key, of_cells in by_explainer.items() if of_cells.shape[1] == count}
        pairs = list(combinations(whole, 2))
        if pairs:
            between = np.stack([whole[first] - whole[second] for first, second in pairs], axis=1)
            values = np.array([means[model, dataset, first] - means[model, dataset, second] for first, second in pairs])
            for pair, numbers in zip(pairs, apart(values, between), strict=True):
                by_pair[pair].append({"model": model, "dataset": dataset, "cells": int(count), **numbers})
    rows: list[dict[str, Any]] = []
    for (first, second), compared in by_pair.items():
        for row, p in zip(compared, holm(np.array([row["p"] for row in compared])), strict=True):
            ahead = first if row["difference"] > 0 else second
            rows.append(row | {"first": first, "second": second, "p_holm": float(p), "better": ahead if p < LEVEL else ""})
    return pd.DataFrame(rows, columns=_OF_BOARD)


def apart(values: np.ndarray, resampled: np.ndarray) -> list[dict[str, float]]:
    """Compute difference, low, high and p of (C,) differences. resampled: (resamples, C) their replicates."""
    rows = []
    for difference, of_pair in zip(values, resampled.T, strict=True):
        low, high = percentile_interval(of_pair)
        rows.append({"difference": float(difference), "low": low, "high": high, "p": p_of(float(difference), of_pair)})
    return rows
