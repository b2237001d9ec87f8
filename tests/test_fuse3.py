"""`fuse3` against its three parts."""

from __future__ import annotations

import numpy as np
import pytest

from heval_core import catalogue
from heval_core.explainers.fuse3 import FusionOfThree, fused
from tests.asked import runner_ups


@pytest.mark.parametrize(("key", "parts"), [("fuse3", ("cgim", "alti", "cdla")), ("fuse3(alti=false)", ("cgim", "cdla"))])
def test_it_is_the_mean_of_its_parts_each_divided_by_its_size(clean, key, parts):
    targets = runner_ups(clean)
    found = catalogue.find("explainer", key).explain(clean, targets)
    each = [catalogue.find("explainer", part).explain(clean, targets) for part in parts]
    for row, attribution in enumerate(found):
        own = [part[row].scores.astype(float) for part in each]
        np.testing.assert_allclose(attribution.scores, np.mean([o / np.abs(o).sum() for o in own], 0), atol=1e-6)
        assert attribution.explainer == key
        assert attribution.seconds > 0


def test_a_part_without_any_scores_adds_nothing():
    one = np.array([[1.0, -3.0]])
    assert fused([one, np.zeros((1, 2))]).tolist() == [[0.125, -0.375]]


def test_without_alti_it_costs_a_pass_less():
    assert FusionOfThree().cost(100).passes - FusionOfThree(alti=False).cost(100).passes == 1
