"""Intervals and tests of hypotheses, against scipy, by enumeration, and under what they promise."""

import doctest

import numpy as np
import pytest
import scipy.stats
from threadpoolctl import threadpool_limits

from heval_core.statistics import bootstrap, correlation
from heval_core.statistics.bootstrap import Resamples, percentile_interval, resample_weights, resampled_means
from heval_core.statistics.correlation import clustered_spearman, holm, spearman
from heval_core.statistics.values import Resampled, Sums, Value


def test_the_examples_worked_by_hand_hold():
    assert doctest.testmod(correlation, extraglobs={"np": np}) == (0, 2)


def test_holm_is_monotone_and_counts_only_what_was_tested():
    p = np.array([0.01, np.nan, 0.02, 0.5])
    assert holm(p)[[0, 2, 3]].tolist() == [0.03, 0.04, 0.5]
    assert np.isnan(holm(p)[1])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


def test_resampled_means_are_the_means_of_what_was_drawn():
    rng = np.random.default_rng(0)
    values, used = rng.random((30, 2)), rng.random((30, 2)) < 0.7
    draws = rng.integers(0, 30, (5, 30))
    weights = np.stack([np.bincount(row, minlength=30) for row in draws]).astype(np.uint8)
    columns = [(np.where(used, values, 0)[:, place], used[:, place].astype(float)) for place in (0, 1)]
    for row, found in zip(draws, resampled_means(weights, columns), strict=True):
        for column in (0, 1):
            assert found[column] == pytest.approx(values[row, column][used[row, column]].mean(), rel=1e-12)


def test_resampled_means_depend_neither_on_threads_nor_on_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    values, used = rng.random((3000, 24)), rng.random((3000, 3))[:, np.arange(24) % 3] < 0.5
    weights = resample_weights(3000, 200)
    columns = list(zip((values * used).T, used.T.astype(float), strict=True))
    found = {}
    for threads in (1, 2):
        with threadpool_limits(threads):
            found[threads] = resampled_means(weights, columns)
    np.testing.assert_allclose(found[1], found[2], rtol=1e-13)
    monkeypatch.setattr(bootstrap, "BLOCK", 7 * 3000)
    np.testing.assert_array_equal(resample_weights(3000, 200), weights)
    np.testing.assert_allclose(resampled_means(weights, columns), found[1], rtol=1e-13)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(200):
        values = rng.normal(2, 3, 80)
        weights = resample_weights(80, 500, seed=trial)
        low, high = percentile_interval(resampled_means(weights, [(values, np.ones(80))])[:, 0])
        covered += low < 2 < high
    assert 0.89 < covered / 200 < 0.99


def test_resamples_are_the_same_whatever_the_order_and_differ_between_datasets():
    asked = {f"f{number}": f"q{number}" for number in range(3)}
    one, two = Resamples("a", asked), Resamples("a", dict(reversed(asked.items())))
    np.testing.assert_array_equal(one.of(["f2", "f0"]), two.of(["f2", "f0"]))
    assert (Resamples("b", asked).of(["f0"]) != one.of(["f0"])).any()


def test_facts_with_one_question_are_drawn_together_and_count_as_one_answer():
    asked = {f"{number}|{again}": f"q{number}" for number in range(30) for again in range(2)}
    resamples = Resamples("d", asked)
    for drawn in (resamples.of, resamples.order):
        np.testing.assert_array_equal(*(drawn([f"4|{again}"]) for again in range(2)))

    def mean(facts, ends=(0.0, 1.0)):
        values = np.array([float(asked[fact] > "q2") for fact in facts])
        value = Value("", values.mean(), 0.5, 1.0, columns=(Sums.of(values, ends=ends),))
        return Resampled(resamples, facts).by_question(value, facts)

    once = [fact for fact in asked if fact.endswith("0")]
    for ends in ((0.0, 1.0), None):
        twice, alone = mean(list(asked), ends), mean(once, ends)
        assert (len(twice.columns[0].sums), twice.columns[0].n, alone.columns[0].n) == (30, 60, 30)
        assert twice.interval() == pytest.approx(alone.interval(), abs=0.01)


def test_a_clustered_correlation_is_that_of_the_clusters_that_were_drawn():
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(12), 4)
    one = rng.integers(0, 9, 48).astype(float)
    other = one + rng.integers(0, 9, 48)
    rho, (low, high) = clustered_spearman(one, other, [f"{cluster:02}" for cluster in clusters])
    assert rho == spearman(one, other)
    drawn = []
    for weights in resample_weights(12):
        again = np.repeat(np.arange(48), weights[clusters])
        drawn.append(scipy.stats.spearmanr(one[again], other[again]).statistic)
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert low < rho < high
    assert np.isnan(clustered_spearman(one, other, ["a"] * 48)[1]).all()
