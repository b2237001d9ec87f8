"""From one cell's rows to its scores and metrics, for publishing and for live filters. No SQL, no model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heval_core import catalogue, scores
from heval_core.metrics._cell import KS, Cell, Each, Estimate, Layout, Measured, replicates
from heval_core.metrics.position_bias import PLUGIN as POSITION_BIAS
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.statistics import Resamples, percentile_interval

MEASURED = ("comprehensiveness", "sufficiency")


@dataclass(frozen=True, eq=False)
class Regime:
    """N kept instances of one model, dataset and regime.

    ids, questions: (N,) str, the instances and what they ask. weights: (resamples, N), how often each question is drawn.
    """

    model: str
    dataset: str
    regime: str
    ids: np.ndarray
    questions: np.ndarray
    layout: Layout
    weights: np.ndarray

    def rows(self, chosen: np.ndarray) -> Regime:
        """The instances that (N,) bools choose."""
        if chosen.all():
            return self
        return Regime(
            self.model, self.dataset, self.regime, self.ids[chosen], self.questions[chosen], self.layout.rows(chosen),
            self.weights[:, chosen],
        )  # fmt: skip


def layout_of(instances: pd.DataFrame) -> Layout:
    """From the columns length (tokens of the prompt), first_ranked, document_starts, document_ends, answer_tokens,
    first_mention and group.

    Raises HEvalError, naming the instance, for answer tokens outside their prompt.
    """
    for row in instances.itertuples():
        places = [int(token) for tokens in row.answer_tokens for token in tokens]
        if places and not 0 <= min(places) <= max(places) < row.length:
            raise HEvalError(f"Instance {row.instance_id} has answer tokens outside its prompt of {row.length} tokens.")
    spans = [
        list(zip(starts, ends, strict=True))
        for starts, ends in zip(instances["document_starts"], instances["document_ends"], strict=True)
    ]
    return Layout.of(
        list(instances["length"]),
        list(instances["first_ranked"]),
        spans,
        list(instances["answer_tokens"]),
        list(instances["group"]),
        list(instances["first_mention"]),
    )


def regime_of(instances: pd.DataFrame, resamples: Resamples) -> Regime:
    """From rows of one model, dataset and regime, at least one."""
    first = instances.iloc[0]
    ids, questions = (instances[name].to_numpy(dtype=object) for name in ("instance_id", "fact_id"))
    weights = resamples.of(questions)
    return Regime(first["model"], first["dataset"], first["regime"], ids, questions, layout_of(instances), weights)


def padded(rows: Sequence[np.ndarray], width: int) -> np.ndarray:
    """(N, width) float64 from ragged rows."""
    out = np.zeros((len(rows), width))
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return out


def control_attributions(instances: pd.DataFrame) -> list[dict[str, Any]]:
    """The controls' scores: they need only what is stored of an instance."""
    rows = []
    for key, control in catalogue.explainers(control=True).items():
        settings = repr(control)
        for instance in instances.itertuples():
            values = control.scores(tuple(instance.tokens), instance.predicted_text, instance.instance_id)
            rows.append({"instance_id": instance.instance_id, "explainer": key, "scores": values, "settings": settings})
    return rows


def signed(explainer: str) -> bool:
    """Whether an explainer's scores have a sign; of one that is not there any more it is not known, and taken so."""
    try:
        found = catalogue.find("explainer", explainer)
    except HEvalError:
        return True
    return bool(found.signed) and not found.control


def cell_of(
    regime: Regime, explainer: str, values: Sequence[np.ndarray], measured: Mapping[str, Measured] | None = None
) -> Cell:
    """One explainer's cell. values: its raw scores of the regime's instances, in their order.

    Raises HEvalError, naming the instance, for scores that are not finite, or not one for each token.
    """
    lengths = regime.layout.ranked.shape[1]
    for instance_id, row in zip(regime.ids, values, strict=True):
        scores.check(row, f"Instance {instance_id}, explainer {explainer}")
        if len(row) > lengths:
            raise HEvalError(f"Instance {instance_id}, explainer {explainer}: {len(row)} scores for fewer tokens.")
    table = padded(values, lengths)
    if signed(explainer):
        norms = np.abs(table).sum(axis=1, keepdims=True)
        table = np.divide(table, norms, out=table, where=norms > 0)
    return Cell.of(regime.layout, table, measured)


def measured_of(regime: Regime, explainer: str, found: pd.DataFrame) -> dict[str, Measured]:
    """What the batch job measured of one explainer. found: rows of instance_id, explainer and the values of MEASURED.

    Chance is what the random control gets on the same instances; without it there is none.
    """
    own = found[found["explainer"] == explainer].set_index("instance_id")
    random = found[found["explainer"] == "random"].set_index("instance_id")
    if own.empty:
        return {}
    return {
        key: Measured(*(table[key].reindex(regime.ids).to_numpy(dtype=float) for table in (own, random)))
        for key in MEASURED
    }


