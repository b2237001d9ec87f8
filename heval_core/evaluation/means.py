"""Means of cells' values, with intervals: what tables, figures, boards and the headline show.

A cell (model, dataset, regime and part) counts if more than half of the methods have a number in it. Every mean is over these
and no others, so that nobody gains by running where it is easy; a row that lacks some of them is not compared. A number over
other instances than those of most methods (a part of a run failed) is none: it would be of easier or harder prompts.
A mean's interval is made of the cells' own (`bounded.mean_interval`), everywhere by this one rule: of a single cell it is the
cell's own, and none passes the best possible value. How far cells move together comes from questions that are resampled in all
of them, since cells share questions. Of published cells the instances' stored values are resampled
(`metrics.shared.measure`); under a filter that cuts cells, everything is computed anew. Where an error comes from halves,
or a value from pairs of mirrored prompts, no replicates are stored, and the ends are averaged.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation import live
from heval_core.groups import MEMORY, document_of
from heval_core.metrics import headlines
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Mean, Measure, SumOfMeans
from heval_core.records import CELL, RegimeKey
from heval_core.regime_keys import ordered_regimes, read_key
from heval_core.statistics.bootstrap import resampled_sums
from heval_core.statistics.bounded import mean_interval
from heval_core.statistics.values import normalised
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from heval_core.store.reader import Reader

RESAMPLED, OF_CELL, BOUND = "resampled", "cell", "bound"
_MEANS = ("value", "chance", "best", "normalised")
# A mean less its chance level, and the ends of its interval, for which both vary together where chance was measured too.
ABOVE = ("above", "above_low", "above_high")
_NUMBERS = [
    *("value", "low", "high", "chance", "best", "normalised", "normalised_low", "normalised_high"),
    *(*ABOVE, "cells", "n", "interval"),
]


def means(values: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over the cells of each group, a row each.

    values: available rows of `cell_metric`, with (resamples,) replicates in the column `drawn`, where there are any. by: the
    columns that make a group. Columns after these: value, low, high (95 %), chance, best; normalised (0 at chance, 1 at best;
    the mean over cells), normalised_low, normalised_high; `ABOVE`; cells; n, the instances in them; interval: `resampled`,
    `cell` (of the only cell, as published), or `bound` (the mean of the cells' ends: 95 % or more).
    """
    groups = values.groupby(list(by), sort=True) if len(values) else ()
    rows = [dict(zip(by, names, strict=True)) | _mean(own) for names, own in groups]
    return pd.DataFrame(rows, columns=[*by, *_NUMBERS])


def _mean(own: pd.DataFrame) -> dict[str, Any]:
    numbers = {name: own[name].to_numpy(dtype=float) for name in (*_MEANS, "low", "high")}
    drawn = drawn_of(own)
    sides = np.stack([normalised(numbers[end], numbers["chance"], numbers["best"]) for end in ("low", "high")])
    moved = None if drawn is None else scaled(own, drawn)
    ends = mean_interval(numbers["value"], numbers["low"], numbers["high"], drawn)
    of_scaled = mean_interval(numbers["normalised"], sides.min(axis=0), sides.max(axis=0), moved)
    apart = numbers["value"] - numbers["chance"]
    beyond = [own[end].to_numpy(float) if end in own else numbers[end[6:]] - numbers["chance"] for end in ABOVE[1:]]
    count = len({*zip(*(own[name] for name in CELL), strict=True)})
    return {
        **{name: float(numbers[name].mean()) for name in _MEANS},
        **dict(zip(("low", "high", "normalised_low", "normalised_high"), (*ends, *of_scaled), strict=True)),
        **dict(zip(ABOVE, (apart.mean(), *mean_interval(apart, beyond[0], beyond[1], drawn)), strict=True)),
        "cells": count,
        "n": int(own["n"].sum()) if count == len(own) else entering(own),
        "interval": OF_CELL if len(own) == 1 else BOUND if drawn is None else RESAMPLED,
    }


