"""Pairs: Spearman's rank correlation with its interval for clustered ones, and Holm's correction."""

from collections.abc import Sequence

import numpy as np

from heval_core.statistics.bootstrap import BLOCK, NAN, UNKNOWN, Interval, percentile_interval, resample_weights, row_blocks
from heval_core.statistics.scores import average_ranks


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the rank correlation of two (N,) samples, ties averaged.

    NaN for fewer than three pairs, or if one sample is constant.

    >>> round(spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])), 3)
    0.8
    """
    samples = np.stack([first, second]).astype(np.float64)
    if samples.shape[1] < 3 or np.isnan(samples).any() or not np.ptp(samples, axis=1).all():
        return NAN
    return float(np.corrcoef(average_ranks(samples))[0, 1])


def clustered_spearman(first: np.ndarray, second: np.ndarray, clusters: Sequence[object]) -> tuple[float, Interval]:
    """Compute `spearman` of two (N,) samples with its 95 % interval.

    Whole clusters are resampled: their pairs are not independent.

    Each resample is ranked anew. The interval is NaN for fewer than three clusters.
    """
    rho = spearman(first, second)
    distinct, cluster_of = np.unique([str(cluster) for cluster in clusters], return_inverse=True)
    if len(distinct) < 3:
        return rho, UNKNOWN
    return rho, percentile_interval(resampled_spearman(first, second, resample_weights(len(distinct))[:, cluster_of]))


def resampled_spearman(first: np.ndarray, second: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Compute `spearman`, (resamples,), of two (N,) samples in each resample, ranked anew.

    counts: (resamples, N) how often each pair is drawn. NaN where one sample is constant.
    """
    correlations = np.empty(len(counts))
    for rows in row_blocks(len(counts), counts.shape[1], BLOCK):
        weights = counts[rows].astype(np.float64)
        x, y = (_ranks_drawn(values, weights) for values in (first, second))
        total = weights.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            x, y = (ranks - (weights * ranks).sum(axis=1, keepdims=True) / total for ranks in (x, y))
            squares = (weights * x**2).sum(axis=1) * (weights * y**2).sum(axis=1)
            correlations[rows] = (weights * x * y).sum(axis=1) / np.sqrt(squares)
    return correlations


def _ranks_drawn(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rank (N,) values that are drawn (resamples, N) weights times each ▶ (resamples, N); ties averaged."""
    _, level = np.unique(values, return_inverse=True)
    at_level = np.zeros((len(weights), level.max() + 1))
    np.add.at(at_level.T, level, weights.T)
    return np.asarray((np.cumsum(at_level, axis=1) - at_level / 2)[:, level])


def holm(p: np.ndarray) -> np.ndarray:
    """Compute Holm's adjusted p of (C,) tests made together; NaN stays NaN and does not count as a test.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(len(p), np.nan)
    order = [index for index in np.argsort(p, kind="stable") if np.isfinite(p[index])]
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted
