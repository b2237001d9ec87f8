"""`blocks`: cgim's sums, spread evenly over documents; a control wherever `document` is one."""

from __future__ import annotations

import numpy as np
import pytest

from demo import boards
from heval_core import catalogue
from heval_core.explainers.blocks import Blocks
from heval_core.explainers.cgim import ContrastiveGIM
from heval_core.explainers.document import DocumentEffect
from tests.asked import clean_of, runner_up
from tests.test_left_out import FIRST, SECOND


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "qwen2"])
def test_every_token_of_a_document_has_the_mean_of_cgims_scores_there(language_models, kind):
    lm = language_models[kind]
    clean = clean_of(lm, FIRST, SECOND)
    (target,) = targets = (runner_up(clean),)
    (found,), (own,) = Blocks().explain(clean, targets), ContrastiveGIM().explain(clean, targets)
    expected = np.zeros(clean.length)
    for span in clean.prompts[0].documents:
        inside = slice(span.start, span.end)
        expected[inside] = own.scores[inside].sum() / (span.end - span.start)
    assert target.foils
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)


def test_it_costs_what_cgim_costs_and_no_pass_without_a_document():
    assert Blocks().cost(100) == ContrastiveGIM().cost(100)


def test_it_stands_where_document_stands():
    assert Blocks.family == DocumentEffect.family == "control"
    runs = [*boards.plain_runs(["m"]), *boards.timing_runs(["m"])]
    asked_for = [own[own.index("--explainers") + 1].split(",") for own in runs]
    assert [("blocks" in keys) for keys in asked_for] == [("document" in keys) for keys in asked_for]
    assert sum("blocks" in keys for keys in asked_for) == 2
    assert "blocks" not in catalogue.default_methods()