def drawn_of(values: pd.DataFrame) -> np.ndarray | None:
    """(resamples, K) replicates of K values; None where one has none."""
    each = list(values["drawn"]) if "drawn" in values else []
    return np.stack(each, axis=1) if each and all(isinstance(own, np.ndarray) for own in each) else None


def scaled(values: pd.DataFrame, drawn: np.ndarray) -> np.ndarray:
    """(resamples, K) replicates from chance (0) to the best possible value (1)."""
    chance, best = (values[name].to_numpy(dtype=float) for name in ("chance", "best"))
    return np.asarray(normalised(drawn, *np.broadcast_arrays(chance, best, drawn)[:2]))


def replicates(counted: pd.DataFrame, by: Sequence[str]) -> dict[Any, np.ndarray]:
    """Group ▶ (resamples, cells) normalised replicates; nothing of a group in which a cell has none."""
    groups = ((names, own, drawn_of(own)) for names, own in counted.groupby(list(by)))
    return {names: scaled(own, drawn) for names, own, drawn in groups if drawn is not None and len(drawn) > 1}


def available(values: pd.DataFrame, parts: Sequence[str] = ()) -> pd.DataFrame:
    """Rows with a value; of some parts, if any are named."""
    there = values[values["unavailable"].isna() & values["value"].notna()]
    return there[there["part"].isin(list(parts))] if parts else there


def entering(values: pd.DataFrame) -> int:
    """How many instances are behind rows of `cell_metric`: in each cell the groups that any part uses, counted once."""
    total = 0
    for _, cell in values.dropna(subset=["value"]).groupby(list(CELL)):
        sizes: dict[str, int] = {}
        for group_sizes in cell["group_sizes"].unique():
            for group, size in json.loads(group_sizes).items():
                sizes[group] = max(size, sizes.get(group, 0))
        groups = [size for group, size in sizes.items() if group == MEMORY or document_of(group) is not None]
        total += sum(groups) if groups else max(sizes.values())
    return total


PLACE = ["model", "dataset", "regime", "part"]


def counting(cells: pd.DataFrame, controls: Collection[str], by: Sequence[str] = ()) -> pd.DataFrame:
    """The rows that count, of available cells; of all explainers where there is no method. by: columns that make a group, in
    each of which half of its methods decide."""
    method = ~cells["explainer"].isin(list(controls))
    judges = cells[method] if method.any() else cells
    groups, places = (judges.groupby(["technique", *own])["explainer"] for own in (by, PLACE))
    usual = judges[places.transform("nunique") > groups.transform("nunique") / 2].groupby(["technique", *PLACE])["n"]
    own = cells.merge(usual.agg(lambda sizes: sizes.mode().max()).rename("usual").reset_index(), on=["technique", *PLACE])
    return own[own["n"] == own["usual"]].drop(columns="usual").reset_index(drop=True)


def controls_of(results: Reader) -> list[str]:
    named = results.catalogue("explainer")
    return list(named[named["control"].astype(bool)]["key"])


Wanted = tuple[tuple[str, ...], tuple[str, ...]]


def cells_and_means(
    results: Reader, chosen: Filter, metric: str, k: int, wanted: Sequence[Wanted]
) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """A metric's cells, those that are not available too, and for each (parts, by) the means over those that count: see
    `means_of`. by: any of model, dataset, regime and part. Raises HEvalError for an unknown metric.

    The questions are resampled once for all of them.
    """
    parts = tuple(dict.fromkeys(part for own, _ in wanted for part in own))
    values, controls = values_of(results, chosen, metric, k, parts), controls_of(results)
    return values.drop(columns="drawn"), [means_of(values, *own, controls) for own in wanted]


