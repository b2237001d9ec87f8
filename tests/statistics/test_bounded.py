"""Intervals of shares, and of their sums and differences, against the binomial distribution and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from heval_core.statistics.bounded import Bounded, mean_interval, share_interval, sum_interval


def mean_of(values, ends=(0.0, 1.0)) -> Bounded:
    """Of (questions, answers of each) values."""
    values = np.asarray(values, dtype=float).reshape(len(values), -1)
    return Bounded(values.mean(), (values - values.mean()).sum(axis=1) / values.size, values.size, len(values), *ends)


def difference(first, second):
    apart = np.asarray(first, dtype=float) - second
    return sum_interval([(sign, mean_of((sign * apart).clip(0))) for sign in (1.0, -1.0)])


@pytest.mark.parametrize("size", [20, 55, 157, 500, 2000])
def test_a_share_is_held_wherever_it_is(size):
    hits, truths = np.arange(size + 1), np.linspace(0.005, 0.995, 199)
    ends = np.array([share_interval(own / size, float(size)) for own in hits])
    covered = np.array([binom.pmf(hits, size, p)[(ends[:, 0] <= p) & (p <= ends[:, 1])].sum() for p in truths])
    assert covered.min() > 0.92
    assert 0.94 < covered.mean() < 0.97
    assert (ends[:, 0] >= 0).all()
    assert (ends[:, 1] <= 1).all()
    assert (ends[:, 1] - ends[:, 0] > 1 / size).all()


@pytest.mark.parametrize(("hits", "size"), [(0, 12), (3, 12), (156, 157), (157, 157)])
def test_ends_are_where_the_binomial_test_begins_to_reject(hits, size):
    low, high = share_interval(hits / size, float(size))
    if hits:
        assert binom.sf(hits, size, low) + binom.pmf(hits, size, low) / 2 == pytest.approx(0.025, abs=1e-5)
    if hits < size:
        assert binom.cdf(hits - 1, size, high) + binom.pmf(hits, size, high) / 2 == pytest.approx(0.025, abs=1e-5)


def test_answers_to_one_question_count_as_far_as_they_differ():
    once = np.arange(2000) < 1600
    alike = np.repeat(once[:, None], 4, axis=1)
    assert mean_of(alike).interval() == pytest.approx(mean_of(once).interval(), abs=0.0005)
    apart = np.random.default_rng(0).permutation(np.repeat(once, 4)).reshape(2000, 4)
    low, high = mean_of(apart).interval()
    assert high - low == pytest.approx((mean_of(once).interval().high - mean_of(once).interval().low) / 2, rel=0.1)
    # Where all are right, nothing says that they are independent.
    assert mean_of(np.ones((100, 4))).interval() == pytest.approx(mean_of(np.ones(100)).interval(), abs=0.001)


def test_ends_other_than_0_and_1():
    values = np.random.default_rng(1).random(50)
    low, high = mean_of(values).interval()
    assert mean_of(2 * values - 1, (-1.0, 1.0)).interval() == pytest.approx((2 * low - 1, 2 * high - 1))
    assert mean_of(-values, (-1.0, 0.0)).interval() == pytest.approx((-high, -low))
    assert mean_of([0.7]).interval() == (0, 1)


def test_a_difference_of_independent_shares_is_newcombes():
    """Newcombe 1998, method 10: independent shares add the squares of their distances to their own ends."""
    first, second = np.repeat([1, 1, 0, 0], [40, 40, 10, 10]), np.repeat([1, 0, 1, 0], [32, 48, 8, 12])
    one, other = mean_of(first), mean_of(second)
    assert one.influence @ other.influence == pytest.approx(0, abs=1e-12)
    (low, high), (low_2, high_2) = one.interval(), other.interval()
    expected = (0.4 - np.hypot(0.8 - low, high_2 - 0.4), 0.4 + np.hypot(high - 0.8, 0.4 - low_2))
    assert sum_interval([(1.0, one), (-1.0, other)]) == pytest.approx(expected)


def test_what_agrees_everywhere_still_has_a_width_and_nothing_passes_the_possible():
    rng = np.random.default_rng(2)
    some = rng.random(55) < 0.6
    low, high = difference(some, some)
    assert -0.08 < low < -0.02 < 0.02 < high < 0.08
    right = mean_of(np.ones(55))
    low, high = sum_interval([(1.0, right), (1.0, right)], -1.0)
    assert (low < 0.99, high) == (True, 1)
    assert difference(np.ones(20), np.zeros(20)).high == 1
    # What differs by the rounding of float32 is alike.
    assert mean_of(1e-7 * rng.random(55)).interval() == pytest.approx(mean_of(np.zeros(55)).interval(), abs=1e-6)


@pytest.mark.parametrize("one_sided", [0.0, 0.01, 0.05, 0.1])
def test_terms_that_cancel_in_nearly_every_question_are_held(one_sided):
    """Followed and ignored, where whoever follows never ignores, but for a share who do both: the sum less 1 is that share."""
    rng, held = np.random.default_rng(3), []
    for _ in range(200):
        follows, both = rng.random((2, 89)) < [[0.6], [one_sided / 0.6]]
        low, high = sum_interval([(1.0, mean_of(follows)), (1.0, mean_of(~follows | both))], -1.0)
        held.append(low <= one_sided <= high)
        assert high - low > 0.02
    assert np.mean(held) > 0.92


@pytest.mark.parametrize(("p", "q", "size"), [(0.9, 0.8, 55), (0.98, 0.95, 157), (0.995, 0.9, 157), (0.5, 0.5, 20)])
def test_paired_differences_are_held(p, q, size):
    rng, held = np.random.default_rng(3), []
    for _ in range(300):
        drawn = rng.random((2, size))
        together = np.where(rng.random(size) < 0.4, drawn[0], drawn[1])
        low, high = difference(drawn[0] < p, together < q)
        held.append(low <= p - q <= high)
    assert np.mean(held) > 0.92


def test_a_mean_over_cells_by_hand():
    """Distances 3 and 4: 5/2 apart, 7/2 together, and 1/2 against each other; of a single one its own ends."""
    values, low, high = np.array([10.0, 20.0]), np.array([7.0, 16.0]), np.array([13.0, 24.0])
    apart, same = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1.0]]), np.array([[1, 1], [-1, -1.0]])
    for drawn, away in ((apart, 2.5), (same, 3.5), (same * [1, -1], 0.5), (None, 3.5), (same * [1, 0], 3.5)):
        assert mean_interval(values, low, high, drawn) == pytest.approx((15 - away, 15 + away))
    assert mean_interval(values[:1], low[:1], high[:1], same[:, :1]) == (7, 13)
    assert np.isnan(mean_interval(values, np.array([7, np.nan]), high, apart).low)


@pytest.mark.parametrize("truth", [0.5, 0.9, 0.97, 0.995])
@pytest.mark.parametrize("shared", [0.0, 0.6])
def test_a_mean_over_cells_that_share_questions_is_held(truth, shared):
    """Four cells of 60 questions; of so many answers some are one draw of the question for all cells."""
    rng, held, draws = np.random.default_rng(3), 0, 200
    weights = rng.multinomial(60, np.full(60, 1 / 60), size=400) / 60
    for _ in range(draws):
        same = rng.random((60, 4)) < shared
        right = np.where(same, rng.random((60, 1)) < truth, rng.random((60, 4)) < truth)
        ends = np.array([mean_of(own).interval() for own in right.T])
        low, high = mean_interval(right.mean(axis=0), *ends.T, weights @ right)
        held += low <= truth <= high
        assert 0 <= low < high <= 1
    assert held / draws >= 0.92
