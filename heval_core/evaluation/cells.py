"""Computes scores and metrics of cells, for publishing and for live filters. No SQL, no model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core import catalogue
from heval_core import metrics as declared
from heval_core.evaluation.kept import Kept
from heval_core.evaluation.regime import Regime, numbers_of
from heval_core.evaluation.scored import Scored
from heval_core.groups import MEMORY, document_of
from heval_core.metrics._features import Labelled, LearnedMetric, labelled, largest
from heval_core.metrics.shared.cell import DEFAULT_K, KS, Cell, Fixed, Layout
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.protocols import Metric
from heval_core.records import CELL, CellKey, RegimeKey
from heval_core.statistics.blocks import row_blocks
from heval_core.statistics.bootstrap import Interval
from heval_core.statistics.bounded import mean_interval
from heval_core.statistics.values import Each, Value, normalised, replicates


def estimates(
    metrics: Sequence[Metric],
    cells: Iterable[tuple[str, Cell]],
    ks: Iterable[int],
    kept: Kept | None = None,
    visit: Callable[[str, Cell], None] = lambda explainer, cell: None,
) -> dict[str, dict[tuple[str, int], list[Value]]]:
    """Estimates by metric, and by (explainer, k), with k = 0 if the metric has none.

    cells: with their explainers, of one layout. Each is let go before the next is asked for, so that only one is in memory.
    kept: stored values of the metrics whose errors take long. They have no runs, so they are no use for differences.
    visit: is called with every cell too.
    """
    ks = tuple(ks)
    by_metric: dict[str, dict[tuple[str, int], list[Value]]] = {metric.key: {} for metric in metrics}
    learned = [metric for metric in metrics if isinstance(metric, LearnedMetric)]
    data: list[tuple[str, int, Labelled]] = []
    for explainer, cell in cells:
        visit(explainer, cell)
        for metric in (metric for metric in metrics if not isinstance(metric, LearnedMetric)):
            for k in ks_of(metric, ks):
                by_metric[metric.key][explainer, k] = metric.over(cell, k)
        if learned:
            short = _of_best_scores(cell, max(ks))
            data += [(explainer, k, target) for k in ks for target in labelled(short, k)]
        del cell
    for metric in learned:
        targets = [target for _, _, target in data]
        computed = metric.of_all(targets) if kept is None else kept.of_all(metric, [k for _, k, _ in data], targets)
        for (explainer, k, _), of_target in zip(data, computed, strict=True):
            by_metric[metric.key].setdefault((explainer, k), []).extend(of_target)
    return by_metric


def ks_of(metric: Metric, ks: Iterable[int]) -> tuple[int, ...]:
    """The k of a metric's values."""
    return tuple(ks) if metric.uses_k else (0,)


def _of_best_scores(cell: Cell, count: int) -> Cell:
    """A cell of only the `count` highest scores of each document: learned metrics use no others."""
    layout = cell.layout
    segments = [document & layout.ranked for document in layout.documents]

    def best(scores: np.ndarray) -> np.ndarray:
        blocks = row_blocks(*scores.shape)
        return np.concatenate(
            [np.concatenate([largest(scores[rows], own[rows], count) for own in segments], axis=1) for rows in blocks]
        )

    there = [np.arange(count) < own.sum(axis=1, keepdims=True) for own in segments]
    documents = tuple(
        np.concatenate([own & (number == place) for place, own in enumerate(there)], axis=1) for number in range(len(there))
    )
    ranked = np.concatenate(there, axis=1)
    short = Layout(ranked, documents, (), (), layout.groups, np.zeros_like(ranked))
    fixed = cell.fixed and Fixed(best(cell.fixed.scores), cell.fixed.there)
    return Cell.of(short, best(cell.scores), priorities=cell.priorities, fixed=fixed)


class ValueKey(NamedTuple):
    """The key of one value of a metric in a cell. k: 0 if the metric has none."""

    cell: CellKey
    metric: str
    part: str
    k: int


@dataclass(frozen=True, eq=False)
class Evaluated:
    """scores: rows of the table `score`. rows: for `cell_metric`. replicates: (resamples,) of each value that is wanted.

    ways: what metrics need to compare cells with their mirrors, by metric, explainer and k.
    """

    scores: list[pa.Table]
    rows: list[dict[str, Any]]
    replicates: dict[ValueKey, np.ndarray]
    ways: dict[tuple[MirrorMetric, str, int], Each]


