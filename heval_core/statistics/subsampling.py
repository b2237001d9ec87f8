"""Intervals and tests where a bootstrap fails: values for which instances are each other's neighbours or training data.

A question that a bootstrap draws twice is its own neighbour, or is in training and test data: bootstrap intervals of NMutInf,
MDL and the probe missed the chance level of random scores in 25 to 48 % of draws. Here the questions are split in two, and the
value is computed on each half.
The halves are separate samples, so half the difference of their values varies as the value of all N instances does, if the
variance falls as 1/N. This holds for uninformative scores too, for which halves drawn one by one vary too much (Shao & Wu 1989
on the delete-d jackknife; the split is its d = N/2 in complementary pairs). Every explainer gets the same splits, so that
differences are paired.

A value that is itself random (MDL: orders and initial weights) is computed several times on each half. The variance that this
randomness adds is estimated from these runs and subtracted (analysis of variance); the remaining degrees of freedom are
Satterthwaite's. Coverage and false positives of all metrics: `docs/metrics.md`, from `python -m tests.metrics.calibration`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.statistics.bootstrap import Interval


def splits(order: np.ndarray) -> np.ndarray:
    """Split (S, N) priorities ▶ (S, 2, N // 2) indices, ascending in each half; if N is odd, the middle one is in neither."""
    size = order.shape[1] // 2
    ordered = np.argsort(order, axis=1, kind="stable")
    return np.sort(np.stack([ordered[:, :size], ordered[:, ordered.shape[1] - size :]], axis=1), axis=2)


class Error(NamedTuple):
    """A value's standard error, its degrees of freedom, and the (S,) deviations that it is computed from.

    The mean square of the deviations is the square of the standard error.
    """

    se: float
    df: float
    deviations: np.ndarray

    def plus(self, se: float) -> Error:
        """Add an independent error to this one."""
        return self._replace(se=float(np.hypot(self.se, se)))


@dataclass(frozen=True, eq=False)
class Runs:
    """A value's computations. whole: (R,) on all N instances, with the value as mean. parts: (S, 2, r) on S splits' halves.

    R and r are 1 for a value that is not itself random. share: the share of the N instances in the two halves together.
    own: (N,) what each instance adds, if the value is a mean over instances. Its error is then at least the error of that
    mean: halves that are too small to learn from would give a smaller one.
    """

    whole: np.ndarray
    parts: np.ndarray
    share: float = 1.0
    own: np.ndarray | None = None

    def error(self) -> Error:
        """Compute the error of the value; NaN if fewer than half of the splits, or than three, have a value on both halves."""
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


@functools.lru_cache(maxsize=4)
def _mixing(replicates: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample (replicates, parts) normal factors and (replicates,) uniform shares for quantiles, the same for every value."""
    generator = np.random.default_rng(7)
    return generator.standard_normal((replicates, parts)), generator.random(replicates)


def interval(value: float, error: Error, bound: float = float("nan")) -> Interval:
    """Compute Student's interval. bound: a limit that the value approaches but never passes, if there is one.

    The error then applies to the logarithm of the distance to the bound, so that the interval ends before the bound.
    """
    from scipy.stats import t

    width = t.ppf(0.975, error.df) * error.se
    low, high = _bounded(value, np.array([-width, width]), bound)
    return Interval(float(low), float(high))


def share_interval(share: float, error: Error, instances: int) -> Interval:
    """Compute Wilson's interval of a share of N instances: near 0 or 1, halves hardly differ and Student's interval is too
    narrow.

    The effective number of instances is the one that gives the share its error (at most N).
    """
    from scipy.stats import t

    variance = share * (1 - share)
    count = min(instances, variance / error.se**2) if error.se > 0 and variance > 0 else instances
    z = float(t.ppf(0.975, error.df))
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    width = z / (1 + z**2 / count) * np.sqrt(variance / count + z**2 / (4 * count**2))
    return Interval(max(0.0, float(middle - width)), min(1.0, float(middle + width)))


def replicates(value: float, error: Error, count: int) -> np.ndarray:
    """Sample (count,) values around a value with the spread of its error and Student's tails; values on the same splits stay
    paired.

    They are random sums of the splits' deviations, so that means and differences of several values' replicates have the
    right spread. NaN if the deviations are not known.
    """
    from scipy.stats import chi2

    if not (np.isfinite(error.se) and len(error.deviations)):
        return np.full(count, np.nan)
    factors, shares = _mixing(count, len(error.deviations))
    tails = np.sqrt(error.df / chi2.ppf(shares, error.df))
    return np.asarray(value + factors @ error.deviations / np.sqrt(len(error.deviations)) * tails)


def _bounded(value: float, away: np.ndarray, bound: float) -> np.ndarray:
    """Add away to value; with a bound, on the logarithm of the distance to the bound: at most 1.7 times as far from it, since
    one step of the logarithm from a value next to its bound would be without end.
    """
    left = value - bound
    if not np.isfinite(left) or left == 0:
        return np.asarray(value + away)
    steps = away / left
    return np.asarray(bound + left * np.where(steps > 1, 1 + (np.e - 1) * steps, np.exp(np.minimum(steps, 1))))
