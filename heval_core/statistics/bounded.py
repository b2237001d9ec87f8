"""Intervals of shares, of other means between two ends, and of their sums and differences.

Formula: of a share p of N independent answers, the values that the mid-P binomial test does not reject at either side:
the lower end l has P(X > pN) + P(X = pN)/2 = .025 under l. Several answers to a question are not independent: N is the number
of independent answers with the same error, p (1 - p)/v, with v the variance between questions, as in Korn and Graubard (1998,
Survey Methodology 24, 193-201); where all answers are alike, v says nothing, and N is the number of questions. A mean of other
numbers between two ends is read as a share of the way from one to the other. Sums and differences, sum of f_i m_i: the lower
end lies sqrt(sum of r_ij d_i d_j) below, with d_i how far f_i m_i is above its own lower end, and r_ij the correlation of the
two (MOVER: Zou and Donner 2008, Statistics in Medicine 27, 1693-1702). A paired difference is that of its positive and its
negative part, so that questions that agree add nothing, and it has a width where all agree. Where terms cancel in every
question it is what a question that was not drawn could add: the upper end of none of N.
The mean over cells is such a sum of their values, whose own intervals may be of any kind.
Why: percentiles of a bootstrap have no width where all answers are right, and cover the truth in 55 % of draws at p = .995.
Departure: Korn and Graubard have the limits of Clopper and Pearson, which cover more than they say. Coverage: docs/metrics.md.
Cost: two roots of a beta function for each mean.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heval_core.statistics.bootstrap import Interval, student_quantile

LEVEL = 0.95


class Bounded(NamedTuple):
    """A mean of values from `least` to `most`.

    influence: (Q,) how much each question moves it, summing to 0. n: values. questions: those that have any.
    """

    value: float
    influence: np.ndarray
    n: int
    questions: int
    least: float = 0.0
    most: float = 1.0

    def interval(self) -> Interval:
        """Compute the interval: from `least` to `most` where fewer than two questions tell nothing of the error."""
        if self.questions < 2:
            return Interval(self.least, self.most)
        span = self.most - self.least
        share = float(np.clip((self.value - self.least) / span, 0, 1))
        variance = float(np.square(self.influence / span).sum())
        # Where all are alike, what is left of the influences is rounding, of float32 too.
        alike = variance <= 1e-12 or not 0 < share < 1
        count = self.questions if alike else share * (1 - share) / variance
        quantile = (1 + LEVEL) / 2
        count *= (student_quantile(quantile, self.n - 1) / student_quantile(quantile, self.questions - 1)) ** 2
        low, high = share_interval(share, count)
        return Interval(self.least + span * low, self.least + span * high)


@functools.lru_cache(maxsize=65536)
def share_interval(share: float, count: float) -> Interval:
    """Compute the mid-P interval of a share of `count` independent answers; count need not be whole."""
    return Interval(_least_likely(share, count), 1 - _least_likely(1 - share, count))


def _least_likely(share: float, count: float) -> float:
    """Find the lower end."""
    from scipy.optimize import brentq
    from scipy.special import betainc

    hits = share * count
    if hits <= 0:
        return 0.0
    misses = count - hits

    def above(p: float) -> float:
        """Compute the probability of more hits, and half of that of as many, less what the test allows."""
        more = betainc(hits + 1, misses, p) if misses > 0 else 0.0
        return float(more + betainc(hits, misses + 1, p)) / 2 - (1 - LEVEL) / 2

    return float(brentq(above, 0.0, share, xtol=1e-9)) if above(share) > 0 else share


def mean_interval(values: np.ndarray, low: np.ndarray, high: np.ndarray, replicates: np.ndarray | None = None) -> Interval:
    """Compute the interval of the mean of (K,) values that have intervals of their own. Of a single one it is its own.

    replicates: (resamples, K) replicates of the values, over the same questions, which say how far the values move together. A
    value that no replicate moves, such as a share of 1, is taken to move with all others, and so are all without replicates:
    the mean's ends are then the means of the ends, never too narrow. The mean's interval passes no limit that theirs keep.
    """
    together = np.ones((len(values), len(values)))
    if replicates is not None and len(values) > 1:
        known = np.isfinite(replicates)
        centre = np.where(known, replicates, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        moved = np.where(known, replicates - centre, 0)
        size = np.sqrt(np.square(moved).sum(axis=0))
        moves = size > 1e-9
        scaled = moved[:, moves] / size[moves]
        together[np.ix_(moves, moves)] = scaled.T @ scaled
    down, up = (float(np.sqrt(np.maximum(away @ together @ away, 0))) / len(values) for away in (values - low, high - values))
    return Interval(float(values.mean()) - down, float(values.mean()) + up)


def sum_interval(terms: Sequence[tuple[float, Bounded]], shift: float = 0.0) -> Interval:
    """Compute the interval of the sum of some means, each times its factor, plus a constant.

    Their questions are the same ones.
    """
    factors = np.array([factor for factor, _ in terms])
    means = np.array([mean.value for _, mean in terms])
    ends = np.array([mean.interval() for _, mean in terms])
    value = float(factors @ means) + shift
    influence = np.stack([factor * mean.influence for factor, mean in terms])
    size = np.sqrt(np.square(influence).sum(axis=1, keepdims=True))
    scaled = np.divide(influence, size, out=np.zeros_like(influence), where=size > 1e-12)
    together = scaled @ scaled.T
    np.fill_diagonal(together, 1.0)
    moved = factors[:, None] * (ends - means[:, None])
    down, up = np.abs(moved.min(axis=1)), np.abs(moved.max(axis=1))
    unseen = max(abs(factor) * (mean.most - mean.least) * share_interval(0.0, mean.questions).high for factor, mean in terms)
    low, high = (max(float(np.sqrt(max(0.0, away @ together @ away))), min(unseen, float(away.max()))) for away in (down, up))
    return Interval(value - low, value + high)