def evaluate(
    regime: Regime,
    cells: Iterable[tuple[str, Cell]],
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    kept: Kept | None = None,
    wanted: Callable[[ValueKey], bool] = lambda key: True,
) -> Evaluated:
    """Every metric for explainers that share one layout; one matrix product gives all their replicates.

    wanted: which values' replicates are used. Those of all take 2 MB per explainer.
    """
    metrics = list(catalogue.plugins("metric").values() if metrics is None else metrics)
    ks = tuple(ks)
    scores: dict[str, list[pa.Table]] = {metric.key: [] for metric in metrics}
    ways: dict[tuple[MirrorMetric, str, int], Each] = {}
    mirrors: list[MirrorMetric] = [metric for metric in metrics if isinstance(metric, MirrorMetric)]

    def visit(explainer: str, cell: Cell) -> None:
        for metric in metrics:
            for k in ks_of(metric, ks):
                each = metric.each(cell, k)
                scores[metric.key] += [_scores(regime, explainer, metric.key, k, own) for own in each]
        for mirror in mirrors:
            ways.update({(mirror, explainer, k): way for k in ks if (way := mirror.one_way(cell, k)) is not None})

    keys, found = [], []
    for key, by_explainer in estimates(metrics, cells, ks, kept, visit).items():
        for (explainer, k), own in by_explainer.items():
            keys += [ValueKey(regime.key.cell(explainer), key, estimate.part, k) for estimate in own]
            found += own
    rows = [metric_row(regime.numbers, key, estimate) for key, estimate in zip(keys, found, strict=True)]
    drawn = {key: estimate for key, estimate in zip(keys, found, strict=True) if wanted(key)}
    spread = dict(zip(drawn, replicates(list(drawn.values()), regime.weights), strict=True))
    return Evaluated(list(chain(*scores.values())), rows, spread, ways)


def evaluate_all(
    whole: Regime,
    scored: Scored,
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    kept: Kept | None = None,
    wanted: Callable[[ValueKey], bool] = lambda key: True,
) -> tuple[list[str], Evaluated]:
    """Every explainer of a regime, each on the instances for which it has scores.

    Returns the explainers with scores for all instances, and all metrics; `ways` only of these explainers. An explainer that
    failed on some instances is measured on the rest.
    """
    by_rows: dict[bytes, list[str]] = {}
    for explainer, own in scored.attributions.rows.groupby("explainer"):
        chosen = pd.Index(whole.ids).isin(own["instance_id"])
        by_rows.setdefault(chosen.tobytes(), []).append(str(explainer))
    everything, complete = Evaluated([], [], {}, {}), []
    for mask, explainers in by_rows.items():
        regime = whole.rows(np.frombuffer(mask, dtype=bool))
        part = evaluate(regime, scored.cells(regime, explainers), metrics, ks, kept, wanted)
        everything.scores.extend(part.scores)
        everything.rows.extend(part.rows)
        everything.replicates.update(part.replicates)
        if regime is whole:
            everything.ways.update(part.ways)
            complete = explainers
    return complete, everything


class Mirrored(NamedTuple):
    """What is left of a regime for comparing it with its mirror. questions: (N,). ways: see `Evaluated`."""

    key: RegimeKey
    questions: np.ndarray
    ways: dict[tuple[MirrorMetric, str, int], Each]


def swap_rows(one: Mirrored, two: Mirrored) -> list[dict[str, Any]]:
    """Metrics that compare a regime with its mirror, over questions asked in both orders, under the first regime's name."""
    _, mine, theirs = np.intersect1d(one.questions, two.questions, return_indices=True)
    if not len(mine):
        return []
    order = np.argsort(mine)
    mine, theirs = mine[order], theirs[order]
    numbers = numbers_of(one.questions[mine])
    rows = []
    for (metric, explainer, k), way in one.ways.items():
        other = two.ways.get((metric, explainer, k))
        if other is not None:
            estimate = metric.both_ways(way.rows(mine), other.rows(theirs))
            rows.append(metric_row(numbers, ValueKey(one.key.cell(explainer), metric.key, estimate.part, k), estimate))
    return rows


def entering(found: pd.DataFrame) -> int:
    """How many instances are behind rows of `cell_metric`: in each cell the groups that any part uses, counted once."""
    total = 0
    for _, cell in found.dropna(subset=["value"]).groupby(list(CELL)):
        sizes: dict[str, int] = {}
        for group_sizes in cell["group_sizes"].unique():
            for group, size in json.loads(group_sizes).items():
                sizes[group] = max(size, sizes.get(group, 0))
        groups = [size for group, size in sizes.items() if group == MEMORY or document_of(group) is not None]
        total += sum(groups) if groups else max(sizes.values())
    return total


