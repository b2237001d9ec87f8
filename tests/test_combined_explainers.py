"""Explainers made of others' scores, against these: `fuse3`, the mean of three, and `blocks`, cgim's sums over documents."""

from __future__ import annotations

import numpy as np
import pytest

from demo import boards
from heval_core import catalogue
from heval_core.explainers.blocks import Blocks
from heval_core.explainers.cgim import ContrastiveGIM
from heval_core.explainers.document import DocumentEffect
from heval_core.explainers.fuse3 import FusionOfThree, fused
from tests.asked import runner_ups


@pytest.mark.parametrize(("key", "parts"), [("fuse3", ("cgim", "alti", "cdla")), ("fuse3(alti=false)", ("cgim", "cdla"))])
def test_fuse3_is_the_mean_of_its_parts_each_divided_by_its_size(clean, key, parts):
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


def test_in_blocks_every_token_of_a_document_has_the_mean_of_cgims_scores_there(clean):
    targets = runner_ups(clean)
    (found,), (own,) = Blocks().explain(clean, targets), ContrastiveGIM().explain(clean, targets)
    expected = np.zeros(clean.length)
    for span in clean.prompts[0].documents:
        inside = slice(span.start, span.end)
        expected[inside] = own.scores[inside].sum() / (span.end - span.start)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)


def test_they_cost_what_their_parts_cost():
    assert FusionOfThree().cost(100).passes - FusionOfThree(alti=False).cost(100).passes == 1
    assert Blocks().cost(100) == ContrastiveGIM().cost(100)


def test_blocks_stand_where_document_stands():
    assert Blocks.family == DocumentEffect.family == "control"
    runs = [*boards.plain_runs(["m"]), *boards.timing_runs(["m"])]
    asked_for = [own[own.index("--explainers") + 1].split(",") for own in runs]
    assert [("blocks" in keys) for keys in asked_for] == [("document" in keys) for keys in asked_for]
    assert sum("blocks" in keys for keys in asked_for) == 2
    assert "blocks" not in catalogue.default_methods()
