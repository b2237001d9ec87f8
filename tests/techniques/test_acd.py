"""ACD by hand, and with many digits."""

import numpy as np
import pytest
import torch
from mpmath import mp

from heval_core.techniques.adaptive_contrastive import acd, entropy

LOG = np.log
NEVER = -1e9


def test_acd_by_hand_and_in_the_middle_where_both_are_certain():
    z_0, z_c = LOG([0.5, 0.5, 1e-12]), LOG([0.25, 0.25, 0.5])
    # H(p_0) = ln 2, H(p_c) = 1.5 ln 2: alpha = 1 / 2.5.
    assert acd(z_c, z_0) == pytest.approx(z_0 + 0.4 * (z_c - z_0), abs=1e-6)
    z_c, z_0 = np.array([NEVER, 0.0]), np.array([0.0, NEVER])
    assert float(entropy(torch.tensor(z_c))) == 0
    assert acd(z_c, z_0) == pytest.approx([NEVER / 2, NEVER / 2])


def test_acd_keeps_its_digits_where_both_distributions_are_sharp():
    rng = np.random.default_rng(11)
    z_c, z_0 = (rng.normal(size=(5, 40)).astype(np.float32) for _ in range(2))
    sharp = np.array([3, 12, 20, 30, 60], dtype=np.float32)
    z_c[:, 7], z_0[:, 3] = sharp, sharp[::-1]

    def nats(z):
        p = [mp.exp(mp.mpf(float(one))) for one in z]
        return -sum(one / sum(p) * mp.log(one / sum(p)) for one in p)

    with mp.workdps(60):
        for row in range(5):
            alone, context = nats(z_0[row]), nats(z_c[row])
            alpha = alone / (alone + context)
            wanted = [
                mp.mpf(z) + alpha * (mp.mpf(c) - mp.mpf(z)) for c, z in zip(z_c[row].tolist(), z_0[row].tolist(), strict=True)
            ]
            assert acd(z_c, z_0)[row] == pytest.approx(np.array(wanted, dtype=float), rel=1e-12, abs=1e-12)


def test_its_scores_do_not_depend_on_the_precision_that_logits_come_in():
    z_c, z_0 = np.random.default_rng(12).normal(size=(2, 50, 3000)).astype(np.float32) * 5
    assert acd(z_c, z_0) == pytest.approx(acd(z_c.astype(float), z_0.astype(float)), rel=1e-12)
