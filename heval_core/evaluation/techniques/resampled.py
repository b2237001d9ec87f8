"""Means over test answers with their intervals, and the same means in every resample of the questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from heval_core.statistics.bootstrap import Interval, Resamples, percentile_interval, resampled_sums
from heval_core.statistics.bounded import Bounded, sum_interval
from heval_core.statistics.correlation import resampled_spearman, spearman


class Column(NamedTuple):
    """Of each question: the sum of some values of its answers, and how many there are; two (Q,) arrays.

    ends: the least and the largest possible value; None where there are none.
    """

    sums: np.ndarray
    counts: np.ndarray
    ends: tuple[float, float] | None = None

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def terms(self) -> tuple[tuple[float, Bounded], ...]:
        """What the interval of the mean is made of; nothing without ends."""
        if self.ends is None:
            return ()
        total = self.counts.sum()
        mean = self.sums.sum() / total
        moved = (self.sums - mean * self.counts) / total
        return ((1.0, Bounded(float(mean), moved, self.n, int((self.counts > 0).sum()), *self.ends)),)


class Spread(NamedTuple):
    """A number, and the same number in each of R resamples: values is (1 + R,), the number itself first.

    terms, shift: the means whose sum it is, if it is one, and a constant added to them.
    """

    values: np.ndarray
    n: int
    terms: tuple[tuple[float, Bounded], ...] = ()
    shift: float = 0.0

    @property
    def value(self) -> float:
        return float(self.values[0])

    @property
    def interval(self) -> Interval:
        """95 %: of sums of means between two ends as in `statistics.bounded`, of others the middle of the resamples.

        NaN where it is undefined in more than half of the resamples.
        """
        return sum_interval(self.terms, self.shift) if self.terms else percentile_interval(self.values[1:])

    def named(self, value: str, low: str, high: str) -> dict[str, float | None]:
        """The number and the ends of its interval as columns with these names; None where undefined."""
        numbers = zip((value, low, high), (self.value, *self.interval), strict=True)
        return {name: float(number) if np.isfinite(number) else None for name, number in numbers}


def total(parts: Iterable[tuple[float, Spread]], n: int, shift: float = 0.0) -> Spread:
    """The sum of some numbers of the same questions, each times its factor, plus a constant."""
    parts = list(parts)
    values = np.sum([factor * part.values for factor, part in parts], axis=0) + shift
    terms = [(factor * own, mean) for factor, part in parts for own, mean in part.terms]
    known = all(part.terms for _, part in parts)
    return Spread(values, n, tuple(terms) if known else (), shift + sum(factor * part.shift for factor, part in parts))


class Questions:
    """The questions of one model and dataset with their resamples, which are those of the dataset's other cells."""

    def __init__(self, resamples: Resamples, questions: pd.Series):
        self._all = pd.Index(sorted(set(questions)))
        drawn = resamples.of(self._all)
        self._weights = np.concatenate([np.ones((1, len(self._all)), drawn.dtype), drawn])

    def column(
        self, rows: pd.DataFrame, values: pd.Series, per_question: bool = False, ends: tuple[float, float] | None = None
    ) -> Column:
        """rows: with fact_id. values: of the rows; NaN is left out. per_question: every question counts once.

        ends: the least and the largest possible value.
        """
        there = values.notna().to_numpy()
        places = self._all.get_indexer(rows["fact_id"])[there]
        own = values.to_numpy(dtype=float)[there]
        sums = np.bincount(places, own, minlength=len(self._all))
        counts = np.bincount(places, minlength=len(self._all)).astype(float)
        if per_question:
            return Column(sums / np.maximum(counts, 1), np.minimum(counts, 1), ends)
        return Column(sums, counts, ends)

    def spearman(self, rows: pd.DataFrame, first: pd.Series, second: pd.Series) -> Spread | None:
        """The rank correlation of two columns of the rows; None where one is constant, or there are fewer than three rows.

        rows: with fact_id. Those in which a value is missing are left out.
        """
        known = (first.notna() & second.notna()).to_numpy()
        x, y = (column.to_numpy(dtype=float)[known] for column in (first, second))
        value = spearman(x, y) if len(x) else float("nan")
        if not np.isfinite(value):
            return None
        drawn = self._weights[1:, self._all.get_indexer(rows["fact_id"])[known]]
        return Spread(np.concatenate([[value], resampled_spearman(x, y, drawn)]), len(x))

    def spreads(self, columns: Mapping[tuple[str, str], Column]) -> dict[tuple[str, str], Spread]:
        """By regime and measure, the mean of each column that has any value, in one matrix product for all."""
        used = {key: column for key, column in columns.items() if column.n}
        if not used:
            return {}
        both = np.stack([part for column in used.values() for part in column[:2]], axis=1)
        sums = resampled_sums(self._weights, both)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums[:, ::2] / sums[:, 1::2]
        return {key: Spread(means[:, place], column.n, column.terms) for place, (key, column) in enumerate(used.items())}
