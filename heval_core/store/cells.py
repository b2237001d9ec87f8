"""From one cell's rows to its scores and metrics, for publishing. No SQL, no model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heval_core import catalogue, scores
from heval_core.metrics._cell import KS, SMALLEST_GROUP, Cell, Each, Estimate, Layout, mean_estimate
from heval_core.records import TECHNIQUE
from heval_core.statistics import percentile_interval


@dataclass(frozen=True, eq=False)
class Regime:
    """The layout of N kept instances of one model, dataset and regime.

    weights: (resamples, N), how often each instance's question is drawn.
    """

    model: str
    dataset: str
    regime: str
    layout: Layout
    weights: np.ndarray


def layout_of(instances: pd.DataFrame) -> Layout:
    spans = [
        list(zip(starts, ends, strict=True))
        for starts, ends in zip(instances["document_starts"], instances["document_ends"], strict=True)
    ]
    return Layout.of(
        [len(tokens) for tokens in instances["tokens"]],
        list(instances["first_ranked"]),
        spans,
        list(instances["answer_tokens"]),
        list(instances["group"]),
    )


def regime_of(instances: pd.DataFrame, weights: np.ndarray) -> Regime:
    """From rows of one model, dataset and regime, at least one."""
    first = instances.iloc[0]
    return Regime(first["model"], first["dataset"], first["regime"], layout_of(instances), weights)


def padded(rows: list[np.ndarray], width: int) -> np.ndarray:
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


def evaluate(
    regime: Regime, explainer: str, ids: list[str], values: list[np.ndarray]
) -> tuple[list[pd.DataFrame], list[dict[str, Any]], dict[tuple[str, str, int], np.ndarray]]:
    """Every metric of one explainer over one regime.

    Returns frames for the `score` table, rows for `cell_metric`, and the bootstrap replicates by (metric, part, k).
    """
    for instance_id, row in zip(ids, values, strict=True):
        scores.check(row, f"Instance {instance_id}, explainer {explainer}")
    layout = regime.layout
    cell = Cell.of(layout, padded(values, layout.ranked.shape[1]))
    frames, rows, replicates = [], [], {}
    for metric in catalogue.plugins("metric").values():
        for k in KS if metric.uses_k else (0,):
            frames += [_score_frame(ids, explainer, metric.key, k, each) for each in metric.each(cell, k)]
            for estimate in metric.over(cell, k):
                spread = np.array([]) if estimate.unavailable else estimate.of_weights(regime.weights)
                replicates[metric.key, estimate.part, k] = spread
                rows.append(_metric_row(regime, explainer, metric.key, k, estimate, spread))
    return frames, rows, replicates


def evaluate_faithfulness(
    regime: Regime, ids: list[str], found: pd.DataFrame
) -> tuple[list[pd.DataFrame], list[dict[str, Any]]]:
    """Comprehensiveness and sufficiency of every explainer over one regime, as measured by the batch job.

    ids: the regime's instances. found: rows of instance_id, explainer and the two values. Chance is what the random
    control gets on the same instances; without it there is none. Returns frames for `score`, rows for `cell_metric`.
    """
    frames, rows = [], []
    for metric in FAITHFULNESS:
        values = found.pivot(index="instance_id", columns="explainer", values=metric).reindex(ids)
        random = values["random"].to_numpy() if "random" in values else np.full(len(ids), np.nan)
        for explainer in values.columns:
            own = values[explainer].to_numpy()
            each = Each("all", own, np.where(np.isfinite(own), random, np.nan))
            estimate = mean_estimate(each, SMALLEST_GROUP)
            spread = np.array([]) if estimate.unavailable else estimate.of_weights(regime.weights)
            frames.append(_score_frame(ids, str(explainer), metric, 0, each))
            rows.append(_metric_row(regime, str(explainer), metric, 0, estimate, spread))
    return frames, rows


FAITHFULNESS = ("comprehensiveness", "sufficiency")


def _score_frame(ids: list[str], explainer: str, metric: str, k: int, each: Any) -> pd.DataFrame:
    defined = np.isfinite(each.value)
    return pd.DataFrame(
        {
            "instance_id": np.asarray(ids, dtype=object)[defined],
            "explainer": explainer,
            "metric": metric,
            "part": each.part,
            "k": k,
            "value": each.value[defined],
            "chance": each.chance[defined],
        }
    )


def _metric_row(
    regime: Regime, explainer: str, metric: str, k: int, estimate: Estimate, spread: np.ndarray
) -> dict[str, Any]:
    low, high = percentile_interval(spread) if len(spread) else (None, None)
    missing = estimate.unavailable is not None
    return {
        "model": regime.model,
        "dataset": regime.dataset,
        "regime": regime.regime,
        "technique": TECHNIQUE,
        "explainer": explainer,
        "metric": metric,
        "part": estimate.part,
        "k": k,
        "value": None if missing else estimate.value,
        "low": low,
        "high": high,
        "chance": None if missing else estimate.chance,
        "n": sum(size for _, size in estimate.sizes),
        "group_sizes": json.dumps(dict(estimate.sizes)),
        "unavailable": estimate.unavailable,
    }


# What the Overview puts first, one line a question: metric, part by number of documents, k.
HEADLINES = {
    "RQ1": ("group_rank_margin", ("c",), 5),
    "RQ2": ("instance_rank_margin", ("pooled",), 5),
    "RQ3": ("mrr", ("C", "pooled"), 0),
}


def headline_rows(cells: pd.DataFrame, replicates: dict[tuple[Any, ...], np.ndarray]) -> list[dict[str, Any]]:
    """Means over cells with intervals from replicates that resampled the same questions in every cell.

    replicates: by (model, dataset, regime, explainer, metric, part, k).
    """
    rows = []
    for question, (metric, parts, k) in HEADLINES.items():
        chosen = cells[(cells["metric"] == metric) & cells["part"].isin(parts) & (cells["k"] == k)]
        for explainer, found in chosen[chosen["unavailable"].isna()].groupby("explainer"):
            spread = np.mean(
                [replicates[r.model, r.dataset, r.regime, explainer, metric, r.part, k] for r in found.itertuples()],
                axis=0,
            )
            low, high = percentile_interval(spread)
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
