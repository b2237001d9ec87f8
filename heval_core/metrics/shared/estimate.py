"""The output of metrics: values of instances and of whole cells, with the data for their intervals and tests.

The interval of a mean over instances is Student's, adjusted for skewness (Hall 1992): reciprocal ranks and hits are so skewed
that bootstrap percentiles over 30 questions cover the truth in only 81 % of draws. Where it would pass the best possible
value, it is that of a mean between this value and as far on the other side of chance (`statistics.bounded`). If a metric
learns from the instances or compares them with one another, its interval comes from halves (`statistics.subsampling`).
Replicates, for means over cells and their comparisons, are a bootstrap over questions, or random sums over halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heval_core.statistics import subsampling
from heval_core.statistics.bootstrap import Interval, percentile_interval, skewed_interval, weighted_means
from heval_core.statistics.bounded import Bounded
from heval_core.statistics.paired_tests import sign_flip_p

SMALLEST_GROUP = 30


class Each(NamedTuple):
    """Values of single instances, (N,) each, NaN if undefined.

    part: which document or group. chance: the value of random scores. best: the value of perfect scores.
    """

    part: str
    value: np.ndarray
    chance: np.ndarray
    best: np.ndarray

    def rows(self, chosen: np.ndarray) -> Each:
        """The instances chosen by indices."""
        return Each(self.part, self.value[chosen], self.chance[chosen], self.best[chosen])


class Column(NamedTuple):
    """(N,) values of instances, and (N,) bool which of them are averaged."""

    values: np.ndarray
    used: np.ndarray

    def mean(self) -> float:
        return float(self.values[self.used].mean()) if self.used.any() else float("nan")


def _only(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


class Estimate(NamedTuple):
    """A value of a whole cell, with the data for its interval: columns of instances, or runs on halves.

    chance, best: the values of random and perfect scores. sizes: group ▶ instances. unavailable: why value is NaN.
    columns, combine: value = combine of the means of its columns; (…, C) means ▶ (…) values. shares: (N,) what each instance
    adds to the value, up to a constant that all explainers share, so that exchanging two explainers within an instance
    exchanges their shares. p: of the value under chance, if a permutation test gives one. details: further numbers, by name.
    chance_columns: like columns, if chance was measured on random scores and has its own noise. runs: instead of columns and
    shares, if instances are each other's neighbours or training data; error: from these runs; bound: a limit that the value
    approaches but never passes; counted: N, if the value is a share of N instances. chance_se: of a permuted chance level.
    """

    part: str
    value: float
    chance: float
    best: float
    sizes: tuple[tuple[str, int], ...]
    unavailable: str | None = None
    columns: tuple[Column, ...] = ()
    combine: Callable[[np.ndarray], np.ndarray] = _only
    shares: np.ndarray | None = None
    p: float = float("nan")
    details: tuple[tuple[str, float], ...] = ()
    chance_columns: tuple[Column, ...] = ()
    error: subsampling.Error | None = None
    runs: subsampling.Runs | None = None
    bound: float = float("nan")
    counted: int = 0
    chance_se: float = 0.0

    @property
    def normalised(self) -> float:
        return float(normalised(self.value, self.chance, self.best))

    def of_weights(self, weights: np.ndarray) -> np.ndarray:
        """(resamples,) replicates of the value; under (resamples, N) weights, if it is bootstrapped."""
        return replicates([self], weights)[0]

    def interval(self, questions: np.ndarray | None = None) -> Interval:
        """95 % interval. questions: (N,) the question of each instance, as numbers from 0; by default all are different."""
        return self.intervals(questions)[0]

    def above_chance(self, questions: np.ndarray | None = None) -> Interval:
        """95 % interval of value minus chance, including the error of a chance level that was measured or permuted."""
        return self.intervals(questions)[1]

    def intervals(self, questions: np.ndarray | None = None) -> tuple[Interval, Interval]:
        """`interval` and `above_chance`, which share most of the work."""
        if self.error is not None:
            around = self._around(self.error)
            low, high = self._around(self.error.plus(self.chance_se)) if self.chance_se else around
            return around, Interval(low - self.chance, high - self.chance)
        influence, freedom = self._influence(questions, self.columns)
        if self.counted:
            error = subsampling.Error(float(np.sqrt(np.square(influence).sum())), freedom, np.array([]))
            low, high = self._around(error)
            return Interval(low, high), Interval(low - self.chance, high - self.chance)
        around = self._possible(skewed_interval(self.value, influence, freedom), influence, freedom)
        if not self.chance_columns:
            return around, Interval(around.low - self.chance, around.high - self.chance)
        influence = influence - self._influence(questions, self.chance_columns)[0]
        return around, skewed_interval(self.value - self.chance, influence, freedom)

    def _possible(self, found: Interval, influence: np.ndarray, freedom: int) -> Interval:
        """It ends before the best value, and has a width where all instances are alike. influence: (Q,) of the questions."""
        away = self.best - self.chance
        past = found.high >= self.best if away > 0 else found.low <= self.best
        if not (past or found.low == found.high) or not (np.isfinite(away) and away and freedom > 0):
            return found
        ends = sorted((self.chance - away, self.best))
        return Bounded(self.value, influence, freedom + 1, min(len(influence), freedom + 1), *ends).interval()

    def _around(self, error: subsampling.Error) -> Interval:
        if self.counted:
            return subsampling.share_interval(self.value, error, self.counted)
        return subsampling.interval(self.value, error, self.bound)

    def _influence(self, questions: np.ndarray | None, columns: tuple[Column, ...]) -> tuple[np.ndarray, int]:
        """How much each question moves the value, summing to 0; and the degrees of freedom of the value's error.

        To first order: the slope of `combine` in each mean, times the instance's contribution to that mean.
        """
        means = np.array([column.mean() for column in columns])
        steps = 1e-4 * np.maximum(np.array([column.values[column.used].std() for column in columns]), 1e-9)
        around = means + np.concatenate([np.diag(steps), -np.diag(steps)])
        up, down = np.split(np.asarray(self.combine(around), dtype=np.float64), 2)
        influence: np.ndarray = np.zeros(len(columns[0].values))
        for column, mean, slope in zip(columns, means, (up - down) / (2 * steps), strict=True):
            count = int(column.used.sum())
            factor = slope / count * np.sqrt(count / max(count - 1, 1))
            influence += np.where(column.used, factor * (column.values - mean), 0.0)
        groups = {column.used.tobytes(): int(column.used.sum()) for column in columns}
        if questions is not None:
            influence = np.bincount(questions, influence)
        return influence, sum(groups.values()) - len(groups)


def normalised(value: Any, chance: Any, best: Any) -> Any:
    """0 at chance, 1 at best; NaN if the two are equal."""
    span = np.asarray(best, dtype=np.float64) - chance
    return np.divide(np.subtract(value, chance), span, out=np.full(np.shape(span), np.nan), where=span != 0)


def replicates(estimates: Sequence[Estimate], weights: np.ndarray) -> list[np.ndarray]:
    """(resamples,) replicates of each estimate under (resamples, N) weights, or from its runs; () if not available.

    One matrix product serves all columns of all estimates.
    """
    columns = [column for estimate in estimates if estimate.unavailable is None for column in estimate.columns]
    means = np.empty((len(weights), 0))
    if columns:
        means = weighted_means(
            weights, np.stack([c.values for c in columns], axis=1), np.stack([c.used for c in columns], axis=1)
        )
    drawn, start = [], 0
    for estimate in estimates:
        if estimate.unavailable is not None:
            drawn.append(np.array([]))
        elif estimate.error is not None:
            drawn.append(subsampling.replicates(estimate.value, estimate.error, len(weights)))
        else:
            stop = start + len(estimate.columns)
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn.append(np.asarray(estimate.combine(means[:, start:stop]), dtype=np.float64))
            start = stop
    return drawn


class Difference(NamedTuple):
    """The difference of two explainers' values: (resamples,) replicates, 95 % interval, and two-sided p that it is 0."""

    replicates: np.ndarray
    interval: Interval
    p: float


