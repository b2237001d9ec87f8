"""ContextCite against a literal loop over the masks, and on a question with one sentence that matters."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from heval_core.explainers.contextcite import ContextCite
from heval_core.explainers.shared.left_out import units, without
from heval_core.lm.clean_pass import CleanPass
from heval_core.records import HEvalError
from heval_core.statistics.sparse_fit import masks
from tests.asked import asked, runner_up

TEXTS = ("Lima is old. Peru is large.", "Lisbon is in Kenya. It is so. Oslo is far.")


@pytest.mark.parametrize("unit", ["sentence", "word"])
def test_contextcite_equals_a_literal_loop_over_the_masks(lm, unit):
    prompt = asked(lm, *TEXTS)
    clean = CleanPass(lm, [prompt])
    target = runner_up(clean)
    sources = units(prompt, unit)
    seed = zlib.crc32(b"".join(int(token).to_bytes(8, "little") for token in prompt.ids))
    kept = masks(len(sources), seed)
    assert kept.shape == ((32, 5) if unit == "sentence" else (64, len(sources)))
    odds = []
    for row in kept:
        ids, _ = without(lm, prompt, [one for one, there in zip(sources, row, strict=True) if not there], (-1,))
        with torch.no_grad():
            p = lm.model(torch.tensor([ids])).logits[0, -1].double().softmax(-1)[target.ids[0]]
        odds.append(float((p / (1 - p)).log()))
    fit = Lasso(alpha=0.01).fit(kept.astype(float), odds)
    (found,) = ContextCite(unit=unit).explain(clean, [target])
    expected = np.zeros(len(prompt.ids))
    for one, weight in zip(sources, fit.coef_, strict=True):
        expected[one.start : one.end] = weight
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)
    assert not found.scores[prompt.question.start :].any()


def test_a_prompt_without_a_unit_scores_nothing_and_an_unknown_unit_is_refused(lm):
    prompt = asked(lm)
    bare = CleanPass(lm, [prompt])
    assert not ContextCite(unit="word").explain(bare, [runner_up(bare)])[0].scores[prompt.question.start :].any()
    with pytest.raises(HEvalError, match="contextcite has no unit 'page'; there are: sentence, word"):
        ContextCite(unit="page").explain(bare, [runner_up(bare)])
