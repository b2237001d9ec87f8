"""What BCU depends on: rows of the table `feature_correlation`.

Formula: rho is Spearman's, of BCU with a feature, over the answers of all models pooled. rho_stratified: within each model and
dataset, ranks of both (ties averaged) less their mean and divided by the number of answers; Pearson's correlation of these,
over all models and datasets in which neither is constant. A feature that differs only between models or datasets has none.
Reference: CUB, arXiv 2505.16518, for rho; rho_stratified is ours.
Departure: p is Student's, as in CUB, as if all answers were independent; for a feature of the model it counts answers, not
models, and is far too small. p_stratified is Student's over questions: what the answers to one question add to the
correlation is summed first, so that several models' answers to it do not count as several questions. Both are corrected by
Holm over the features of the same dataset, regime and technique.
Chance: 0.
Cost: a sort per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.techniques import features
from heval_core.records import CONTEXT_KINDS
from heval_core.statistics.correlation import holm, spearman
from heval_core.statistics.scores import average_ranks

# What stands in the column `dataset` where several are pooled.
EVERY_DATASET = "all"
_PLACE = ["model", "dataset", "regime", "fact_id"]


def rows_of(answers: pd.DataFrame, inputs: pd.DataFrame, sizes: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of each dataset, and of all together where there are several.

    answers: the test answers. inputs, sizes: see `heval_core.evaluation.techniques.features`.
    """
    told = answers.merge(features.of_inputs(inputs), on=_PLACE, how="left")
    told = told.merge(features.of_models(sizes), on="model", how="left")
    told = told.assign(stratum=_numbers(told, ["model", "dataset"]), asked=_numbers(told, ["dataset", "fact_id"]))
    datasets = sorted(told["dataset"].unique())
    rows = []
    for dataset in [*datasets, *([EVERY_DATASET] if len(datasets) > 1 else [])]:
        own = told if dataset == EVERY_DATASET else told[told["dataset"] == dataset]
        for technique in own["technique"].unique():
            for kind in CONTEXT_KINDS:
                chosen = own[(own["technique"] == technique) & (own["regime"] == kind)]
                if len(chosen):
                    rows += _family({"dataset": dataset, "regime": kind, "technique": technique}, chosen)
    return rows


def _family(key: dict[str, str], answers: pd.DataFrame) -> list[dict[str, Any]]:
    """The features of one dataset, regime and technique."""
    rows = [key | _row(name, answers) for name in (*features.OF_MODELS, *features.OF_INPUTS)]
    for name in ("p", "p_stratified"):
        adjusted = holm(np.array([row[name] for row in rows], dtype=float))
        for row, p in zip(rows, adjusted, strict=True):
            row[f"{name}_holm"] = _defined(p)
            row[name] = _defined(row[name])
    return rows


def _row(feature: str, answers: pd.DataFrame) -> dict[str, Any]:
    numbers = answers[[feature, "bcu", "stratum", "asked"]].to_numpy(dtype=float)
    first, second, stratum, asked = numbers[np.isfinite(numbers).all(axis=1)].T
    rho = spearman(first, second)
    row = {"feature": feature, "rho": _defined(rho), "p": student_p(rho, len(first) - 2), "n": len(first)}
    within, p = stratified(first, second, stratum, asked)
    row |= {"rho_stratified": _defined(within), "p_stratified": p}
    return row | {"unavailable": None if np.isfinite(rho) else _reason(feature, first, second)}


def stratified(first: np.ndarray, second: np.ndarray, strata: np.ndarray, questions: np.ndarray) -> tuple[float, float]:
    """rho_stratified and its p of two (N,) samples. strata, questions: (N,) numbers of their groups.

    NaN, NaN if in every stratum one of the two is constant. Its p is NaN for fewer than three questions.
    """
    kept, x, y = [], [], []
    for stratum in np.unique(strata):
        own = np.flatnonzero(strata == stratum)
        both = np.stack([first[own], second[own]])
        if np.ptp(both, axis=1).all():
            ranks = (average_ranks(both) - (len(own) + 1) / 2) / len(own)
            kept.append(own)
            x.append(ranks[0])
            y.append(ranks[1])
    if not kept:
        return float("nan"), float("nan")
    of_question, ranks_x, ranks_y = questions[np.concatenate(kept)], np.concatenate(x), np.concatenate(y)
    xx, yy = ranks_x @ ranks_x, ranks_y @ ranks_y
    rho = float(np.clip(ranks_x @ ranks_y / np.sqrt(xx * yy), -1, 1))
    # What each answer adds to rho; these sum to 0.
    adds = ranks_x * ranks_y / np.sqrt(xx * yy) - rho / 2 * (ranks_x**2 / xx + ranks_y**2 / yy)
    _, place = np.unique(of_question, return_inverse=True)
    sums = np.bincount(place, adds)
    if len(sums) < 3:
        return rho, float("nan")
    return rho, _two_sided(rho, float(np.sqrt(np.square(sums).sum() * len(sums) / (len(sums) - 1))), len(sums) - 2)


def student_p(rho: float, df: int) -> float:
    """Two-sided p of Spearman's rho, by Student's distribution; NaN without degrees of freedom."""
    if not np.isfinite(rho) or df < 1:
        return float("nan")
    return _two_sided(rho, float(np.sqrt(max(0.0, 1 - rho**2) / df)), df)


def _two_sided(value: float, se: float, df: int) -> float:
    from scipy.stats import t

    if se <= 1e-12:
        return 0.0 if abs(value) > 1e-12 else 1.0
    return float(2 * t.sf(abs(value) / se, df))


def _numbers(rows: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    return np.asarray(rows.groupby(list(columns), sort=False).ngroup())


def _reason(feature: str, first: np.ndarray, second: np.ndarray) -> str:
    if not len(first):
        return "The feature is known for none of these answers."
    if len(first) < 3:
        return f"A correlation needs at least 3 answers; there are {len(first)}."
    return (
        "The feature is the same for all of these answers."
        if not np.ptp(first)
        else "BCU is the same for all of these answers."
    )


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