def values_of(results: Reader, chosen: Filter, metric: str, k: int, parts: Sequence[str]) -> pd.DataFrame:
    """A metric's cells, those that are not available too, with replicates of some parts' values as `drawn`, where any."""
    plugin = catalogue.find("metric", metric)
    if chosen.cuts_cells or metric not in catalogue.plugins("metric"):
        return live.cells_of(results, chosen, metric, k, drawn=True)
    found = results.cells(chosen, metric, k)
    drawn: dict[Any, np.ndarray] = {}
    if isinstance(plugin, SumOfMeans):
        drawn = _resampled(results, chosen, plugin, k, available(found, parts))
    return found.assign(drawn=pd.Series(drawn, dtype=object).reindex(found.index))


def means_of(values: pd.DataFrame, parts: Sequence[str], by: Sequence[str], controls: Collection[str]) -> pd.DataFrame:
    """The means of some parts over the cells that count: a row for each technique, `by` and explainer.

    whole: whether it has a number in all of these cells, so that it compares with the others.
    """
    there, keys = counting(available(values, parts), controls, by), ["technique", *by, "explainer"]
    names = {"regime": ordered_regimes(set(there["regime"])), "part": parts}
    order = {column: {name: place for place, name in enumerate(own)} for column, own in names.items()}
    found = means(there, keys)
    places = there.drop_duplicates(["technique", *PLACE]).groupby(keys[:-1]).size().rename("places")
    sizes = there.groupby(keys).size().rename("size").reset_index().merge(places.reset_index(), on=keys[:-1])
    found = found.merge(sizes.assign(whole=sizes["size"] == sizes["places"]).drop(columns=["size", "places"]), on=keys)
    return found.sort_values(
        keys, key=lambda own: own.map(order[str(own.name)]) if own.name in order else own, kind="stable", ignore_index=True
    )


def _resampled(results: Reader, chosen: Filter, metric: SumOfMeans, k: int, found: pd.DataFrame) -> dict[Any, np.ndarray]:
    """(resamples,) replicates of the values of published cells, by their places, from the stored values of their instances."""
    wanted: dict[Any, tuple[Mean, ...]] = {}
    for row in found.itertuples():
        if of_value := metric.means(str(row.part), 2 if read_key(str(row.regime)).dual else 1):
            wanted[row.Index] = of_value
    read = {mean for of_value in wanted.values() for mean in of_value}
    stored = results.values_by_question(chosen, sorted({own.metric for own in read}), sorted({own.part for own in read}), k)
    if all(mean.groups for mean in read):
        stored = stored[stored["group"].isin({group for mean in read for group in mean.groups})]
    limits: tuple[float, float] = getattr(metric, "limits", (-np.inf, np.inf))
    drawn: dict[Any, np.ndarray] = {}
    for dataset, own in stored.groupby("dataset"):
        sums = _sums(results, str(dataset), own)
        for row in found[found["dataset"] == dataset].itertuples():
            if row.Index in wanted:
                cell = RegimeKey(row.model, row.dataset, row.regime, row.technique), row.explainer
                each = [mean.factor * _drawn(sums, cell, mean) for mean in wanted[row.Index]]
                drawn[row.Index] = np.clip(np.sum(each, axis=0), *limits)
    return drawn


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


def _drawn(sums: Sums, cell: tuple[RegimeKey, str], mean: Mean) -> np.ndarray:
    of_groups = sums.get((*cell, mean.metric, mean.part), {})
    own = [both for group, both in of_groups.items() if not mean.groups or group in mean.groups]
    if not own:
        return np.full(1, np.nan)
    total, number = (np.sum(parts, axis=0) for parts in zip(*own, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / number)


def headline(values_of: Callable[[Measure, int], pd.DataFrame], controls: Collection[str]) -> pd.DataFrame:
    """Nothing of a question that no cell can answer. values_of: a measure and k ▶ its cells, see `means.means`."""
    found = []
    for question, measure in headlines().items():
        k = measure.at(DEFAULT_K)
        own = means_of(values_of(measure, k), measure.together, (), controls)
        found.append(own[own["whole"].astype(bool)].assign(question=question, metric=measure.metric, k=k))
    return pd.concat(found)[TABLES["headline"].names]
