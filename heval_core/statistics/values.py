"""A value and how sure it is: one `Value` for a mean of instances, a value on halves, and a measured number.

Formula: a mean, or a sum of means, each times a factor, plus a constant (`combine` for what is no such sum). What each
instance, or each question with all its answers, adds to a mean is a `Sums`. `replicates` is the same number under (R, U)
weights, the draws of each unit; (R,) of many values come from one matrix product. `total` adds values up, `mean_of` makes a
value of the `Each` of some groups, and `Resampled` of columns over the questions of a cell, with their replicates in `drawn`.

Intervals, 95 %, by what a value is made of:
- columns with `ends`, their least and largest possible value, such as hits and reciprocal ranks: mid-P and MOVER
  (`bounded.sum_interval`). They are so skewed that bootstrap percentiles over 30 questions cover the truth in only 81 % of
  draws, and Student's, adjusted for skewness, in 99 %: near 1 it is up to 1.7 times as wide;
- other columns: that one (Hall 1992). Where it would pass the best possible value, it is that of a mean between this value
  and as far on the other side of chance (`bounded`);
- halves of the instances, for values for which instances are each other's neighbours or training data: `subsampling`;
- replicates alone, such as those of a correlation: their percentiles.
Several values have one interval of their mean, whatever they are made of: `bounded.mean_interval`.
Cost: one product of R x U x columns for the replicates of all values of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from heval_core.statistics import subsampling
from heval_core.statistics.bootstrap import NAN, Interval, Resamples, percentile_interval, resampled_means, skewed_interval
from heval_core.statistics.bounded import Bounded, sum_interval
from heval_core.statistics.correlation import resampled_spearman, spearman

SMALLEST_GROUP = 30
Key = TypeVar("Key", bound=Hashable)


class Each(NamedTuple):
    """Values of single instances, (N,) each, NaN if undefined.

    part: which document or group. chance: the value of random scores. best: the value of perfect scores.
    """

    part: str
    value: np.ndarray
    chance: np.ndarray
    best: np.ndarray

    def rows(self, chosen: np.ndarray) -> Each:
        """Return the instances chosen by indices."""
        return Each(self.part, *(values[chosen] for values in self[1:]))

    def within(self, group: np.ndarray) -> Each:
        """Set values outside a (N,) bool group to NaN."""
        return Each(self.part, *(np.where(group, values, np.nan) for values in self[1:]))


class Sums(NamedTuple):
    """A mean, by what each of U instances or questions adds to it: (U,) sums of values, and (U,) how many there are.

    factor: with which the mean enters a value. ends: the least and the largest possible value; None where there are none.
    """

    sums: np.ndarray
    counts: np.ndarray
    factor: float = 1.0
    ends: tuple[float, float] | None = None

    @classmethod
    def of(
        cls, values: np.ndarray, used: np.ndarray | None = None, factor: float = 1.0, ends: tuple[float, float] | None = None
    ) -> Sums:
        """Sum (N,) values of instances, those that are used; by default those that are defined."""
        used = np.isfinite(values) if used is None else used
        return cls(np.where(used, values, 0.0), used.astype(np.float64), factor, ends)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def mean(self) -> float:
        return float(self.sums[self.counts > 0].sum() / self.counts.sum()) if self.counts.any() else NAN

    def apart(self) -> np.ndarray:
        """Return how far each unit's values are above the mean, (U,), summing to 0."""
        return self.sums - self.mean() * self.counts

    def by(self, unit_of: np.ndarray, units: int) -> Sums:
        """Return the same mean, by what larger units add to it. unit_of: (U,) the number of each one's larger unit."""
        return self._replace(sums=np.bincount(unit_of, self.sums, units), counts=np.bincount(unit_of, self.counts, units))

    @property
    def units(self) -> int:
        """How many have any value."""
        return int((self.counts > 0).sum())

    def bounded(self) -> Bounded:
        assert self.ends is not None
        return Bounded(self.mean(), self.apart() / self.counts.sum(), self.n, self.units, *self.ends)


