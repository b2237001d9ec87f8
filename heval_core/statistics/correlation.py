"""Spearman's rank correlation, and its interval where pairs belong to clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heval_core.statistics.bootstrap import Interval, percentile_interval, resample_weights


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Rank correlation of two (N,) samples, ties averaged; NaN for fewer than three pairs, or where one is constant.

    >>> round(spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 3)
    0.8
    """
    from scipy.stats import spearmanr

    if len(first) < 3 or not np.ptp(first) or not np.ptp(second):
        return float("nan")
    return float(spearmanr(first, second).statistic)


def clustered_spearman(first: np.ndarray, second: np.ndarray, clusters: Sequence[object]) -> tuple[float, Interval]:
    """`spearman` of two (N,) samples with its 95 % interval, whole clusters resampled: those of a cluster are not independent.

    Ranks are taken anew in each resample; NaN ends for fewer than three clusters.
    """
    _, place = np.unique([str(cluster) for cluster in clusters], return_inverse=True)
    count = int(place.max(initial=-1)) + 1
    if count < 3:
        return spearman(first, second), Interval(float("nan"), float("nan"))
    weights = resample_weights(count)[:, place].astype(np.float64)
    one, other = (_ranks_drawn(values, weights) for values in (first, second))
    total = weights.sum(axis=1, keepdims=True)
    one, other = (own - (weights * own).sum(axis=1, keepdims=True) / total for own in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (weights * one * other).sum(axis=1) / np.sqrt(
            (weights * one**2).sum(axis=1) * (weights * other**2).sum(axis=1)
        )
    return spearman(first, second), percentile_interval(spread)


def _ranks_drawn(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(resamples, N) rank of each of (N,) values where each is there as often as (resamples, N) weights say; ties averaged."""
    _, level = np.unique(values, return_inverse=True)
    at_level = np.zeros((len(weights), level.max() + 1))
    np.add.at(at_level.T, level, weights.T)
    return np.asarray((np.cumsum(at_level, axis=1) - at_level / 2)[:, level])
