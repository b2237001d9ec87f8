"""Tests of paired differences: sign flips over questions, and Holm's correction for tests made together."""

from __future__ import annotations

import functools

import numpy as np

FLIPS = 5000


@functools.lru_cache(maxsize=4)
def _signs(questions: int, flips: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(0, 2, size=(flips, questions), dtype=np.int8)
    return (2 * drawn - 1).astype(np.float32)


def sign_flip_p(differences: np.ndarray, flips: int = FLIPS, seed: int = 0) -> np.ndarray:
    """(C,) two-sided p of (Q, C) paired differences: how often flipping the questions' signs gives as large a sum.

    If two explainers are exchangeable within a question, all assignments of signs are equally likely. A column of zeros
    gives 1. The smallest possible p is 1 / (flips + 1).
    """
    differences = np.asarray(differences, dtype=np.float64)
    scale = np.abs(differences).max(axis=0, initial=0.0)
    scaled = differences / np.where(scale > 0, scale, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    flipped = np.abs(_signs(len(scaled), flips, seed) @ scaled.astype(np.float32))
    # float32 sums that should be equal differ in their last bits.
    reached = (flipped >= observed - 1e-4 * np.maximum(observed, 1.0)).sum(axis=0)
    return np.asarray((1 + reached) / (1 + flips))


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's adjusted p of (C,) tests made together; NaN stays NaN and does not count as a test.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(len(p), np.nan)
    order = [index for index in np.argsort(p, kind="stable") if np.isfinite(p[index])]
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - place) * p[index]))
        adjusted[index] = largest
    return adjusted
