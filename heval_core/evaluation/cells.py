"""Scores and metrics of cells, for publishing, and live, from the stored scores of the instances that a filter leaves.

No model is needed. Without a filter, live values are the published ones: the same instances, functions and resamples.
Cost: a cell of 2,000 instances and 7 explainers takes about .3 s for ranks, margins and MRR, and a second for the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from heval_core.evaluation.scored import Measurements, Regime, ScoredRegime, measured_metrics, regime_of
from heval_core.evaluation.value_cache import ValueCache
from heval_core.metrics._features import Labelled, LearnedMetric, labelled
from heval_core.metrics.shared.cell import KS, Cell
from heval_core.metrics.shared.measure import MirrorMetric
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Metric
from heval_core.records import CELL, CellKey, RegimeKey
from heval_core.records.regime_keys import mirror
from heval_core.statistics.bootstrap import UNKNOWN, Interval, Resamples
from heval_core.statistics.values import Each, Resampled, Value, defined, replicates
from heval_core.store.filters import Filter
from heval_core.store.kinds import TABLES
from heval_core.store.reader import Reader

COLUMNS = TABLES["cell_metric"].names


@dataclass(frozen=True, eq=False)
class CellValue:
    """A number of a metric in a cell, from the metric to the table. k: 0 if the metric has none.

    value: without what its intervals are made of, with replicates where these are wanted. around, above: its 95 % interval,
    and that of value minus chance; NaN if it is not available.
    """

    cell: CellKey
    metric: str
    k: int
    value: Value
    around: Interval
    above: Interval

    @classmethod
    def of(cls, cell: CellKey, metric: str, k: int, value: Value) -> CellValue:
        """Measure how sure a value is, and let go of what that is measured from."""
        ends = value.intervals() if value.unavailable is None else (UNKNOWN, UNKNOWN)
        return cls(cell, metric, k, value._replace(columns=(), chance_columns=(), combine=None, error=None, drawn=None), *ends)

    @property
    def name(self) -> tuple[str, str, int]:
        """Which number it is, whatever the cell: metric, part and k."""
        return self.metric, self.value.part, self.k

    def row(self) -> dict[str, Any]:
        """Return the row of `cell_metric`."""
        numbers = {name: defined(getattr(self.value, name)) for name in ("value", "chance", "best", "normalised", "p")}
        ends = zip(("low", "high", "above_low", "above_high"), map(defined, (*self.around, *self.above)), strict=True)
        return {
            **self.cell._asdict(),
            **dict(zip(("metric", "part", "k"), self.name, strict=True)),
            **numbers,
            **dict(ends),
            "n": self.value.n,
            "group_sizes": json.dumps(dict(self.value.sizes)),
            "details": json.dumps(dict(self.value.details)),
            "unavailable": self.value.unavailable,
        }


def frame_of(values: Sequence[CellValue]) -> pd.DataFrame:
    """Return rows of `cell_metric`, with the replicates as the column `drawn`."""
    frame = pd.DataFrame([cell_value.row() for cell_value in values], columns=COLUMNS)
    return frame.assign(drawn=pd.Series([cell_value.value.drawn for cell_value in values], dtype=object))


def estimates(
    metrics: Sequence[Metric],
    cells: Iterable[tuple[str, Cell]],
    ks: Iterable[int],
    cache: ValueCache | None = None,
    visit: Callable[[str, Cell], None] = lambda explainer, cell: None,
) -> dict[str, dict[tuple[str, int], list[Value]]]:
    """Compute estimates by metric, and by (explainer, k), with k = 0 if the metric has none.

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
            best = labelled(cell, max(ks))
            data += [(explainer, k, target.best(k, max(ks))) for k in ks for target in best]
        del cell
    for metric in learned:
        targets = [target for _, _, target in data]
        computed = metric.of_all(targets) if cache is None else cache.of_all(metric, [k for _, k, _ in data], targets)
        for (explainer, k, _), of_target in zip(data, computed, strict=True):
            by_metric[metric.key].setdefault((explainer, k), []).extend(of_target)
    return by_metric


def ks_of(metric: Metric, ks: Iterable[int]) -> tuple[int, ...]:
    """Return the k of a metric's values."""
    return tuple(ks) if metric.uses_k else (0,)