def differences(
    pairs: Sequence[tuple[Estimate, Estimate]], weights: np.ndarray, questions: np.ndarray | None = None
) -> list[Difference]:
    """The differences of pairs of available estimates of one metric and part over one layout.

    p: by flipping the signs of instances' differences; for values with runs on halves by Student's t.
    """
    if pairs and pairs[0][0].error is not None:
        return [_apart(first, second, len(weights)) for first, second in pairs]
    estimates = list({id(estimate): estimate for pair in pairs for estimate in pair}.values())
    drawn = dict(zip(map(id, estimates), replicates(estimates, weights), strict=True))
    apart = [np.asarray(first.shares) - np.asarray(second.shares) for first, second in pairs]
    p = sign_flip_p(np.stack(apart, axis=1)) if pairs else np.array([])
    compared = []
    for (first, second), p_of_pair in zip(pairs, p, strict=True):
        influence, freedom = first._influence(questions, first.columns)
        influence = influence - second._influence(questions, second.columns)[0]
        interval = skewed_interval(first.value - second.value, influence, freedom)
        compared.append(Difference(drawn[id(first)] - drawn[id(second)], interval, float(p_of_pair)))
    return compared


def _apart(first: Estimate, second: Estimate, count: int) -> Difference:
    assert first.runs is not None
    assert second.runs is not None
    apart, value = first.runs.minus(second.runs), first.value - second.value
    drawn = subsampling.replicates(value, apart.error(), count)
    return Difference(drawn, percentile_interval(drawn), apart.p())