class Value(NamedTuple):
    """A number of a cell, with what its interval, its replicates and its differences are made of.

    part: which of the numbers of a metric. chance, best: the values of random and perfect scores. sizes: group ▶ instances.
    unavailable: why value is NaN. p: of the value under chance, if a permutation test gives one. details: further numbers.
    columns, shift: it is the sum of their means, each times its factor, and of shift. combine: (…, C) means ▶ (…) values,
    where it is no such sum. limits: which a sum of resampled means may not pass. chance_columns: of a chance level that was
    measured on random scores and has its own noise; chance_se: of one that was permuted.
    counted: N, if it is a share of N.
    error: from halves; bound: a limit that the value approaches but never passes.
    drawn: (R,) replicates that are there already.
    """

    part: str = ""
    value: float = NAN
    chance: float = NAN
    best: float = NAN
    sizes: tuple[tuple[str, int], ...] = ()
    unavailable: str | None = None
    columns: tuple[Sums, ...] = ()
    shift: float = 0.0
    combine: Callable[[np.ndarray], np.ndarray] | None = None
    limits: tuple[float, float] | None = None
    p: float = NAN
    details: tuple[tuple[str, float], ...] = ()
    chance_columns: tuple[Sums, ...] = ()
    chance_se: float = 0.0
    counted: int = 0
    error: subsampling.Error | None = None
    bound: float = NAN
    drawn: np.ndarray | None = None

    @property
    def n(self) -> int:
        return sum(size for _, size in self.sizes)

    @property
    def normalised(self) -> float:
        return float(normalised(self.value, self.chance, self.best))

    def named(self, value: str, low: str, high: str) -> dict[str, float | None]:
        """Return the number and the ends of its interval as columns with these names; None where undefined."""
        numbers = zip((value, low, high), (self.value, *self.interval()), strict=True)
        return {name: defined(number) for name, number in numbers}

    def less(self, other: Value) -> Value:
        """Subtract another number from this one. n: of the one that has fewer."""
        return total(((1.0, self), (-1.0, other)))._replace(sizes=(("used", min(self.n, other.n)),))

    def interval(self) -> Interval:
        """Compute the 95 % interval."""
        return self.intervals()[0]

    def intervals(self) -> tuple[Interval, Interval]:
        """Compute `interval`, and that of value minus chance, including the error of a chance level that was measured or
        permuted; the two share most of the work.
        """
        if self.error is not None:
            around = self._around(self.error)
            return around, self._less(self._around(self.error.plus(self.chance_se)) if self.chance_se else around)
        if not self.columns or all(column.ends for column in self.columns):
            terms = [(column.factor, column.bounded()) for column in self.columns]
            around = sum_interval(terms, self.shift) if terms else percentile_interval(np.array([self.drawn], float).ravel())
            return around, self._less(around)
        influence, freedom = self._influence(self.columns)
        if self.counted:
            around = self._around(subsampling.Error(float(np.sqrt(np.square(influence).sum())), freedom, np.array([])))
            return around, self._less(around)
        around = self._possible(skewed_interval(self.value, influence, freedom), influence, freedom)
        if not self.chance_columns:
            return around, self._less(around)
        influence = influence - self._influence(self.chance_columns)[0]
        return around, skewed_interval(self.value - self.chance, influence, freedom)

    def _less(self, around: Interval) -> Interval:
        return Interval(around.low - self.chance, around.high - self.chance)

    def _possible(self, around: Interval, influence: np.ndarray, freedom: int) -> Interval:
        """Limit an interval: it ends before the best value, and has a width where all instances are alike.

        influence: (Q,) of the questions.
        """
        away = self.best - self.chance
        past = around.high >= self.best if away > 0 else around.low <= self.best
        if not (past or around.low == around.high) or not (np.isfinite(away) and away and freedom > 0):
            return around
        ends = sorted((self.chance - away, self.best))
        return Bounded(self.value, influence, freedom + 1, min(len(influence), freedom + 1), *ends).interval()

    def _around(self, error: subsampling.Error) -> Interval:
        if self.counted:
            return subsampling.share_interval(self.value, error, self.counted)
        if error.se == 0:  # all halves are alike
            numbers = self.chance, self.best, self.value
            return Bounded(self.value, np.zeros(1), self.n, self.n, min(numbers), max(numbers)).interval()
        low, high = subsampling.interval(self.value, error, self.bound)
        return Interval(low, min(high, self.best)) if self.best > self.chance else Interval(max(low, self.best), high)

    def _influence(self, columns: tuple[Sums, ...]) -> tuple[np.ndarray, int]:
        """Return how much each question moves the value, summing to 0; and the degrees of freedom of the value's error.

        To first order: the slope of the value in each mean, times the instance's contribution to that mean.
        """
        means = np.array([column.mean() for column in columns])
        steps = 1e-4 * np.maximum([column.sums[column.counts > 0].std() for column in columns], 1e-9)
        up, down = np.split(self.of_means(means + np.concatenate([np.diag(steps), -np.diag(steps)])), 2)
        influence: np.ndarray = np.zeros(len(columns[0].sums))
        for column, slope in zip(columns, (up - down) / (2 * steps), strict=True):
            influence += slope / column.n * np.sqrt(column.units / max(column.units - 1, 1)) * column.apart()
        groups = {column.counts.tobytes(): column.units for column in columns}
        return influence, sum(groups.values()) - len(groups)

    def of_means(self, means: np.ndarray) -> np.ndarray:
        """Compute (…) values from (…, C) means of its columns."""
        if self.combine is not None:
            return np.asarray(self.combine(means), dtype=np.float64)
        values = means @ np.array([column.factor for column in self.columns]) + self.shift
        return np.asarray(np.clip(values, *self.limits) if self.limits else values)


