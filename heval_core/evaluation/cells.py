"""Computes scores and metrics of cells, for publishing and for live filters. No SQL, no model."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core import catalogue
from heval_core.evaluation.scored import Regime, Scored
from heval_core.evaluation.value_cache import ValueCache
from heval_core.metrics._features import Labelled, LearnedMetric, labelled
from heval_core.metrics.shared.cell import KS, Cell
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.protocols import Metric
from heval_core.records import CellKey, RegimeKey
from heval_core.regime_keys import mirror
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Each, Questions, Value, defined, replicates
from heval_core.store.kinds import TABLES


def estimates(
    metrics: Sequence[Metric],
    cells: Iterable[tuple[str, Cell]],
    ks: Iterable[int],
    cache: ValueCache | None = None,
    visit: Callable[[str, Cell], None] = lambda explainer, cell: None,
) -> dict[str, dict[tuple[str, int], list[Value]]]:
    """Estimates by metric, and by (explainer, k), with k = 0 if the metric has none.

    cells: with their explainers, of one layout. Each is let go before the next is asked for, so that only one is in memory.
    cache: stored values of the metrics whose errors take long. visit: is called with every cell too.
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
            best = labelled(cell, most := max(ks))
            data += [(explainer, k, target.best(k, most)) for k in ks for target in best]
        del cell
    for metric in learned:
        targets = [target for _, _, target in data]
        computed = metric.of_all(targets) if cache is None else cache.of_all(metric, [k for _, k, _ in data], targets)
        for (explainer, k, _), of_target in zip(data, computed, strict=True):
            by_metric[metric.key].setdefault((explainer, k), []).extend(of_target)
    return by_metric


def ks_of(metric: Metric, ks: Iterable[int]) -> tuple[int, ...]:
    """The k of a metric's values."""
    return tuple(ks) if metric.uses_k else (0,)


# Of a metric, part and k.
Wanted = Callable[[str, str, int], bool]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """scores: rows of the table `score`. rows: for `cell_metric`, with (resamples,) replicates of values that are wanted.

    swap_inputs: what metrics need to compare cells with their mirrors, by metric, explainer and k.
    """

    scores: list[pa.Table]
    rows: list[dict[str, Any]]
    swap_inputs: dict[tuple[MirrorMetric, str, int], Each]


def evaluate(
    regime: Regime,
    cells: Iterable[tuple[str, Cell]],
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    cache: ValueCache | None = None,
    wanted: Wanted = lambda *value: True,
) -> Evaluated:
    """Every metric for explainers that share one layout; one matrix product gives all their replicates.

    wanted: which values' replicates are used, by metric, part and k. Those of all take 2 MB per explainer.
    """
    metrics = list(catalogue.plugins("metric").values() if metrics is None else metrics)
    ks = tuple(ks)
    scores: dict[str, list[pa.Table]] = {metric.key: [] for metric in metrics}
    swap_inputs: dict[tuple[MirrorMetric, str, int], Each] = {}
    mirrors: list[MirrorMetric] = [metric for metric in metrics if isinstance(metric, MirrorMetric)]

    def visit(explainer: str, cell: Cell) -> None:
        for metric in metrics:
            for k in ks_of(metric, ks):
                parts = metric.each(cell, k)
                scores[metric.key] += [_scores(regime, explainer, metric.key, k, values) for values in parts]
        for paired in mirrors:
            swap_inputs.update({(paired, explainer, k): inputs for k in ks if (inputs := paired.one_way(cell, k)) is not None})

    questions = Questions(regime.resamples, regime.facts)
    keyed = [
        ((explainer, key, k), questions.by_question(value, regime.facts))
        for key, by_explainer in estimates(metrics, cells, ks, cache, visit).items()
        for (explainer, k), values in by_explainer.items()
        for value in values
    ]
    rows = [metric_row(regime.key.cell(explainer), metric, k, value) for (explainer, metric, k), value in keyed]
    indices = [index for index, ((_, metric, k), value) in enumerate(keyed) if wanted(metric, value.part, k)]
    for index, drawn in zip(indices, replicates([keyed[index][1] for index in indices], questions.weights), strict=True):
        rows[index]["drawn"] = drawn
    return Evaluated(list(chain(*scores.values())), rows, swap_inputs)


