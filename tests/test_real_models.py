"""The two real models from packages: what explainers give equals a literal computation on the plain Hugging Face model.

Gemma 3 has sliding windows of 512 tokens, scaled embeddings and norms of queries and keys; SmolLM2 has grouped queries.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch

from heval_core.explainers.attn import Attention
from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.gxi import GradientTimesInput
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explainers.mechlight import MechLight
from heval_core.installed import PACKAGED, folder_of
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.prompts import assemble
from tests.asked import runner_up
from tests.literal_models import Plain
from tests.test_every_architecture import close, compare_heads

pytestmark = pytest.mark.slow
KENYA = ("The capital of Kenya is Lisbon.",), ("Lisbon",), "What is the capital of Kenya?"


@pytest.fixture(scope="module", params=PACKAGED)
def both(request):
    """The model as HEval loads it, and the plain one."""
    packaged = PACKAGED[request.param]
    if why := packaged.problem():
        pytest.skip(f"the package of {request.param} is not installed: {why}")
    return load(request.param, "cpu"), Plain(str(folder_of(packaged.path())))


@pytest.fixture(scope="module")
def clean(both):
    lm = both[0]
    return CleanPass(lm, [lm.tokenise(assemble(*KENYA, lm.template))])


def test_perturbation_and_gradients_equal_the_literal_computation(both, clean):
    lm, plain = both
    (prompt,), target, baseline = clean.prompts, runner_up(clean), lm.baseline()
    assert (lm.decode([baseline]).strip(), prompt.first_ranked > 60) == ("and", True)  # solved examples come first
    close(clean.logits, plain.logits(clean.ids), "logits")
    places = list(prompt.ranked)[::4]
    (fa,) = FeatureAblation().explain(clean, [target])
    close(fa.scores[places], plain.fa(clean.ids, target.ids[0], baseline, places), "fa")
    (ig,) = IntegratedGradients(steps=2).explain(clean, [target])
    close(ig.scores, plain.ig(clean.ids, target.ids[0], baseline, prompt.ranked, steps=2), "ig")
    assert not ig.scores[: prompt.first_ranked].any()
    inputs = plain.usual.get_input_embeddings()(clean.ids).detach().requires_grad_()
    plain.usual(inputs_embeds=inputs).logits[0, -1, target.ids[0]].backward()
    (gxi,) = GradientTimesInput().explain(clean, [target])
    close(gxi.scores, (inputs * inputs.grad).sum(-1)[0], "gxi")


def test_heads_equal_the_literal_computation(both, clean):
    target = runner_up(clean)
    for explainer in (Attention(), MechLight()):
        compare_heads(both[1], clean.ids, target, explainer.explain(clean, [target])[0])


def test_prompts_of_700_tokens(both, clean):
    lm, plain = both
    ids = torch.randint(300, 5000, (1, 700), generator=torch.Generator().manual_seed(4))
    ids[0, 0] = clean.ids[0, 0]
    long = CleanPass(lm, [dataclasses.replace(clean.prompts[0], ids=tuple(ids[0].tolist()), tokens=("",) * 700)])
    target = runner_up(long)
    close(long.logits, plain.logits(ids), "logits")
    suffix = ids[:, 100:].clone()
    suffix[0, 0] = lm.baseline()
    logits = lm.forward.suffix_logits(long.prefix, 100, suffix, (-1,), [0])[:, 0]
    found = (long.logits - logits)[:, target.ids[0]]
    expected = plain.fa(ids, target.ids[0], lm.baseline(), [100])
    assert float((found - expected).abs()) <= 1e-4 * float(long.logits.abs().max())