def estimates(metric: Any, cells: Mapping[str, Cell], ks: Iterable[int]) -> dict[tuple[str, int], list[Estimate]]:
    """A metric's estimates by (explainer, k), k = 0 for one that has none. cells: of one layout, by explainer."""
    ks = tuple(ks) if metric.uses_k else (0,)
    if hasattr(metric, "over_all"):
        names = list(cells)
        found = metric.over_all(list(cells.values()), ks)
        return {(names[index], k): own for (index, k), own in found.items()}
    return {(name, k): metric.over(cell, k) for name, cell in cells.items() for k in ks}


@dataclass(frozen=True, eq=False)
class Evaluated:
    """frames: for the `score` table. rows: for `cell_metric`. replicates: by (explainer, metric, part, k)."""

    frames: list[pd.DataFrame]
    rows: list[dict[str, Any]]
    replicates: dict[tuple[str, str, str, int], np.ndarray]


def evaluate(
    regime: Regime, cells: Mapping[str, Cell], metrics: Iterable[Any] | None = None, ks: Iterable[int] = KS
) -> Evaluated:
    """Every metric of explainers that share one layout; intervals of all of them from one matrix product."""
    metrics = list(catalogue.plugins("metric").values() if metrics is None else metrics)
    frames, places, found = [], [], []
    for metric in metrics:
        for explainer, cell in cells.items():
            for k in ks if metric.uses_k else (0,):
                frames += [_score_frame(regime, explainer, metric.key, k, each) for each in metric.each(cell, k)]
        for (explainer, k), own in estimates(metric, cells, ks).items():
            for estimate in own:
                places.append((explainer, metric.key, estimate.part, k))
                found.append(estimate)
    spread = replicates(found, regime.weights)
    by_chance = _chance_replicates(found, regime.weights)
    rows = [
        metric_row(regime, explainer, metric, k, estimate, own, by_chance.get(place))
        for place, ((explainer, metric, _, k), estimate, own) in enumerate(zip(places, found, spread, strict=True))
    ]
    return Evaluated(frames, rows, dict(zip(places, spread, strict=True)))


def _chance_replicates(found: Sequence[Estimate], weights: np.ndarray) -> dict[int, np.ndarray]:
    """Of the estimates whose chance was measured: place in the list ▶ (resamples,) chance under the same weights."""
    measured = [place for place, estimate in enumerate(found) if estimate.chance_columns]
    drawn = replicates([found[place]._replace(columns=found[place].chance_columns) for place in measured], weights)
    return dict(zip(measured, drawn, strict=True))


def evaluate_all(
    whole: Regime,
    attributions: pd.DataFrame,
    faithful: pd.DataFrame,
    metrics: Iterable[Any] | None = None,
    ks: Iterable[int] = KS,
) -> tuple[dict[str, Cell], Evaluated]:
    """Every explainer of a regime, each on the instances that it has scores of.

    attributions: rows of instance_id, explainer and scores, in the order of the regime's instances. Returns the cells of
    explainers that have scores of all instances, and all metrics: explainers that failed somewhere are measured on the others.
    """
    by_rows: dict[bytes, tuple[Regime, dict[str, Cell]]] = {}
    for explainer, own in attributions.groupby("explainer"):
        chosen = np.isin(whole.ids, own["instance_id"].to_numpy(dtype=object))
        regime, cells = by_rows.setdefault(chosen.tobytes(), (whole.rows(chosen), {}))
        measured = measured_of(regime, str(explainer), faithful)
        cells[str(explainer)] = cell_of(regime, str(explainer), list(own["scores"]), measured)
    parts = [evaluate(regime, cells, metrics, ks) for regime, cells in by_rows.values()]
    complete = next((cells for regime, cells in by_rows.values() if regime is whole), {})
    joined = Evaluated(
        [frame for part in parts for frame in part.frames],
        [row for part in parts for row in part.rows],
        {place: spread for part in parts for place, spread in part.replicates.items()},
    )
    return complete, joined


def common(
    whole: Regime, attributions: pd.DataFrame, faithful: pd.DataFrame, explainers: Iterable[str]
) -> tuple[Regime, dict[str, Cell]]:
    """The instances that all of these explainers have scores of, and their cells; explainers without any are left out."""
    own = attributions[attributions["explainer"].isin(list(explainers))]
    counts = own.groupby("instance_id").size()
    everybody = counts[counts == own["explainer"].nunique()].index.to_numpy(dtype=object)
    regime = whole.rows(np.isin(whole.ids, everybody))
    own = own[own["instance_id"].isin(everybody)]
    return regime, {
        str(key): cell_of(regime, str(key), list(rows["scores"]), measured_of(regime, str(key), faithful))
        for key, rows in own.groupby("explainer")
    }


