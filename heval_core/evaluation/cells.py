"""Computes scores and metrics of cells, for publishing and for live filters. No SQL, no model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core import metrics as declared
from heval_core.catalogue import Metric
from heval_core.evaluation.kept import Kept
from heval_core.evaluation.regime import Regime
from heval_core.evaluation.scored import Scored
from heval_core.groups import MEMORY, document_of
from heval_core.metrics._features import LearnedMetric, labelled
from heval_core.metrics.shared.cell import DEFAULT_K, KS, Cell
from heval_core.metrics.shared.estimate import Each, Estimate, replicates
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.records import CELL, CellKey
from heval_core.statistics.bootstrap import percentile_interval


def estimates(
    metric: Metric, cells: Mapping[str, Cell], ks: Iterable[int], kept: Kept | None = None
) -> dict[tuple[str, int], list[Estimate]]:
    """A metric's estimates by (explainer, k), with k = 0 if it has none. cells: by explainer, with the same layout.

    kept: stored values of the metrics whose errors take long. They have no runs, so they are no use for differences.
    """
    ks = tuple(ks) if metric.uses_k else (0,)
    if not isinstance(metric, LearnedMetric):
        return {(name, k): metric.over(cell, k) for name, cell in cells.items() for k in ks}
    data = [(name, k, target) for name, cell in cells.items() for k in ks for target in labelled(cell, k)]
    prepared = [target for _, _, target in data]
    computed = metric.of_all(prepared) if kept is None else kept.of_all(metric, [k for _, k, _ in data], prepared)
    by_explainer: dict[tuple[str, int], list[Estimate]] = {}
    for (name, k, _), of_target in zip(data, computed, strict=True):
        by_explainer.setdefault((name, k), []).extend(of_target)
    return by_explainer


class ValueKey(NamedTuple):
    """The key of one value of a metric in a cell. k: 0 if the metric has none."""

    cell: CellKey
    metric: str
    part: str
    k: int


@dataclass(frozen=True, eq=False)
class Evaluated:
    """frames: for the table `score`. rows: for `cell_metric`. replicates: (resamples,) of each value."""

    frames: list[pd.DataFrame]
    rows: list[dict[str, Any]]
    replicates: dict[ValueKey, np.ndarray]


def evaluate(
    regime: Regime,
    cells: Mapping[str, Cell],
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    kept: Kept | None = None,
) -> Evaluated:
    """Every metric for explainers that share one layout; one matrix product gives all their replicates."""
    metrics = list(catalogue.plugins("metric").values() if metrics is None else metrics)
    frames, keys, found = [], [], []
    for metric in metrics:
        for explainer, cell in cells.items():
            for k in ks if metric.uses_k else (0,):
                frames += [_score_frame(regime, explainer, metric.key, k, each) for each in metric.each(cell, k)]
        for (explainer, k), own in estimates(metric, cells, ks, kept).items():
            for estimate in own:
                keys.append(ValueKey(regime.key.cell(explainer), metric.key, estimate.part, k))
                found.append(estimate)
    spread = replicates(found, regime.weights)
    rows = [metric_row(regime, key, estimate) for key, estimate in zip(keys, found, strict=True)]
    return Evaluated(frames, rows, dict(zip(keys, spread, strict=True)))


def evaluate_all(
    whole: Regime,
    scored: Scored,
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    kept: Kept | None = None,
) -> tuple[dict[str, Cell], Evaluated]:
    """Every explainer of a regime, each on the instances for which it has scores.

    Returns the cells of explainers with scores for all instances, and all metrics. An explainer that failed on some instances
    is measured on the rest.
    """
    by_rows: dict[bytes, tuple[Regime, dict[str, Cell]]] = {}
    for explainer, own in scored.attributions.groupby("explainer"):
        chosen = np.isin(whole.ids, own["instance_id"].to_numpy(dtype=object))
        regime, cells = by_rows.setdefault(chosen.tobytes(), (whole.rows(chosen), {}))
        cells[str(explainer)] = scored.cell(regime, str(explainer), own)
    parts = [evaluate(regime, cells, metrics, ks, kept) for regime, cells in by_rows.values()]
    complete = next((cells for regime, cells in by_rows.values() if regime is whole), {})
    joined = Evaluated(
        [frame for part in parts for frame in part.frames],
        [row for part in parts for row in part.rows],
        {key: spread for part in parts for key, spread in part.replicates.items()},
    )
    return complete, joined


def swap_rows(
    one: tuple[Regime, Mapping[str, Cell]],
    two: tuple[Regime, Mapping[str, Cell]],
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
) -> list[dict[str, Any]]:
    """Metrics that compare a regime with its mirror, over questions asked in both orders, under the first regime's name."""
    metrics = catalogue.plugins("metric").values() if metrics is None else metrics
    (first, cells), (second, swapped) = one, two
    _, mine, theirs = np.intersect1d(first.questions, second.questions, return_indices=True)
    if not len(mine):
        return []
    chosen = np.zeros(len(first.questions), dtype=bool)
    chosen[mine] = True
    turned = np.argsort(mine)
    regime, theirs = first.rows(chosen), theirs[turned]
    rows = []
    for metric in (metric for metric in metrics if isinstance(metric, MirrorMetric)):
        for explainer in (key for key in cells if key in swapped):
            for k in ks:
                estimate = metric.both_ways(cells[explainer].rows(chosen), swapped[explainer].rows(theirs), k)
                key = ValueKey(regime.key.cell(explainer), metric.key, estimate.part, k)
                rows.append(metric_row(regime, key, estimate))
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


def _score_frame(regime: Regime, explainer: str, metric: str, k: int, each: Each) -> pd.DataFrame:
    defined = np.isfinite(each.value)
    return pd.DataFrame(
        {
            "instance_id": regime.ids[defined],
            "explainer": explainer,
            "metric": metric,
            "part": each.part,
            "k": k,
            "value": each.value[defined],
            "chance": each.chance[defined],
        }
    )


def metric_row(regime: Regime, key: ValueKey, estimate: Estimate) -> dict[str, Any]:
    """A row of `cell_metric`."""
    low, high, above_low, above_high = (None,) * 4
    if estimate.unavailable is None:
        questions = regime.numbers
        ends = (*estimate.interval(questions), *estimate.above_chance(questions))
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


def headline_rows(cells: pd.DataFrame, spread: Mapping[ValueKey, np.ndarray]) -> list[dict[str, Any]]:
    """Means over the cells of a technique, with intervals from replicates that resample the same questions in every cell.

    spread: each value's replicates.
    """
    rows = []
    for question, measure in declared.headlines().items():
        k = measure.at(DEFAULT_K)
        chosen = cells[(cells["metric"] == measure.metric) & cells["part"].isin(measure.together) & (cells["k"] == k)]
        for (technique, explainer), found in chosen[chosen["unavailable"].isna()].groupby(["technique", "explainer"]):
            mean = np.mean([spread[value_key(row)] for row in found.to_dict("records")], axis=0)
            low, high = percentile_interval(mean)
            rows.append(
                {
                    "question": question,
                    "technique": technique,
                    "explainer": explainer,
                    "metric": measure.metric,
                    "k": k,
                    "value": found["value"].astype(float).mean(),
                    "low": low,
                    "high": high,
                    "chance": found["chance"].astype(float).mean(),
                    "cells": len(found),
                    "n": int(found["n"].sum()),
                }
            )
    return rows