def defined(value: float) -> float | None:
    """Return the value; None where it is NaN or infinite."""
    return float(value) if np.isfinite(value) else None


def normalised(value: Any, chance: Any, best: Any) -> Any:
    """Normalise a value: 0 at chance, 1 at best; NaN if the two are equal."""
    span = np.asarray(best, dtype=np.float64) - chance
    return np.divide(np.subtract(value, chance), span, out=np.full(np.shape(span), np.nan), where=span != 0)


def replicates(values: Sequence[Value], weights: np.ndarray) -> list[np.ndarray]:
    """Compute (R,) replicates of each value under (R, U) weights, or from its halves; () if not available.

    One matrix product serves all columns of all values.
    """
    index_of: dict[int, int] = {}
    columns: list[Sums] = []
    for value in values:
        for column in value.columns if value.unavailable is None else ():
            if index_of.setdefault(id(column.sums), len(columns)) == len(columns):
                columns.append(column)
    means = resampled_means(weights, [(column.sums, column.counts) for column in columns])
    replicated = []
    for value in values:
        if value.unavailable is not None:
            replicated.append(np.array([]))
        elif value.error is not None:
            replicated.append(subsampling.replicates(value.value, value.error, len(weights)))
        elif value.drawn is not None:
            replicated.append(value.drawn)
        else:
            with np.errstate(invalid="ignore", divide="ignore"):
                replicated.append(value.of_means(means[:, [index_of[id(column.sums)] for column in value.columns]]))
    return replicated


def total(parts: Iterable[tuple[float, Value]], shift: float = 0.0) -> Value:
    """Return the sum of some numbers of the same units, each times its factor, plus a constant. n: that of all of them.

    It has columns if all parts do, and replicates if all parts have them.
    """
    parts = list(parts)
    columns = tuple(column._replace(factor=factor * column.factor) for factor, part in parts for column in part.columns)
    resampled: Any = None
    if all(part.drawn is not None for _, part in parts):
        resampled = np.sum([factor * np.asarray(part.drawn) for factor, part in parts], axis=0) + shift
    return Value(
        "",
        sum(factor * part.value for factor, part in parts) + shift,
        sizes=(("used", sum(part.n for _, part in parts)),),
        columns=columns if all(part.columns for _, part in parts) else (),
        shift=shift + sum(factor * part.shift for factor, part in parts),
        drawn=resampled,
    )


def average(values: Sequence[Value]) -> Value:
    return total((1 / len(values), value) for value in values)


def mean_of(
    part: str,
    groups: Sequence[Each],
    smallest: int,
    factors: Sequence[float] = (),
    names: Sequence[str] = (),
    ends: tuple[float, float] | None = None,
) -> Value:
    """Return the sum of the groups' means over their defined values, each times its factor; by default the mean of the means.

    So groups weigh the same, however many instances they have. Not available if one has fewer than `smallest`. names: of the
    groups; by default those of their parts. ends: the least and the largest possible value of an instance.
    """
    factors = factors or (1 / len(groups),) * len(groups)
    columns = tuple(Sums.of(each.value, factor=factor, ends=ends) for each, factor in zip(groups, factors, strict=True))
    named = zip(names or [each.part for each in groups], columns, strict=True)
    sizes = tuple((name, column.n) for name, column in named)
    if reason := too_small(sizes, smallest):
        return Value(part, sizes=sizes, unavailable=reason)
    used = [column.counts > 0 for column in columns]
    value, chance, best = (
        float(sum(factor * numbers[known].mean() for factor, numbers, known in zip(factors, of_groups, used, strict=True)))
        for of_groups in zip(*(each[1:] for each in groups), strict=True)
    )
    return Value(part, value, chance, best, sizes, columns=columns)


