"""Rows against rows: differences, tests and counts, against literal code and against chance."""

import numpy as np
import pytest
from scipy.stats import norm

from heval_core.evaluation.comparisons import against, apart, tally
from tests.board.planted import BEST, CHANCE, cells_of, level, planted, truth_of


def test_wins_ties_and_losses_of_a_planted_truth():
    def truth(explainer, question, model, dataset, regime):
        base = {"a": 0.5, "b": 0.3}[explainer]
        return 0.4 if dataset == "data-2" else base if model == "model-a" else 0.8 - base

    made = planted(truth=truth, explainers=("a", "b"), noise=0.01)
    for question, own in made.pairs.groupby("column"):
        # Better on model-a, worse on model-b, equal on data-2.
        counts = tally(own)
        assert [counts[name] for name in ("wins", "ties", "losses", "compared")] == [1, 2, 1, 4], question
        assert counts["mean difference"] == pytest.approx(0.0)


def test_a_pair_by_hand():
    table = {"a": level(0.5, 0.52, 0.5), "b": level(0.5, 0.5, 0.5)}
    measured = cells_of(truth_of(table), ["a", "b"], noise=0.01)
    (measure,) = [own for own in measured if own.question == "RQ2"]
    drawn, p = measured[measure].set_index(["explainer", "model", "dataset"])["drawn"], {}
    for where, own in drawn["a"].items():
        p[where] = 2 * norm.sf(0.02 / np.std((own - drawn["b"][where]) / (BEST - CHANCE), ddof=1))
    order = sorted(p, key=p.__getitem__)
    corrected, largest = {}, 0.0
    for place, where in enumerate(order):
        largest = max(largest, min(1.0, (4 - place) * p[where]))
        corrected[where] = largest
    pairs = planted(table, noise=0.01).pairs
    for row in pairs[pairs["column"] == "RQ2"].itertuples():
        where = row.model, row.dataset
        assert (row.first, row.second, row.cells) == ("a", "b", 1)
        assert row.difference == pytest.approx(0.02)
        assert row.p == pytest.approx(p[where], rel=1e-6)
        assert row.p_holm == pytest.approx(corrected[where], rel=1e-6)
        assert row.better == ("a" if corrected[where] < 0.05 else "")


def test_equal_rows_are_never_told_apart_and_without_noise_every_difference_is():
    drawn = np.zeros((100, 2)) + [0.0, 0.1]
    same, clear = apart(np.array([0.0, 0.1]), drawn)
    assert same == {"difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
    assert (clear["low"], clear["p"]) == (0.1, 0.0)
    rounding = 1e-17 * np.random.default_rng(0).normal(8, 1, (100, 1))
    assert apart(np.array([8e-17]), rounding)[0]["p"] == 1.0  # what differs by rounding is equal


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_without_an_error_nothing_is_told_apart():
    assert apart(np.array([0.5]), np.full((100, 1), np.nan))[0]["p"] == 1.0


def test_rows_without_a_difference_rarely_win():
    """Sixty pairs in four places each: of all pairs at most one in twenty has any win, up to chance."""
    keys = [f"m{number}" for number in range(6)]
    rng = np.random.default_rng(5)

    def truth(explainer, question, model, dataset, regime):
        return 0.4 + rng.normal(0, 0.02)

    pairs = planted(truth=truth, explainers=keys, noise=0.02).pairs
    tested = pairs.groupby(["column", "first", "second"])["better"].apply(lambda own: (own != "").any())
    assert len(tested) == 45
    assert tested.mean() < 0.2


def test_where_a_row_lacks_a_cell_it_is_not_compared():
    def truth(explainer, question, model, dataset, regime):
        return None if explainer == "b" and model == "model-b" else 0.5

    pairs = planted(truth=truth, explainers=("a", "b", "c")).pairs
    own = pairs[(pairs["first"] == "a") & (pairs["second"] == "b")]
    assert set(own["model"]) == {"model-a"}
    assert set(pairs[pairs["second"] == "c"]["model"]) == {"model-a", "model-b"}


def test_turned_round_a_difference_changes_its_sign_and_its_ends():
    pairs = planted({"a": level(0.5, 0.5, 0.5), "b": level(0.2, 0.2, 0.2)}).pairs
    turned = against(pairs, "b")
    assert set(turned["first"]) == {"b"}
    assert turned["difference"].tolist() == pytest.approx([-0.3] * len(turned))
    assert (turned["low"] < turned["difference"]).all()
    assert (turned["difference"] < turned["high"]).all()
