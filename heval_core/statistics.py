"""Intervals: a paired bootstrap over questions (methods.md, section 3).

Resampling whole questions, with the same resamples for every explainer, model and regime of a dataset, keeps what
belongs together together: differences and averages over cells get the interval that their pairing gives them.
Cost: one (resamples x questions) matrix per dataset, one matrix product per cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

RESAMPLES = 2000


class Interval(NamedTuple):
    low: float
    high: float


def resample_weights(questions: int, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """(resamples, questions) float32: how often each question is drawn in each resample."""
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(questions, np.full(questions, 1 / questions), size=resamples)
    return draws.astype(np.float32)


def weighted_means(weights: np.ndarray, values: np.ndarray, used: np.ndarray) -> np.ndarray:
    """(resamples,) the mean of those of (n,) values that are used, under each row of (resamples, n) weights.

    NaN where none of them was drawn. One product with the whole matrix is far cheaper than cutting columns out of it.
    """
    columns = np.stack([np.where(used, values, 0.0), used], axis=1).astype(weights.dtype)
    sums, counts = (weights @ columns).T.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / counts)


def percentile_interval(replicates: np.ndarray, level: float = 0.95) -> Interval:
    """The middle `level` of the replicates; NaN where fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if len(defined) * 2 < len(replicates) or not len(defined):
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
