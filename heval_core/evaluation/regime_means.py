"""Means of a measure over cells, with intervals: explainers x regimes, as tables and figures of accuracy show them.

The cells' values and intervals are the published ones, and a mean's interval is made of theirs (`bounded.mean_interval`), in
every column by this one rule: of a single cell it is the cell's own, and none passes the best possible value. How far cells
move together comes from questions that are resampled in all of them, since cells share questions. What is resampled are the
instances' stored values (`metrics.shared.stored_means`); under a filter that cuts cells, everything is computed anew. Where an
error comes from halves, or a value from pairs of mirrored prompts, no replicates are stored, and the ends are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation import cells, live
from heval_core.evaluation.cells import ValueKey
from heval_core.evaluation.live import Spread
from heval_core.metrics.shared.stored_means import Limited, Mean, SumOfMeans
from heval_core.records import CELL, CellKey, RegimeKey
from heval_core.regime_keys import ordered_regimes, read_key
from heval_core.statistics.bootstrap import resampled_sums
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

RESAMPLED, OF_CELL, BOUND = "resampled", "cell", "bound"
_NUMBERS = [
    *("value", "low", "high", "chance", "best", "normalised", "normalised_low", "normalised_high", "cells", "n", "interval")
]


def regime_means(
    results: Reader, chosen: Filter, metric: str, parts: Sequence[str], k: int, by: Sequence[str] = ("regime", "part")
) -> pd.DataFrame:
    """Means over the cells in which some parts of a metric are available: a row for each technique, `by` and explainer.

    by: any of model, dataset, regime and part. Columns after these: value, low, high (95 %), chance, best; normalised (0 at
    chance, 1 at best; the mean over cells), normalised_low, normalised_high; cells; n, the instances in them; interval:
    `resampled`, `cell` (of the only cell, as published), or `bound` (the mean of the cells' ends: 95 % or more).
    Raises HEvalError for an unknown metric.
    """
    return cells_and_means(results, chosen, metric, k, ((tuple(parts), tuple(by)),))[1][0]


Wanted = tuple[tuple[str, ...], tuple[str, ...]]


def cells_and_means(
    results: Reader, chosen: Filter, metric: str, k: int, wanted: Sequence[Wanted]
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """A metric's cells, those that are not available too, and their means: what `regime_means` gives, for each (parts, by).

    The questions are resampled once for all of them.
    """
    parts = tuple(dict.fromkeys(part for own, _ in wanted for part in own))
    found, spread = cells_and_replicates(results, chosen, metric, k, parts)
    return found, [means_of(found, spread, *own) for own in wanted]


def cells_and_replicates(
    results: Reader, chosen: Filter, metric: str, k: int, parts: Sequence[str]
) -> tuple[pd.DataFrame, Spread]:
    """A metric's cells, those that are not available too, and the (resamples,) replicates of those values that have any."""
    plugin = catalogue.find("metric", metric)
    if chosen.cuts_cells or metric not in catalogue.plugins("metric"):
        return live.cells_and_spread(results, chosen, metric, k)
    found = results.cells(chosen, metric, k)
    there = _available(found, parts)
    return found, _resampled(results, chosen, plugin, k, there) if isinstance(plugin, SumOfMeans) else {}


def means_of(found: pd.DataFrame, spread: Spread, parts: Sequence[str], by: Sequence[str]) -> pd.DataFrame:
    """What `regime_means` gives, of cells that are there already. spread: replicates of their values, where there are any."""
    there = _available(found, parts)
    keys = ["technique", *by, "explainer"]
    named = pd.Series(_keys(there), index=there.index, dtype=object)
    rows = [
        dict(zip(keys, names, strict=True)) | _mean(own, list(named[own.index]), spread)
        for names, own in there.groupby(keys, sort=False)
    ]
    names = {"regime": ordered_regimes(set(there["regime"])), "part": parts}
    order = {column: {name: place for place, name in enumerate(own)} for column, own in names.items()}
    return pd.DataFrame(rows, columns=[*keys, *_NUMBERS]).sort_values(
        keys, key=lambda own: own.map(order[str(own.name)]) if own.name in order else own, kind="stable", ignore_index=True
    )


def _available(found: pd.DataFrame, parts: Sequence[str]) -> pd.DataFrame:
    return found[found["part"].isin(list(parts)) & found["unavailable"].isna() & found["value"].notna()]


def _keys(found: pd.DataFrame) -> list[ValueKey]:
    columns = (found[name] for name in (*CellKey._fields, "metric", "part", "k"))
    return [ValueKey(CellKey(*own[:-3]), own[-3], own[-2], int(own[-1])) for own in zip(*columns, strict=True)]


def _mean(own: pd.DataFrame, keys: Sequence[ValueKey], spread: Spread) -> dict[str, Any]:
    """The mean of some cells, with its interval. own: rows of `cell_metric`, with these keys."""
    means = {name: float(own[name].to_numpy(dtype=float).mean()) for name in ("value", "chance", "best", "normalised")}
    together = np.stack([spread[key] for key in keys], axis=1) if all(key in spread for key in keys) else None
    ends, scaled = cells.mean_intervals(own, together)
    how = OF_CELL if len(own) == 1 else BOUND if together is None else RESAMPLED
    count = len({key.cell.of_regime for key in keys})
    return {
        **means,
        **dict(zip(("low", "high", "normalised_low", "normalised_high"), (*ends, *scaled), strict=True)),
        "cells": count,
        "n": int(own["n"].sum()) if count == len(own) else cells.entering(own),
        "interval": how,
    }


def _resampled(results: Reader, chosen: Filter, metric: SumOfMeans, k: int, found: pd.DataFrame) -> Spread:
    """(resamples,) replicates of the values of published cells, from the stored values of their instances."""
    wanted: dict[ValueKey, tuple[Mean, ...]] = {}
    for key in _keys(found):
        if means := metric.means(key.part, 2 if read_key(key.cell.regime).dual else 1):
            wanted[key] = means
    read = {mean for means in wanted.values() for mean in means}
    stored = results.values_by_question(chosen, sorted({own.metric for own in read}), sorted({own.part for own in read}), k)
    if all(mean.groups for mean in read):
        stored = stored[stored["group"].isin({group for mean in read for group in mean.groups})]
    limits = metric.limits if isinstance(metric, Limited) else (-np.inf, np.inf)
    spread: Spread = {}
    for dataset, own in stored.groupby("dataset"):
        sums = _sums(results, str(dataset), own)
        for key, means in wanted.items():
            if key.cell.dataset == dataset:
                drawn = np.sum([mean.factor * _drawn(sums, key, mean) for mean in means], axis=0)
                spread[key] = np.clip(drawn, *limits)
    return spread


Sums = dict[tuple[RegimeKey, str, str, str], dict[str, tuple[np.ndarray, np.ndarray]]]


def _sums(results: Reader, dataset: str, stored: pd.DataFrame) -> Sums:
    """By regime, explainer, metric and part, then by group: (resamples,) sums of the stored values, and their numbers."""
    names = [*CELL, "explainer", "metric", "part", "group"]
    of_columns = stored.groupby(names, sort=False)
    columns, count = of_columns.ngroup().to_numpy(), of_columns.ngroups
    questions, places = np.unique(stored["fact_id"].to_numpy(dtype=object), return_inverse=True)
    cell = places * count + columns
    totals = [
        np.bincount(cell, weights=stored[name], minlength=len(questions) * count).reshape(len(questions), count)
        for name in ("total", "n")
    ]
    # Explainers of a regime have the same numbers of instances, which are counted once.
    numbers, which = np.unique(totals[1], axis=1, return_inverse=True)
    both = resampled_sums(results.resamples(dataset).of(questions), np.concatenate([totals[0], numbers], axis=1))
    sums: Sums = {}
    for place, named in enumerate(stored[names].drop_duplicates().itertuples(index=False, name=None)):
        *regime, explainer, metric, part, group = map(str, named)
        of_groups = sums.setdefault((RegimeKey(*regime), explainer, metric, part), {})
        of_groups[group] = both[:, place], both[:, count + which.ravel()[place]]
    return sums


def _drawn(sums: Sums, key: ValueKey, mean: Mean) -> np.ndarray:
    of_groups = sums.get((key.cell.of_regime, key.cell.explainer, mean.metric, mean.part), {})
    own = [both for group, both in of_groups.items() if not mean.groups or group in mean.groups]
    if not own:
        return np.full(1, np.nan)
    total, number = (np.sum(parts, axis=0) for parts in zip(*own, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / number)
