"""Ranks against scipy, normalisation, and rounding that keeps every rank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from heval_core.records import HEvalError
from heval_core.statistics.scores import average_ranks, check, normalise, round_keeping_ranks, tied

SCORES = arrays(np.float32, st.integers(1, 40), elements=st.floats(-8, 8, width=32))
TIED = arrays(np.float32, st.integers(1, 40), elements=st.sampled_from([0.0, 1.0, -1.0, 0.5]))


@given(st.one_of(SCORES, TIED), st.integers(0, 5))
def test_ranks_equal_scipys_and_positions_that_take_no_part_neither_get_nor_take_one(scores, padding):
    expected = rankdata(-scores.astype(np.float64))
    np.testing.assert_array_equal(average_ranks(scores)[0], expected)
    padded = np.concatenate([scores, np.full(padding, 99, dtype=np.float32)])[None]
    ranks = average_ranks(padded, np.arange(padded.shape[1])[None] < len(scores))[0]
    np.testing.assert_array_equal(ranks[: len(scores)], expected)
    assert np.isnan(ranks[len(scores) :]).all()


@given(st.one_of(SCORES, TIED))
def test_rounding_for_storage_changes_no_rank_and_little_else(scores):
    rounded = round_keeping_ranks(scores)
    np.testing.assert_array_equal(average_ranks(rounded), average_ranks(scores))
    np.testing.assert_allclose(rounded, scores, rtol=2**-10, atol=1e-37)


def test_rounding_takes_as_many_bits_as_close_neighbours_need():
    close = np.array([1, 1 + 2**-20, 1 + 2**-21], dtype=np.float32)
    assert len(np.unique(round_keeping_ranks(close))) == 3


def test_signed_scores_are_divided_by_their_l1_norm_and_attention_is_left_alone():
    np.testing.assert_allclose(normalise(np.array([1.0, -3.0]), True), [0.25, -0.75])
    np.testing.assert_array_equal(normalise(np.zeros(3), True), np.zeros(3))
    np.testing.assert_array_equal(normalise(np.array([0.2, 0.8]), False), [0.2, 0.8])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_cannot_be_ranked_are_refused_with_their_instance(bad):
    with pytest.raises(HEvalError, match="Instance 7"):
        check(np.array([1.0, bad]), "Instance 7")


def test_the_share_of_tied_scores_counts_every_score_that_another_one_equals():
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 40):
        values = rng.integers(0, 12, size).astype(np.float32)
        assert tied(values) == pytest.approx(sum((values == value).sum() > 1 for value in values) / size)
    assert tied(np.zeros(5)) == 1
