"""What every technique that is found must keep to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from heval_core import catalogue, protocols
from heval_core.lm.needs import NEEDS
from heval_core.records import TECHNIQUE
from heval_core.techniques.shared.base import NOTHING

TECHNIQUES = catalogue.techniques()
DECODING = [one for one in TECHNIQUES.values() if one.family == "decoding"]
OTHERS = [one for one in TECHNIQUES.values() if one.family != "decoding"]


def test_techniques_have_numbers_of_their_own_and_regular_is_the_first():
    orders = [technique.order for technique in TECHNIQUES.values()]
    assert len(set(orders)) == len(orders)
    assert next(iter(TECHNIQUES)) == TECHNIQUE


@pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=lambda one: one.key)
def test_every_technique_says_what_it_changes_needs_and_costs(technique):
    assert technique.family in protocols.TECHNIQUE_FAMILIES
    assert set(technique.needs) <= set(NEEDS)
    assert technique.passes >= 1
    assert technique.preparation in ("", "tuned", "trained")


@pytest.mark.parametrize("technique", DECODING, ids=lambda one: one.key)
def test_decoding_ignores_a_constant_and_agrees_with_memory_where_there_is_no_context(technique):
    rng = np.random.default_rng(0)
    z_c, z_0 = (torch.tensor(rng.normal(size=(4, 30)) * 3) for _ in range(2))
    setting = next(iter(technique.settings(None)))

    def distribution(with_context, alone):
        return technique.combined(with_context, alone, setting).softmax(-1)

    assert torch.allclose(distribution(z_c + 5, z_0 - 7), distribution(z_c, z_0))
    assert torch.allclose(distribution(z_0, z_0), z_0.softmax(-1))
    # Each prompt of a batch is decoded by itself.
    assert torch.allclose(distribution(z_c, z_0)[2:3], distribution(z_c[2:3], z_0[2:3]))


@pytest.mark.parametrize("technique", OTHERS, ids=lambda one: one.key)
def test_other_techniques_take_the_logits_as_they_are(technique):
    z_c, z_0 = torch.randn(2, 3, 7)
    assert technique.combined(z_c, z_0, NOTHING) is z_c
