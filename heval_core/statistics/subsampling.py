"""Intervals and tests of what a bootstrap gets wrong: values in which instances are each other's neighbours or training data.

A question that a bootstrap draws twice is its own neighbour, or is learnt and then asked: intervals of NMutInf, MDL and the
probe missed the chance level of random scores in 25 to 48 % of draws. Here the questions are split in two, and the value is
computed on either half.
The halves are samples of their own, so half the difference of their values scatters as the value of all N instances does,
wherever the variance falls as 1/N: also for scores that know nothing, for which halves drawn one by one scatter too much
(Shao & Wu 1989 on the delete-d jackknife; the split is its d = N/2 in complementary pairs). The same splits are taken for
every explainer, so that differences are paired.

A value that is itself drawn (MDL: orders and initial weights) is computed several times on each half. What that alone makes
of the scatter is estimated from these and taken out (analysis of variance); the degrees of freedom that are left are
Satterthwaite's. Coverage and false positives of all metrics: `docs/metrics.md`, from `python -m tests.metrics.calibration`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.statistics.bootstrap import Interval


def splits(order: np.ndarray) -> np.ndarray:
    """(S, N) priorities ▶ (S, 2, N // 2) indices, ascending in each half; of an odd number the middle one is in neither."""
    size = order.shape[1] // 2
    ordered = np.argsort(order, axis=1, kind="stable")
    return np.sort(np.stack([ordered[:, :size], ordered[:, ordered.shape[1] - size :]], axis=1), axis=2)


class Error(NamedTuple):
    """Of a value: its standard error, the degrees of freedom it is known with, and (S,) the deviations that make it.

    The mean square of the deviations is the square of the error.
    """

    se: float
    df: float
    deviations: np.ndarray

    def plus(self, se: float) -> Error:
        """With an independent error besides."""
        return self._replace(se=float(np.hypot(self.se, se)))


@dataclass(frozen=True, eq=False)
class Runs:
    """A value's computations: (R,) on all N instances, whose mean is the value, and (S, 2, r) on the halves of S splits.

    share: of the N instances that the two halves hold together. One computation each where a value is not drawn itself.
    own: (N,) what each instance adds to a mean, where the value is one: an error can be no smaller than theirs, as it is on
    halves too small to learn from.
    """

    whole: np.ndarray
    parts: np.ndarray
    share: float = 1.0
    own: np.ndarray | None = None

    def minus(self, other: Runs) -> Runs:
        """The difference of two values whose computations share splits and draws."""
        own = None if self.own is None or other.own is None else self.own - other.own
        return Runs(self.whole - other.whole, self.parts - other.parts, self.share, own)

    def error(self) -> Error:
        """NaN where fewer than half of the splits have a value on both halves."""
        apart = (self.parts[:, 0] - self.parts[:, 1]).mean(axis=1) / 2
        there = np.isfinite(apart)
        count, draws = int(there.sum()), self.parts.shape[2]
        if count * 2 < len(apart) or count < 3:
            return Error(float("nan"), float("nan"), np.full(len(apart), np.nan))
        deviations = np.where(there, apart, 0.0)
        between = self.share * float(np.square(deviations).sum()) / count
        within = own = 0.0
        uncertain = between**2 / count
        if draws > 1:
            within = self.share * float(self.parts[there].var(axis=2, ddof=1).mean()) / (2 * draws)
            uncertain += within**2 / (2 * count * (draws - 1))
        if len(self.whole) > 1:
            own = float(self.whole.var(ddof=1)) / len(self.whole)
            uncertain += own**2 / (len(self.whole) - 1)
        least = 0.0 if self.own is None else float(self.own.var(ddof=1)) / len(self.own)
        variance = max(between - within + own, own, least, 0.05 * between)
        df = float(np.clip(variance**2 / uncertain, 2.0, count)) if uncertain else float(count)
        scattered = float(np.square(deviations).mean())
        factor = np.sqrt(variance / scattered) if scattered else 0.0
        return Error(float(np.sqrt(variance)), df, deviations * factor)

    def p(self) -> float:
        """Two-sided, of the value being 0: Student's t. 1 where all computations agree on 0, NaN without an error."""
        from scipy.stats import t

        value, error = float(self.whole.mean()), self.error()
        if error.se == 0:
            return 1.0 if value == 0 else 0.0
        return float(2 * t.sf(abs(value) / error.se, error.df))


@functools.lru_cache(maxsize=4)
def _mixing(replicates: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """(replicates, parts) normal factors and (replicates,) shares for quantiles, the same for every value."""
    generator = np.random.default_rng(7)
    return generator.standard_normal((replicates, parts)), generator.random(replicates)


def interval(value: float, error: Error, bound: float = float("nan"), level: float = 0.95) -> Interval:
    """Student's. bound: the value that it nears and never passes, where there is one.

    The error is then that of the logarithm of what is left to the bound, so that the interval ends before it.
    """
    from scipy.stats import t

    width = t.ppf((1 + level) / 2, error.df) * error.se
    low, high = _bounded(value, np.array([-width, width]), bound)
    return Interval(float(low), float(high))


def share_interval(share: float, error: Error, instances: int, level: float = 0.95) -> Interval:
    """Wilson's, of a share of N instances: where nearly all or none count, halves hardly differ and Student's is too narrow.

    As many instances are counted as would give a share its error (no more than there are).
    """
    from scipy.stats import t

    variance = share * (1 - share)
    count = min(instances, variance / error.se**2) if error.se > 0 and variance > 0 else instances
    z = float(t.ppf((1 + level) / 2, error.df))
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    width = z / (1 + z**2 / count) * np.sqrt(variance / count + z**2 / (4 * count**2))
    return Interval(max(0.0, float(middle - width)), min(1.0, float(middle + width)))


def replicates(value: float, error: Error, count: int) -> np.ndarray:
    """(count,) draws around a value with the spread of its error and Student's tails; values of the same splits stay paired.

    Random sums of the splits' deviations, so that a mean or difference of values' replicates has the spread that it should.
    NaN where the deviations are not known.
    """
    from scipy.stats import chi2

    if not (np.isfinite(error.se) and len(error.deviations)):
        return np.full(count, np.nan)
    factors, shares = _mixing(count, len(error.deviations))
    tails = np.sqrt(error.df / chi2.ppf(shares, error.df))
    return np.asarray(value + factors @ error.deviations / np.sqrt(len(error.deviations)) * tails)


def _bounded(value: float, away: np.ndarray, bound: float) -> np.ndarray:
    """value + away, or as far along a curve that ends at the bound."""
    left = value - bound
    if not np.isfinite(left) or left == 0:
        return np.asarray(value + away)
    return np.asarray(bound + left * np.exp(away / left))
