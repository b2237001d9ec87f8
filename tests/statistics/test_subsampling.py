"""Halves and their errors: by hand, for means whose error is known, and for what is drawn besides."""

import math

import numpy as np
import pytest

from heval_core.statistics.bootstrap import SPLITS, priorities
from heval_core.statistics.bounded import share_interval
from heval_core.statistics.subsampling import Error, Runs, interval, replicates, splits
from heval_core.statistics.values import Value


def runs_of(values, order, draws=1, noise=0.0, seed=0):
    """Runs of a mean, with noise of its own in every computation."""
    rng = np.random.default_rng(seed)
    halves = values[splits(order)].mean(axis=2)[:, :, None] + noise * math.sqrt(2) * rng.standard_normal(
        (len(order), 2, draws)
    )
    whole = values.mean() + noise * rng.standard_normal(max(draws, 1) if noise else 1)
    return Runs(whole, halves, 2 * (len(values) // 2) / len(values))


def test_a_split_has_two_halves_that_share_nothing_and_the_odd_one_is_left_out():
    order = priorities(7)
    for (first, second), own in zip(splits(order), order, strict=True):
        assert set(own[first]) == {0, 1, 2}
        assert set(own[second]) == {4, 5, 6}


def test_the_error_is_worked_by_hand():
    """Splits whose halves differ by 2, -4 and 0: deviations 1, -2, 0, mean square 5/3."""
    error = Runs(np.array([5.0]), np.array([[[6.0], [4.0]], [[3.0], [7.0]], [[5.0], [5.0]]])).error()
    assert error.se == pytest.approx(math.sqrt(5 / 3))
    assert error.df == 3
    assert np.square(error.deviations).mean() == pytest.approx(5 / 3)


def test_the_error_of_a_mean_is_its_textbook_error():
    values = np.random.default_rng(0).standard_normal(101)
    found = [runs_of(values, priorities(101, seed)).error().se for seed in range(40)]
    expected = values.std(ddof=1) / math.sqrt(101)
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / math.sqrt(40)


def test_what_drawing_adds_is_taken_out_of_the_halves_and_left_in_the_value():
    """A mean with an error of .1, drawn four times with noise of .3: its own error is then sqrt(.01 + .09/4)."""
    found = []
    for seed in range(200):
        values = np.random.default_rng(seed).standard_normal(100)
        found.append(runs_of(values, priorities(100, seed), 4, 0.3, seed).error().se ** 2)
    assert abs(np.mean(found) - (0.01 + 0.09 / 4)) < 4 * np.std(found) / math.sqrt(200)


def test_replicates_have_the_error_and_stay_paired():
    one = np.random.default_rng(3).standard_normal(90)
    other = one + 0.1 * np.random.default_rng(4).standard_normal(90)
    order = priorities(90)
    first, second = runs_of(one, order), runs_of(other, order)
    spread = [replicates(0.0, own.error(), 4000) for own in (first, second)]
    assert spread[0].std() == pytest.approx(first.error().se, rel=0.08)
    assert (spread[0] - spread[1]).std() == pytest.approx(
        Runs(first.whole - second.whole, first.parts - second.parts).error().se, rel=0.08
    )


def test_halves_without_a_value_are_passed_over_and_too_few_give_none():
    parts = np.random.default_rng(0).standard_normal((SPLITS, 2, 1))
    parts[::5, 0] = np.nan
    assert math.isfinite(Runs(np.array([0.0]), parts).error().se)
    parts[10:, 1] = np.nan
    error = Runs(np.array([0.0]), parts).error()
    assert math.isnan(error.se)
    assert np.isnan(replicates(0.0, error, 10)).all()


def test_next_to_a_bound_that_it_never_passes_an_interval_is_at_most_1_7_times_as_long_as_students():
    error = Error(0.3, 20.0, np.zeros(0))
    (low, high), plain = interval(0.695, error, 0.6962), interval(0.695, error)
    assert 0.695 - low == pytest.approx((math.e - 1) * (0.695 - plain.low))
    assert 0.695 < high <= 0.6962
    assert Value("", 1.0, 0.3, 1.2, error=error).interval().high == 1.2
    alike = Value("", 1.0, 0.3, 1.0, (("C", 60),), error=error._replace(se=0.0), bound=1.0).interval()
    assert alike == pytest.approx((0.3 + 0.7 * share_interval(1.0, 60.0).low, 1.0))
    assert Value("", 1.0, 0.3, 1.0, error=error, bound=1.0).interval() == pytest.approx((interval(1.0, error).low, 1.0))