# Of a metric that compares cells with their mirrors, an explainer and k: what it needs of one of them.
SwapInputs = dict[tuple[MirrorMetric, str, int], Each]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """scores: rows of the table `score`, by metric. values: with the replicates of those that are wanted."""

    scores: dict[str, list[pa.Table]]
    values: list[CellValue]
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
    """Compute every metric for explainers that share one layout; one matrix product gives all their replicates.

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

    questions = Resampled(regime.resamples, regime.facts)
    values: list[CellValue] = []
    resampled: dict[int, Value] = {}
    for key, by_explainer in estimates(metrics, cells, ks, cache, visit).items():
        for (explainer, k), of_explainer in by_explainer.items():
            for value in (questions.by_question(value, regime.facts) for value in of_explainer):
                if wanted is None or (key, value.part, k) in wanted:
                    resampled[len(values)] = value
                values.append(CellValue.of(regime.key.cell(explainer), key, k, value))
    for index, value_replicates in zip(resampled, replicates([*resampled.values()], questions.weights), strict=True):
        values[index] = replace(values[index], value=values[index].value._replace(drawn=value_replicates))
    return Evaluated(scores, values, swap_inputs)


def evaluate_all(whole: Regime, scored: ScoredRegime, **how: Any) -> tuple[Evaluated, Mirrored]:
    """Evaluate every explainer of a regime, each on the instances for which it has scores.

    One that failed on some is measured on the rest. Only those that have scores for all are compared with their mirrors.
    how: see `evaluate`.
    """
    by_rows: dict[bytes, list[str]] = {}
    for explainer, rows in scored.attributions.rows.groupby("explainer"):
        chosen = pd.Index(whole.ids).isin(rows["instance_id"])
        by_rows.setdefault(chosen.tobytes(), []).append(str(explainer))
    everything = Evaluated({}, [], {})
    for mask, explainers in by_rows.items():
        regime = whole.rows(np.frombuffer(mask, dtype=bool))
        part = evaluate(regime, scored.cells(regime, explainers), **how)
        for metric, tables in part.scores.items():
            everything.scores.setdefault(metric, []).extend(tables)
        everything.values.extend(part.values)
        if regime is whole:
            everything.swap_inputs.update(part.swap_inputs)
    return everything, Mirrored(whole.key, whole.facts, whole.resamples, everything.swap_inputs)


def cells_of(reader: Reader, chosen: Filter, metric: str, k: int, with_replicates: bool = False) -> pd.DataFrame:
    """Compute rows like those of `cell_metric` now. Raises HEvalError for an unknown metric.

    with_replicates: with the (resamples,) replicates of the values as `drawn`; values of mirrored prompts have none.
    """
    plugin = catalogue.find("metric", metric)
    values: list[CellValue] = []
    mirrored: list[Mirrored] = []
    for (_, dataset, *_), instances in reader.measured_instances(chosen).groupby(list(CELL), sort=False):
        ids = list(instances["instance_id"])
        regime = regime_of(instances, reader.resamples(str(dataset)), reader.sources_of(ids))
        measured = Measurements.of(reader.measured_of(ids, list(measured_metrics())))
        scored = ScoredRegime(reader.scores_of(ids), measured, reader.scores_of(ids, towards_context=True))
        evaluated, mirror = evaluate_all(regime, scored, metrics=[plugin], ks=(k,), wanted=None if with_replicates else ())
        values += evaluated.values
        mirrored.append(mirror)
    frame = frame_of([*values, *swap_values(mirrored)]).sort_values([*CELL, "part"], kind="stable", ignore_index=True)
    return frame if with_replicates else frame.drop(columns="drawn")


def swap_values(regimes: Iterable[Mirrored]) -> Iterator[CellValue]:
    """Yield the values of metrics that compare a regime with its mirror, in which the documents are swapped.

    They are over questions asked in both orders, under the first regime's name.
    """
    by_key = {regime.key: regime for regime in regimes}
    for key, first in by_key.items():
        if (second := by_key.get(key._replace(regime=mirror(key.regime) or ""))) is None:
            continue
        _, shared, mirrored = np.intersect1d(first.facts, second.facts, return_indices=True)
        order = np.argsort(shared)
        shared, mirrored = shared[order], mirrored[order]
        facts = first.facts[shared]
        questions = Resampled(first.resamples, facts)
        for names, inputs in first.swap_inputs.items() if len(shared) else ():
            if (swapped := second.swap_inputs.get(names)) is not None:
                metric, explainer, k = names
                value = questions.by_question(metric.both_ways(inputs.rows(shared), swapped.rows(mirrored)), facts)
                yield CellValue.of(key.cell(explainer), metric.key, k, value)


# Without Pandas: one of its frames for each metric, part and explainer took a tenth of the time of publishing.
def _scores(regime: Regime, explainer: str, metric: str, k: int, values: Each) -> pa.Table:
    defined = np.isfinite(values.value)
    count = int(defined.sum())
    names = [pa.repeat(name, count) for name in (explainer, metric, values.part)]
    ids = pc.filter(regime.stored_ids, pa.array(defined))
    columns = [ids, *names, pa.repeat(k, count), pa.array(values.value[defined]), pa.array(values.chance[defined])]
    return pa.table(columns, names=TABLES["score"].names)