def means_of(parts: Sequence[Each], smallest: int, ends: tuple[float, float] | None = None) -> list[Value]:
    """Return the mean of each group's instances; with several groups also of all (`balanced`), weighing the same.

    All together need `smallest` instances, and each of them a third of that. ends: see `mean_of`.
    """
    means = [mean_of(each.part, [each], smallest, ends=ends) for each in parts]
    if len(parts) > 1:
        together = mean_of("balanced", parts, smallest // 3, ends=ends)
        reason = too_small((("used", together.n),), smallest)
        means.append(Value("balanced", sizes=together.sizes, unavailable=reason) if reason else together)
    return means


def too_small(sizes: tuple[tuple[str, int], ...], needed: int) -> str | None:
    """Return why a value is not available, as pages print it; None if every group is large enough."""
    reasons = (f"group {group} has {size} of the {needed} instances needed" for group, size in sizes if size < needed)
    return next(reasons, None)


class Resampled:
    """The questions (or claims) of a cell with their resamples, which are those of the other cells of a dataset."""

    def __init__(self, resamples: Resamples, facts: Iterable[str]):
        distinct = sorted(set(facts))
        questions, first, indices = np.unique(resamples.questions(distinct), return_index=True, return_inverse=True)
        self._index_of = dict(zip(distinct, indices.tolist(), strict=True))
        self._count = len(questions)
        self.weights = resamples.of([distinct[index] for index in first])

    def _of(self, facts: Iterable[str]) -> np.ndarray:
        return np.array([self._index_of[fact] for fact in facts], dtype=np.intp)

    def column(
        self,
        questions: Sequence[str] | np.ndarray,
        values: np.ndarray,
        once: bool = False,
        ends: tuple[float, float] | None = None,
    ) -> Sums:
        """Sum (N,) values by the question of each; NaN is left out. once: every question counts once."""
        values = np.asarray(values, dtype=float)
        known = ~np.isnan(values)
        indices = self._of(questions)[known]
        sums = np.bincount(indices, values[known], minlength=self._count)
        counts = np.bincount(indices, minlength=self._count).astype(float)
        if once:
            sums, counts = sums / np.maximum(counts, 1), np.minimum(counts, 1)
        return Sums(sums, counts, ends=ends)

    def by_question(self, value: Value, facts: Sequence[str] | np.ndarray) -> Value:
        """Return the same number, by what each question adds to it. value: of (N,) instances that ask these facts."""
        whole, of_chance = (
            tuple(column.by(self._of(facts), self._count) for column in part) for part in (value.columns, value.chance_columns)
        )
        return value._replace(columns=whole, chance_columns=of_chance)

    def means(self, columns: Mapping[Key, Sums]) -> dict[Key, Value]:
        """Return the mean of each column that has any value, with replicates, in one matrix product for all."""
        used = {key: column for key, column in columns.items() if column.n}
        means = resampled_means(self.weights, [(column.sums, column.counts) for column in used.values()])
        return {
            key: Value(
                "", column.mean(), sizes=(("used", column.n),), columns=(column,) if column.ends else (), drawn=means[:, index]
            )
            for index, (key, column) in enumerate(used.items())
        }

    def spearman(self, questions: Sequence[str] | np.ndarray, first: np.ndarray, second: np.ndarray) -> Value | None:
        """Return the rank correlation of (N,) values; None where one is constant, or there are fewer than three pairs.

        questions: (N,). Pairs in which a value is missing are left out.
        """
        x, y = (np.asarray(values, dtype=float) for values in (first, second))
        known = ~np.isnan(x) & ~np.isnan(y)
        value = spearman(x[known], y[known]) if known.any() else NAN
        if not np.isfinite(value):
            return None
        resampled = resampled_spearman(x[known], y[known], self.weights[:, self._of(questions)[known]])
        return Value("", value, sizes=(("used", int(known.sum())),), drawn=resampled)