# Without Pandas: one of its frames for each metric, part and explainer took a tenth of the time of publishing.
SCORE_COLUMNS = ("instance_id", "explainer", "metric", "part", "k", "value", "chance")


def _scores(regime: Regime, explainer: str, metric: str, k: int, each: Each) -> pa.Table:
    defined = np.isfinite(each.value)
    count = int(defined.sum())
    names = [pa.repeat(name, count) for name in (explainer, metric, each.part)]
    ids = pc.filter(regime.stored_ids, pa.array(defined))
    columns = [ids, *names, pa.repeat(k, count), pa.array(each.value[defined]), pa.array(each.chance[defined])]
    return pa.table(columns, names=SCORE_COLUMNS)


def metric_row(questions: np.ndarray | None, key: ValueKey, estimate: Value) -> dict[str, Any]:
    """A row of `cell_metric`. questions: (N,) the number of each instance's question, if some share one."""
    low, high, above_low, above_high = (None,) * 4
    if estimate.unavailable is None:
        around, above = estimate.intervals(questions)
        ends = (*around, *above)
        low, high, above_low, above_high = (_defined(end) for end in ends)
    return {
        **key.cell._asdict(),
        "metric": key.metric,
        "part": key.part,
        "k": key.k,
        "value": _defined(estimate.value),
        "low": low,
        "high": high,
        "chance": _defined(estimate.chance),
        "above_low": above_low,
        "above_high": above_high,
        "best": _defined(estimate.best),
        "normalised": _defined(estimate.normalised),
        "p": _defined(estimate.p),
        "n": sum(size for _, size in estimate.sizes),
        "group_sizes": json.dumps(dict(estimate.sizes)),
        "details": json.dumps(dict(estimate.details)),
        "unavailable": estimate.unavailable,
    }


def value_key(row: Mapping[str, Any]) -> ValueKey:
    """The key of a row of `cell_metric`."""
    return ValueKey(CellKey(*(row[name] for name in CellKey._fields)), row["metric"], row["part"], int(row["k"]))


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def mean_intervals(found: pd.DataFrame, drawn: np.ndarray | None) -> tuple[Interval, Interval]:
    """Of the mean of some rows of `cell_metric`, and of that of their normalised values. drawn: see `mean_interval`."""
    value, low, high, chance, best, scaled = (
        found[name].to_numpy(dtype=float) for name in ("value", "low", "high", "chance", "best", "normalised")
    )
    sides = np.stack([normalised(end, chance, best) for end in (low, high)])
    moved = None if drawn is None else normalised(drawn, *np.broadcast_arrays(chance, best, drawn)[:2])
    return mean_interval(value, low, high, drawn), mean_interval(scaled, sides.min(axis=0), sides.max(axis=0), moved)


def headline_rows(cells: pd.DataFrame, spread: Mapping[ValueKey, np.ndarray]) -> list[dict[str, Any]]:
    """Means over the cells of a technique, with intervals from replicates that resample the same questions in every cell.

    spread: each value's replicates.
    """
    rows = []
    for question, measure in declared.headlines().items():
        k = measure.at(DEFAULT_K)
        chosen = cells[(cells["metric"] == measure.metric) & cells["part"].isin(measure.together) & (cells["k"] == k)]
        for (technique, explainer), found in chosen[chosen["unavailable"].isna()].groupby(["technique", "explainer"]):
            drawn = np.stack([spread[value_key(row)] for row in found.to_dict("records")], axis=1)
            ends, scaled = mean_intervals(found, drawn)
            value, chance, normal = (found[name].to_numpy(dtype=float).mean() for name in ("value", "chance", "normalised"))
            rows.append(
                {
                    "question": question,
                    "technique": technique,
                    "explainer": explainer,
                    "metric": measure.metric,
                    "k": k,
                    "value": value,
                    **{name: _defined(end) for name, end in ends._asdict().items()},
                    "chance": chance,
                    "normalised": _defined(normal),
                    **{f"normalised_{name}": _defined(end) for name, end in scaled._asdict().items()},
                    "cells": len(found),
                    "n": int(found["n"].sum()),
                }
            )
    return rows
