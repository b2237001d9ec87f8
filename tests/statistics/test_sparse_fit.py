"""ContextCite's surrogate: masks, log-odds, and the fit against scikit-learn and a planted truth."""

import numpy as np
import pytest

from heval_core.statistics import sparse_fit


def test_log_odds_by_hand_and_of_what_is_certain():
    found = sparse_fit.log_odds(np.log([0.5, 0.8, 1.0, 1e-30]))
    np.testing.assert_allclose(found[[0, 1, 3]], [0, np.log(4), np.log(1e-30)], atol=1e-9)
    assert 10 < found[2] < np.inf


def test_masks_are_all_subsets_or_64_that_keep_half():
    assert {tuple(row) for row in sparse_fit.masks(2, 0).tolist()} == {
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    }
    assert sparse_fit.masks(6, 0).shape == (64, 6)
    many = sparse_fit.masks(100, 3)
    assert many.shape == (64, 100)
    assert many.mean() == pytest.approx(0.5, abs=4 * 0.5 / 6400**0.5)
    np.testing.assert_array_equal(many, sparse_fit.masks(100, 3))


def test_a_weight_that_is_planted_is_found_less_what_the_lasso_takes():
    """Of a part kept half of the time, a Lasso takes alpha / variance = .04 of its weight."""
    kept = sparse_fit.masks(6, 0)
    found = sparse_fit.weights(kept, 2.0 * kept[:, 1] - 1.0 * kept[:, 4] + 0.01 * kept[:, 5] + 3)
    np.testing.assert_allclose(found, [0, 1.96, 0, 0, -0.96, 0], atol=1e-3)
