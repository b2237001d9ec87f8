"""Scores and metrics of cells, for publishing, and live, from the stored scores of the instances that a filter leaves.

No model is needed. Without a filter, live values are the published ones: the same instances, functions and resamples.
Cost: a cell of 2,000 instances and 7 explainers takes about .3 s for ranks, margins and MRR, and a second for the others.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core.evaluation.scored import Measurements, Regime, Scored, measured_metrics, regime_of
from heval_core.evaluation.value_cache import ValueCache
from heval_core.metrics._features import Labelled, LearnedMetric, labelled
from heval_core.metrics.shared.cell import KS, Cell
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Metric
from heval_core.records import CELL, CellKey, RegimeKey
from heval_core.records.regime_keys import mirror
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Each, Questions, Value, defined, replicates
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from heval_core.store.reader import Reader

COLUMNS = TABLES["cell_metric"].names


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


# Of a metric that compares cells with their mirrors, an explainer and k: what it needs of one of them.
SwapInputs = dict[tuple[MirrorMetric, str, int], Each]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """scores: rows of the table `score`. rows: for `cell_metric`, with (resamples,) replicates of values that are wanted."""

    scores: list[pa.Table]
    rows: list[dict[str, Any]]
    swap_inputs: SwapInputs


class Mirrored(NamedTuple):
    """What is left of a regime for comparing it with its mirror. facts: (N,)."""

    key: RegimeKey
    facts: np.ndarray
    resamples: Resamples
    swap_inputs: SwapInputs


def evaluate(
    regime: Regime,
    cells: Iterable[tuple[str, Cell]],
    metrics: Iterable[Metric] | None = None,
    ks: Iterable[int] = KS,
    cache: ValueCache | None = None,
    wanted: Collection[tuple[str, str, int]] | None = None,
) -> Evaluated:
    """Every metric for explainers that share one layout; one matrix product gives all their replicates.

    wanted: which values' replicates are used, by metric, part and k; by default all, which take 2 MB per explainer.
    """
    metrics = list(catalogue.plugins("metric").values() if metrics is None else metrics)
    ks = tuple(ks)
    scores: dict[str, list[pa.Table]] = {metric.key: [] for metric in metrics}
    swap_inputs: SwapInputs = {}
    mirrors: list[MirrorMetric] = [metric for metric in metrics if isinstance(metric, MirrorMetric)]

    def visit(explainer: str, cell: Cell) -> None:
        for metric in metrics:
            for k in ks_of(metric, ks):
                parts = metric.each(cell, k)
                scores[metric.key] += [_scores(regime, explainer, metric.key, k, values) for values in parts]
        for paired in mirrors:
            swap_inputs.update({(paired, explainer, k): inputs for k in ks if (inputs := paired.one_way(cell, k)) is not None})

    questions = Questions(regime.resamples, regime.facts)
    rows: list[dict[str, Any]] = []
    chosen: list[tuple[dict[str, Any], Value]] = []
    for key, by_explainer in estimates(metrics, cells, ks, cache, visit).items():
        for (explainer, k), of_explainer in by_explainer.items():
            for value in (questions.by_question(value, regime.facts) for value in of_explainer):
                rows.append(metric_row(regime.key.cell(explainer), key, k, value))
                if wanted is None or (key, value.part, k) in wanted:
                    chosen.append((rows[-1], value))
    for (row, _), drawn in zip(chosen, replicates([value for _, value in chosen], questions.weights), strict=True):
        row["drawn"] = drawn
    return Evaluated(list(chain(*scores.values())), rows, swap_inputs)


def evaluate_all(whole: Regime, scored: Scored, **how: Any) -> tuple[Evaluated, Mirrored]:
    """Every explainer of a regime, each on the instances for which it has scores: one that failed on some is measured on the
    rest. Only those that have scores for all are compared with their mirrors. how: see `evaluate`.
    """
    by_rows: dict[bytes, list[str]] = {}
    for explainer, rows in scored.attributions.rows.groupby("explainer"):
        chosen = pd.Index(whole.ids).isin(rows["instance_id"])
        by_rows.setdefault(chosen.tobytes(), []).append(str(explainer))
    everything = Evaluated([], [], {})
    for mask, explainers in by_rows.items():
        regime = whole.rows(np.frombuffer(mask, dtype=bool))
        part = evaluate(regime, scored.cells(regime, explainers), **how)
        everything.scores.extend(part.scores)
        everything.rows.extend(part.rows)
        if regime is whole:
            everything.swap_inputs.update(part.swap_inputs)
    return everything, Mirrored(whole.key, whole.facts, whole.resamples, everything.swap_inputs)


def cells_of(reader: Reader, chosen: Filter, metric: str, k: int, drawn: bool = False) -> pd.DataFrame:
    """Rows like those of `cell_metric`, computed now. Raises HEvalError for an unknown metric.

    drawn: with the (resamples,) replicates of the values; there are none of values that are made of mirrored prompts.
    """
    plugin = catalogue.find("metric", metric)
    rows: list[dict[str, Any]] = []
    mirrored: list[Mirrored] = []
    for (_, dataset, *_), instances in reader.measured_instances(chosen).groupby(list(CELL), sort=False):
        ids, regime = list(instances["instance_id"]), regime_of(instances, reader.resamples(str(dataset)))
        measured = Measurements.of(reader.measured_of(ids, list(measured_metrics())))
        scored = Scored(reader.scores_of(ids), measured, reader.scores_of(ids, towards_context=True))
        evaluated, mirror = evaluate_all(regime, scored, metrics=[plugin], ks=(k,), wanted=None if drawn else ())
        rows += evaluated.rows
        mirrored.append(mirror)
    values = pd.DataFrame([*rows, *swap_rows(mirrored)], columns=[*COLUMNS, *(["drawn"] if drawn else [])])
    return values.sort_values([*CELL, "part"], kind="stable", ignore_index=True)


def swap_rows(regimes: Iterable[Mirrored]) -> Iterator[dict[str, Any]]:
    """Metrics that compare a regime with its mirror, in which the documents are swapped: over questions asked in both orders,
    under the first regime's name."""
    by_key = {regime.key: regime for regime in regimes}
    for key, first in by_key.items():
        if (second := by_key.get(key._replace(regime=mirror(key.regime) or ""))) is None:
            continue
        _, shared, mirrored = np.intersect1d(first.facts, second.facts, return_indices=True)
        order = np.argsort(shared)
        shared, mirrored = shared[order], mirrored[order]
        facts = first.facts[shared]
        questions = Questions(first.resamples, facts)
        for own, inputs in first.swap_inputs.items() if len(shared) else ():
            if (swapped := second.swap_inputs.get(own)) is not None:
                metric, explainer, k = own
                value = questions.by_question(metric.both_ways(inputs.rows(shared), swapped.rows(mirrored)), facts)
                yield metric_row(key.cell(explainer), metric.key, k, value)


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
        "n": estimate.n,
        "group_sizes": json.dumps(dict(estimate.sizes)),
        "details": json.dumps(dict(estimate.details)),
        "unavailable": estimate.unavailable,
    }
