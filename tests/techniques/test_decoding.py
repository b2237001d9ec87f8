"""Decoding techniques by hand, and what their limits must be."""

import numpy as np
import pytest
import torch

from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.techniques.adaptive_context_aware import adacad
from heval_core.techniques.context_aware import cad
from heval_core.techniques.entropy_constraint import coiecd
from heval_core.techniques.shared.base import Setting, Trial, divergence
from heval_core.techniques.shared.context_use import bcu, ccu, pareto_front

LOG = np.log
NEVER = -1e9


def distribution(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_cad_by_hand_and_at_0_is_regular():
    assert distribution(cad(LOG([0.8, 0.2]), LOG([0.5, 0.5]), alpha=1)) == pytest.approx([0.9412, 0.0588], abs=1e-4)
    z_c, z_0 = np.random.default_rng(0).normal(size=(2, 5, 9))
    assert cad(z_c, z_0, alpha=0) == pytest.approx(z_c)


def test_adacads_factor_is_ln_2_for_distributions_that_share_nothing_and_0_for_equal_ones():
    apart = torch.tensor([[0.0, 0.0, NEVER, NEVER], [NEVER, NEVER, 0.0, 0.0]], dtype=torch.float64)
    assert float(divergence(apart[0], apart[1])) == pytest.approx(np.log(2))
    assert float(divergence(apart[0], apart[0])) == 0


@pytest.mark.slow
def test_no_techniques_scores_depend_on_the_precision_that_logits_come_in():
    z_c, z_0 = np.random.default_rng(12).normal(size=(2, 50, 3000)).astype(np.float32) * 5
    rows = np.arange(50)
    z_c[rows, rows], z_0[rows, rows + 50] = 25, 25
    for technique in (adacad, cad, coiecd):
        assert technique(z_c, z_0) == pytest.approx(technique(z_c.astype(float), z_0.astype(float)), rel=1e-12)
    setting = Setting('{"lam": 0.5, "alpha": 1.5}')
    searched = catalogue.find("technique", "coiecd").combined_by(torch.tensor(z_c), torch.tensor(z_0), [setting])
    assert next(iter(searched)).numpy() == pytest.approx(coiecd(z_c, z_0, 0.5, 1.5))


def test_coiecd_with_an_empty_interval_equals_cad_and_with_lambda_and_alpha_of_1_is_regular():
    z_0, z_c = LOG([0.6, 0.3, 0.1]), LOG([0.1, 0.3, 0.6])
    found = distribution(coiecd(z_c, z_0, 0.25, 1.0))
    assert found == pytest.approx([0.0043, 0.0766, 0.9191], abs=1e-4)
    assert found == pytest.approx(distribution(cad(z_c, z_0, alpha=1.0)))
    z_c, z_0 = np.random.default_rng(2).normal(size=(2, 50, 30)) * 4
    assert distribution(coiecd(z_c, z_0, 1.0, 1.0)) == pytest.approx(distribution(z_c))


def test_coiecd_as_written_out_token_by_token():
    rng, lam, alpha = np.random.default_rng(3), 0.5, 1.5
    z_c, z_0 = rng.normal(size=(2, 40, 6)) * 2
    found = coiecd(z_c, z_0, lam, alpha)
    kinds = set()
    for row in range(len(z_c)):
        lp_c, lp = np.log(distribution(z_c[row])), np.log(distribution(z_0[row]))
        surprise = -lp_c + (np.exp(lp) * lp).sum()
        q = np.log(distribution(surprise))
        low, high = q.min() - np.log(lam), q.max() + np.log(lam)
        below = [token for token in range(6) if q[token] < low]
        for token in range(6):
            expected = low <= q[token] <= high or below == [token]
            kinds.add(expected)
            assert found[row, token] == pytest.approx((lp if expected else lp_c)[token] + alpha * (lp_c - lp)[token])
    assert kinds == {True, False}


@pytest.mark.parametrize(("lam", "alpha"), [(0.05, 1), (1.1, 1), (0.5, -0.1), (0.5, 2.5)])
def test_coiecd_out_of_range_is_refused(lam, alpha):
    with pytest.raises(HEvalError, match="coiecd needs"):
        coiecd(np.zeros(3), np.zeros(3), lam, alpha)
    with pytest.raises(HEvalError, match="coiecd needs"):
        catalogue.find("technique", f"coiecd(lam={lam},alpha={alpha})")


@pytest.mark.parametrize(("call", "told"), [
    (lambda: adacad(np.zeros((2, 3)), np.zeros((2, 4))), "same shape"), (lambda: ccu(1.2, 0.5), "probabilities"),
], ids=["logits of different shapes", "what is no probability"])  # fmt: skip
def test_what_cannot_be_is_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_what_comes_as_an_array_goes_as_one():
    z = torch.randn(2, 4)
    assert isinstance(adacad(z, z), torch.Tensor)
    assert isinstance(adacad(z.numpy(), z.numpy()), np.ndarray)
    assert adacad(z.half(), z.half()).dtype is torch.float64


def test_coiecd_is_chosen_on_gold_and_its_ties_are_kept_mildest_first():
    technique = catalogue.find("technique", "coiecd")
    settings = technique.settings(None)
    assert settings[0] == Setting('{"lam": 1.0, "alpha": 1.0}')
    assert len(settings) == len(set(settings)) == 25
    trials = [
        Trial(one, {"gold": 0.5, "conflicting": 0.1 * n}, {"gold": 4, "conflicting": 4}) for n, one in enumerate(settings)
    ]
    trials[7] = Trial(settings[7], {"gold": 0.75, "conflicting": 0}, {"gold": 4, "conflicting": 4})
    trials[3] = Trial(settings[3], {"gold": 0.75, "conflicting": 0}, {"gold": 4, "conflicting": 4})
    assert technique.best(trials) == (3, 7)


def test_bcu_by_hand():
    assert bcu(5, (4, 5)) == 1
    assert bcu(6, (4, 5)) == 0
    assert bcu(6, ()) == 0


@pytest.mark.parametrize(
    ("p_c", "p_0", "expected"),
    [(0.75, 0.5, 0.5), (0.25, 0.5, -0.5), (1, 0, 1), (0, 1, -1), (0.3, 0.3, 0), (1, 1, 1), (0, 0, -1), (0.2, 0, 0.2)],
)
def test_ccu_by_hand(p_c, p_0, expected):
    assert ccu(p_c, p_0) == pytest.approx(expected, abs=1e-9)


def test_pareto_front_by_hand_and_against_a_sorted_sweep():
    assert pareto_front([(0.5, 0.5), (0.6, 0.4), (0.5, 0.4), (0.5, 0.5), (0.1, 0.9)]) == [True, True, False, True, True]
    assert pareto_front([]) == []
    points = [tuple(point) for point in np.random.default_rng(4).integers(0, 8, size=(60, 2))]
    best, expected = -1, set()
    for x in sorted({x for x, _ in points}, reverse=True):
        highest = max(y for other, y in points if other == x)
        if highest > best:
            expected.add((x, highest))
            best = highest
    assert [point in expected for point in points] == pareto_front(points)
