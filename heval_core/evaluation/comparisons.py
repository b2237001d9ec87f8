"""Explainers in pairs: differences, their intervals and tests, and who wins how often.

Under a filter every cell is compared over the same instances: `comparisons`, with signs flipped over questions. A board
compares what is stored: `pairs_of`, the difference of two means over the cells that count, first minus second, from chance (0)
to best (1), in each model and dataset. Its interval: percentiles of the bootstrap over questions, in which both rows and all
regimes have the same resample, so that it is paired. p: of the normal distribution, with the bootstrap's standard error (a
share of resamples could not fall below 1 in 2,000, which Holm over many models and datasets would make useless).
Holm corrects over the pairs of a cell; of a board over the models and datasets of a question and a pair, which together answer
one thing: where is the first better than the second? A win is a corrected p below LEVEL.
Cost: of a board no scores are read, only replicates; a second for 18 rows, three models and two datasets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from math import erfc, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue, metrics
from heval_core.evaluation import cells
from heval_core.evaluation.live import stored
from heval_core.evaluation.means import PLACE, replicates
from heval_core.evaluation.regime import Regime
from heval_core.records import CELL
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.correlation import holm
from heval_core.statistics.values import Value, differences
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

LEVEL = 0.05
ROUNDING = 1e-9
_OF_CELLS = [*CELL, "part", "first", "second", "difference", "low", "high", "p", "p_holm", "better", "n"]
_OF_BOARD = ["first", "second", "model", "dataset", "difference", "low", "high", "p", "p_holm", "better", "cells"]
_OVERALL = ["technique", "first", "second", "wins", "ties", "losses", "mean difference", "low", "high", "comparisons", "cells"]


class Compared(NamedTuple):
    """Pairs of explainers, with differences first minus second, over the instances for which all explainers have scores.

    cells: one row per cell, part and pair: the cell's columns, part, first, second, difference, low, high (95 %, questions
    resampled), p (sign flips over questions), p_holm (over the cell's pairs), better (the better explainer at p_holm < .05,
    else ""), n. overall: one row per technique and pair: first, second, wins of the first, ties, losses, mean difference over
    cells and parts, low, high (95 %, the same questions resampled in all cells), comparisons, cells.
    """

    cells: pd.DataFrame
    overall: pd.DataFrame


def comparisons(reader: Reader, chosen: Filter, metric: str, parts: Collection[str], k: int) -> Compared:
    """All pairs of methods, in every cell and part, and over all of them."""
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    for one in stored(reader, chosen):
        regime = one.common()
        methods = [key for key in one.scored.explainers if key not in catalogue.explainers(control=True)]
        found = cells.estimates([plugin], one.scored.cells(regime, methods), (k,))[plugin.key]
        for part in parts:
            own = {
                explainer: estimate
                for (explainer, _), all_parts in found.items()
                for estimate in all_parts
                if estimate.part == part and estimate.unavailable is None
            }
            rows += _pairs(regime, own, part, metrics.best_of(metric, part))
    each = pd.DataFrame(rows, columns=[*_OF_CELLS, "drawn"])
    overall = [
        dict(zip(("technique", "first", "second"), names, strict=True)) | _over_cells(own)
        for names, own in each.groupby(["technique", "first", "second"])
    ]
    return Compared(each[_OF_CELLS], pd.DataFrame(overall, columns=_OVERALL))


def _pairs(regime: Regime, found: Mapping[str, Value], part: str, best: str) -> Iterator[dict[str, Any]]:
    """A row of every pair; drawn: the (resamples,) replicates of its difference."""
    names = list(combinations(found, 2))
    apart = differences([(found[first], found[second]) for first, second in names], regime.weights)
    for (first, second), own, p in zip(names, apart, holm(np.array([own.p for own in apart])), strict=True):
        yield {
            **regime.key._asdict(),
            "part": part,
            "first": first,
            "second": second,
            "difference": own.value,
            **own.interval(regime.numbers)._asdict(),
            "p": own.p,
            "p_holm": p,
            "better": _better(first, second, own.value, p, best),
            "n": own.n,
            "drawn": own.drawn,
        }


def _better(first: str, second: str, difference: float, p: float, best: str = "high") -> str:
    if not p < LEVEL or best == "zero":
        return ""
    return second if (difference > 0) == (best == "low") else first


def _over_cells(own: pd.DataFrame) -> dict[str, Any]:
    low, high = percentile_interval(np.mean(list(own["drawn"]), axis=0))
    count = len(own.drop_duplicates(list(CELL)))
    return tally(own) | {"low": low, "high": high, "comparisons": len(own), "cells": count}


def tally(own: pd.DataFrame) -> dict[str, float]:
    """How often the first of a pair wins, ties and loses. own: rows of one pair, the same way round."""
    count = own["better"].value_counts()
    wins, losses = (int(count.get(own[side].iloc[0], 0)) for side in ("first", "second"))
    return {
        "wins": wins, "ties": int(count.get("", 0)), "losses": losses, "compared": len(own),
        "mean difference": float(own["difference"].mean()),
    }  # fmt: skip


def against(rows: pd.DataFrame, key: str, other: str = "") -> pd.DataFrame:
    """The rows of one explainer (and another), turned so that it is the first: differences, ends, wins and names with it."""
    turned = {"first": "second", "low": "high", "wins": "losses"}
    second = rows[rows["second"] == key].rename(columns=turned | {new: old for old, new in turned.items()})
    signed = [name for name in ("difference", "mean difference", "low", "high") if name in rows]
    second = second.assign(**{name: -second[name] for name in signed})[list(rows.columns)]
    found = pd.concat([rows[rows["first"] == key], second], ignore_index=True)
    return found[found["second"] == other] if other else found


def pairs_of(counted: pd.DataFrame, explainers: Sequence[str]) -> pd.DataFrame:
    """All pairs in every model and dataset where both have all cells that count. counted: see `means.counting`.

    difference (first minus second, scaled), low, high (95 %), p, p_holm (over the models and datasets of the pair), better
    ("" where p_holm is LEVEL or more), cells.
    """
    drawn = replicates(counted, ["model", "dataset", "explainer"])
    needed = counted.drop_duplicates(PLACE).groupby(["model", "dataset"]).size()
    means = counted.groupby(["model", "dataset", "explainer"])["normalised"].mean()
    by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {pair: [] for pair in combinations(explainers, 2)}
    for (model, dataset), count in needed.items():
        own = {key: drawn[place] for key in explainers if (place := (model, dataset, key)) in drawn}
        whole = {key: one.mean(axis=1) for key, one in own.items() if one.shape[1] == count}
        pairs = list(combinations(whole, 2))
        if pairs:
            between = np.stack([whole[first] - whole[second] for first, second in pairs], axis=1)
            values = np.array([means[model, dataset, first] - means[model, dataset, second] for first, second in pairs])
            for pair, numbers in zip(pairs, apart(values, between), strict=True):
                by_pair[pair].append({"model": model, "dataset": dataset, "cells": int(count), **numbers})
    found: list[dict[str, Any]] = []
    for (first, second), compared in by_pair.items():
        for row, p in zip(compared, holm(np.array([row["p"] for row in compared])), strict=True):
            better = _better(first, second, row["difference"], p)
            found.append(row | {"first": first, "second": second, "p_holm": float(p), "better": better})
    return pd.DataFrame(found, columns=_OF_BOARD)


def apart(values: np.ndarray, drawn: np.ndarray) -> list[dict[str, float]]:
    """difference, low, high and p of (C,) differences. drawn: (resamples, C) their replicates."""
    errors = np.nanstd(drawn, axis=0, ddof=1)
    found = []
    for difference, error, own in zip(values, errors, drawn.T, strict=True):
        low, high = percentile_interval(own)
        p = erfc(abs(difference) / error / sqrt(2)) if error > 0 else float(np.isnan(error))
        # What differs by rounding only is equal, however small the error.
        p = 1.0 if abs(difference) < ROUNDING else p
        found.append({"difference": float(difference), "low": low, "high": high, "p": p})
    return found