def swap_rows(
    one: tuple[Regime, Mapping[str, Cell]], two: tuple[Regime, Mapping[str, Cell]], ks: Iterable[int] = KS
) -> list[dict[str, Any]]:
    """Position bias over questions that were asked both ways round, under the first regime's name."""
    (first, cells), (second, swapped) = one, two
    _, mine, theirs = np.intersect1d(first.questions, second.questions, return_indices=True)
    if not len(mine):
        return []
    chosen = np.zeros(len(first.questions), dtype=bool)
    chosen[mine] = True
    turned = np.argsort(mine)
    regime, theirs = first.rows(chosen), theirs[turned]
    places, found = [], []
    for explainer in (key for key in cells if key in swapped):
        for k in ks:
            places.append((explainer, k))
            found.append(POSITION_BIAS.both_ways(cells[explainer].rows(chosen), swapped[explainer].rows(theirs), k))
    spread = replicates(found, regime.weights)
    return [
        metric_row(regime, explainer, POSITION_BIAS.key, k, estimate, own)
        for (explainer, k), estimate, own in zip(places, found, spread, strict=True)
    ]


def entering(found: pd.DataFrame) -> int:
    """How many instances rows of `cell_metric` are of: of each cell the groups that any of its parts looks at, each once."""
    total = 0
    for _, own in found.dropna(subset=["value"]).groupby(["model", "dataset", "regime"]):
        sizes: dict[str, int] = {}
        for told in own["group_sizes"].unique():
            for group, size in json.loads(told).items():
                sizes[group] = max(size, sizes.get(group, 0))
        groups = [size for group, size in sizes.items() if group in ("C", "M", "C1", "C2")]
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


def metric_row(
    regime: Regime,
    explainer: str,
    metric: str,
    k: int,
    estimate: Estimate,
    spread: np.ndarray,
    by_chance: np.ndarray | None = None,
) -> dict[str, Any]:
    """A row of `cell_metric`. spread: the value's bootstrap replicates; by_chance: of its chance, where that was measured."""
    low, high = percentile_interval(spread) if len(spread) else (None, None)
    above: tuple[float | None, float | None] = (None, None)
    if low is not None and high is not None:
        above = (low - estimate.chance, high - estimate.chance)
        if by_chance is not None:
            above = percentile_interval(spread - by_chance)
    return {
        "model": regime.model,
        "dataset": regime.dataset,
        "regime": regime.regime,
        "technique": TECHNIQUE,
        "explainer": explainer,
        "metric": metric,
        "part": estimate.part,
        "k": k,
        "value": _defined(estimate.value),
        "low": low,
        "high": high,
        "chance": _defined(estimate.chance),
        "above_low": above[0],
        "above_high": above[1],
        "best": _defined(estimate.best),
        "normalised": _defined(estimate.normalised),
        "p": _defined(estimate.p),
        "n": sum(size for _, size in estimate.sizes),
        "group_sizes": json.dumps(dict(estimate.sizes)),
        "details": json.dumps(dict(estimate.details)),
        "unavailable": estimate.unavailable,
    }


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


# What the Overview puts first, one line a question: metric, part by number of documents, k.
HEADLINES = {
    "RQ1": ("group_rank_margin", ("c",), 5),
    "RQ2": ("instance_rank_margin", ("balanced",), 5),
    "RQ3": ("mrr", ("C", "pooled"), 0),
}


def headline_rows(cells: pd.DataFrame, spread: dict[tuple[Any, ...], np.ndarray]) -> list[dict[str, Any]]:
    """Means over cells with intervals from replicates that resampled the same questions in every cell.

    spread: replicates by (model, dataset, regime, explainer, metric, part, k).
    """
    rows = []
    for question, (metric, parts, k) in HEADLINES.items():
        chosen = cells[(cells["metric"] == metric) & cells["part"].isin(parts) & (cells["k"] == k)]
        for explainer, found in chosen[chosen["unavailable"].isna()].groupby("explainer"):
            mean = np.mean(
                [spread[r.model, r.dataset, r.regime, explainer, metric, r.part, k] for r in found.itertuples()],
                axis=0,
            )
            low, high = percentile_interval(mean)
            rows.append(
                {
                    "question": question,
                    "explainer": explainer,
                    "metric": metric,
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