def on_halves(
    part: str,
    value: float,
    chance: float,
    best: float,
    sizes: tuple[tuple[str, int], ...],
    runs: subsampling.Runs,
    **more: Any,
) -> Estimate:
    """A value whose error comes from halves. more: p, details, bound, counted, chance_se."""
    return Estimate(part, value, chance, best, sizes, error=runs.error(), runs=runs, **more)


def not_available(part: str, sizes: tuple[tuple[str, int], ...], reason: str) -> Estimate:
    nothing = float("nan")
    return Estimate(part, nothing, nothing, nothing, sizes, reason)


def mean_estimate(each: Each, smallest_group: int) -> Estimate:
    """The mean over the instances with a defined value; not available if there are fewer than `smallest_group`."""
    used = np.isfinite(each.value)
    sizes = ((each.part, int(used.sum())),)
    reason = too_small(sizes, smallest_group)
    if reason:
        return not_available(each.part, sizes, reason)
    value, chance, best = (float(values[used].mean()) for values in each[1:])
    shares = np.where(used, each.value, 0.0) / used.sum()
    return Estimate(each.part, value, chance, best, sizes, None, (Column(each.value, used),), _only, shares)


def difference(part: str, first: Each, second: Each, names: tuple[str, str], smallest_group: int) -> Estimate:
    """The mean of `first` minus the mean of `second`, over the defined values. names: of the two groups."""
    return _of_groups(part, (first, second), names, smallest_group, (1.0, -1.0))


def balanced(part: str, groups: Sequence[Each], names: Sequence[str], smallest_group: int) -> Estimate:
    """The mean of the groups' means, however many instances each group has. names: of the groups."""
    return _of_groups(part, groups, names, smallest_group, (1 / len(groups),) * len(groups))


def _of_groups(
    part: str, groups: Sequence[Each], names: Sequence[str], smallest_group: int, factors: Sequence[float]
) -> Estimate:
    used = tuple(np.isfinite(each.value) for each in groups)
    sizes = tuple((name, int(there.sum())) for name, there in zip(names, used, strict=True))
    reason = too_small(sizes, smallest_group)
    if reason:
        return not_available(part, sizes, reason)
    pairs = list(zip(groups, used, factors, strict=True))
    value, chance, best = (
        float(sum(factor * values[use].mean() for values, (_, use, factor) in zip(of_groups, pairs, strict=True)))
        for of_groups in zip(*(each[1:] for each in groups), strict=True)
    )
    shares = sum(factor * np.where(use, each.value, 0.0) / use.sum() for each, use, factor in pairs)
    columns = tuple(Column(each.value, use) for each, use, _ in pairs)
    combine = partial(_weighted, factors=np.array(factors))
    return Estimate(part, value, chance, best, sizes, None, columns, combine, np.asarray(shares))


def _weighted(means: np.ndarray, factors: np.ndarray) -> np.ndarray:
    return np.asarray(means @ factors)


def means_of_groups(parts: Sequence[Each], smallest_group: int) -> list[Estimate]:
    """The mean of each group's instances; with several groups also of all, weighing the same whatever their sizes.

    All together need `smallest_group` instances, and each of them a third of that.
    """
    means = [mean_estimate(each, smallest_group) for each in parts]
    if len(parts) > 1:
        all_of_them = balanced("balanced", parts, [each.part for each in parts], smallest_group // 3)
        reason = too_small((("used", sum(size for _, size in all_of_them.sizes)),), smallest_group)
        means.append(not_available("balanced", all_of_them.sizes, reason) if reason else all_of_them)
    return means


def too_small(sizes: tuple[tuple[str, int], ...], needed: int) -> str | None:
    """Why a value is not available, as pages print it; None if every group is large enough."""
    for group, size in sizes:
        if size < needed:
            return f"group {group} has {size} of the {needed} instances needed"
    return None