def evaluate_all(
    whole: Regime,
    scored: Scored,
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    cache: ValueCache | None = None,
    wanted: Wanted = lambda *value: True,
) -> tuple[list[str], Evaluated]:
    """Every explainer of a regime, each on the instances for which it has scores.

    Returns the explainers with scores for all instances, and all metrics; `swap_inputs` only of these explainers. An explainer
    that failed on some instances is measured on the rest.
    """
    by_rows: dict[bytes, list[str]] = {}
    for explainer, rows in scored.attributions.rows.groupby("explainer"):
        chosen = pd.Index(whole.ids).isin(rows["instance_id"])
        by_rows.setdefault(chosen.tobytes(), []).append(str(explainer))
    everything, complete = Evaluated([], [], {}), []
    for mask, explainers in by_rows.items():
        regime = whole.rows(np.frombuffer(mask, dtype=bool))
        part = evaluate(regime, scored.cells(regime, explainers), metrics, ks, cache, wanted)
        everything.scores.extend(part.scores)
        everything.rows.extend(part.rows)
        if regime is whole:
            everything.swap_inputs.update(part.swap_inputs)
            complete = explainers
    return complete, everything


class Mirrored(NamedTuple):
    """What is left of a regime for comparing it with its mirror. facts: (N,). swap_inputs: see `Evaluated`."""

    key: RegimeKey
    facts: np.ndarray
    resamples: Resamples
    swap_inputs: dict[tuple[MirrorMetric, str, int], Each]


def swap_rows(regimes: Iterable[Mirrored]) -> list[dict[str, Any]]:
    """Metrics that compare a regime with its mirror, in which the documents are swapped: over questions asked in both orders,
    under the first regime's name."""
    by_key = {regime.key: regime for regime in regimes}
    pairs = ((regime, by_key.get(key._replace(regime=mirror(key.regime) or ""))) for key, regime in by_key.items())
    return [row for first, second in pairs if second is not None for row in _swap_rows(first, second)]


def _swap_rows(first: Mirrored, second: Mirrored) -> Iterator[dict[str, Any]]:
    _, shared, mirrored = np.intersect1d(first.facts, second.facts, return_indices=True)
    order = np.argsort(shared)
    shared, mirrored = shared[order], mirrored[order]
    questions = Questions(first.resamples, first.facts[shared])
    for (metric, explainer, k), inputs in first.swap_inputs.items() if len(shared) else ():
        swapped = second.swap_inputs.get((metric, explainer, k))
        if swapped is not None:
            value = questions.by_question(metric.both_ways(inputs.rows(shared), swapped.rows(mirrored)), first.facts[shared])
            yield metric_row(first.key.cell(explainer), metric.key, k, value)


# Without Pandas: one of its frames for each metric, part and explainer took a tenth of the time of publishing.
def _scores(regime: Regime, explainer: str, metric: str, k: int, values: Each) -> pa.Table:
    defined = np.isfinite(values.value)
    count = int(defined.sum())
    names = [pa.repeat(name, count) for name in (explainer, metric, values.part)]
    ids = pc.filter(regime.stored_ids, pa.array(defined))
    columns = [ids, *names, pa.repeat(k, count), pa.array(values.value[defined]), pa.array(values.chance[defined])]
    return pa.table(columns, names=TABLES["score"].names)


def metric_row(cell: CellKey, metric: str, k: int, estimate: Value) -> dict[str, Any]:
    """A row of `cell_metric`. k: 0 if the metric has none."""
    numbers = {name: defined(getattr(estimate, name)) for name in ("value", "chance", "best", "normalised", "p")}
    ends: dict[str, float | None] = dict.fromkeys(("low", "high", "above_low", "above_high"))
    if estimate.unavailable is None:
        around, above = estimate.intervals()
        ends = dict(zip(ends, map(defined, (*around, *above)), strict=True))
    return {
        **cell._asdict(),
        "metric": metric,
        "part": estimate.part,
        "k": k,
        **numbers,
        **ends,
        "n": sum(size for _, size in estimate.sizes),
        "group_sizes": json.dumps(dict(estimate.sizes)),
        "details": json.dumps(dict(estimate.details)),
        "unavailable": estimate.unavailable,
    }
