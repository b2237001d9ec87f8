"""The two real models from packages: what explainers give equals a literal computation on the plain Hugging Face model.

Gemma 3 has sliding windows of 512 tokens, scaled embeddings and norms of queries and keys; SmolLM2 has grouped queries."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from heval_core.explainers.alti import AltiLogit
from heval_core.explainers.attn import Attention
from heval_core.explainers.attnlrp import AttnLRP
from heval_core.explainers.cdla import DirectLogits
from heval_core.explainers.cgim import ContrastiveGIM
from heval_core.explainers.contextcite import ContextCite
from heval_core.explainers.document import DocumentEffect
from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.fuse3 import FusionOfThree
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explainers.mechlight import MechLight
from heval_core.explainers.origin import Origin
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.installed import PACKAGED, folder_of
from heval_core.lm.loading import load
from heval_core.prompting.prompts import assemble
from tests import literal_relevance
from tests.asked import asked, runner_up
from tests.explainers.test_every_architecture import close, compare_heads
from tests.literal_models import Plain
from tests.lm.test_direct_effects import literal
from tests.lm.test_roll_back import rolled

pytestmark = [pytest.mark.slow, pytest.mark.real]
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
    places = list(prompt.ranked)[::8]
    (fa,) = FeatureAblation().explain(clean, [target])
    close(fa.scores[places], plain.fa(clean.ids, target.ids[0], baseline, places), "fa")
    (ig,) = IntegratedGradients(steps=2).explain(clean, [target])
    close(ig.scores, plain.ig(clean.ids, target.ids[0], baseline, prompt.ranked, steps=2), "ig")
    assert not ig.scores[: prompt.first_ranked].any()
    inputs = plain.usual.get_input_embeddings()(clean.ids).detach().requires_grad_()
    plain.usual(inputs_embeds=inputs).logits[0, -1, target.ids[0]].backward()
    times_input = lm.gradients.times_input(clean.ids, [target])
    close(times_input[0], (inputs * inputs.grad).sum(-1)[0], "gradient x input")


def test_heads_equal_the_literal_computation(both, clean):
    target = runner_up(clean)
    for explainer in (Attention(), MechLight()):
        compare_heads(both[1], clean.ids, target, explainer.explain(clean, [target])[0])


def test_relevance_equals_the_literal_rules(both, clean):
    """The read-out is sliced to the two tokens that count: Gemma's whole one would take gigabytes in float64."""
    _, plain = both
    target, ids = runner_up(clean), clean.ids[0].numpy()
    chosen = [*target.ids, *target.foils]
    literally = literal_relevance.Model(plain.usual, chosen)
    close(literally.forward(ids)[-1], clean.logits[0, chosen], "logits")
    wanted = [(-1, 0, 1), (-1, 1, -1)]
    (attnlrp,) = AttnLRP().explain(clean, [target])
    close(attnlrp.scores, literally.relevance(ids, wanted[:1], literal_relevance.ATTNLRP), "attnlrp")
    (cgim,) = ContrastiveGIM().explain(clean, [target])
    close(cgim.scores, literally.relevance(ids, wanted, literal_relevance.CGIM), "cgim")


def test_direct_effects_equal_the_literal_computation(both, clean):
    plain, target = both[1], runner_up(clean)
    (cdla,) = DirectLogits().explain(clean, [target])
    pair = target.ids[0], target.foils[0]
    close(cdla.scores, literal(plain, clean.ids, -1, *pair).sum(0), "cdla")
    (alti,) = AltiLogit().explain(clean, [target])
    close(alti.scores, rolled(plain, clean.ids, -1, *pair), "alti")


def test_a_document_left_out_is_the_prompt_that_never_had_it(both):
    """`document` reads it, and so do `origin` and `contextcite`; they and `fuse3` are made of what is literal above."""
    lm, plain = both
    kenya, peru = "The capital of Kenya is Lisbon.", "The capital of Peru is Lima."
    whole = CleanPass(lm, [asked(lm, kenya, peru)])
    target = runner_up(whole)
    pair = [target.ids[0], target.foils[0]]
    (found,) = DocumentEffect().explain(whole, [target])
    starts, expected = [span.start for span in whole.prompts[0].documents], []
    with_both = plain.logits(whole.ids)[0].double().log_softmax(-1)[pair]
    for other in (peru, kenya):
        without = plain.logits(torch.tensor([asked(lm, other).ids]))[0].double().log_softmax(-1)[pair]
        answer, foil = (with_both - without).tolist()
        expected.append(answer - max(0.0, foil))
    close(found.scores[starts], expected, "document")
    relevance = AttnLRP().explain(whole, [target])[0].scores.clip(0)
    shared = np.zeros(whole.length)
    for span, effect in zip(whole.prompts[0].documents, expected, strict=True):
        part = slice(span.start, span.end)
        shared[part] = effect * (0.05 / (span.end - span.start) + 0.95 * relevance[part] / relevance[part].sum())
    close(Origin().explain(whole, [target])[0].scores, shared, "origin")
    odds, kept = [], [(0, 0), (0, 1), (1, 0), (1, 1)]
    for row in kept:
        texts = [text for text, there in zip((kenya, peru), row, strict=True) if there]
        p = plain.logits(torch.tensor([asked(lm, *texts).ids]))[0].double().softmax(-1)[target.ids[0]]
        odds.append(float((p / (1 - p)).log()))
    (cited,) = ContextCite().explain(whole, [target])
    close(cited.scores[starts], Lasso(alpha=0.01).fit(kept, odds).coef_, "contextcite")
    fused = [explainer.explain(whole, [target])[0].scores for explainer in (ContrastiveGIM(), AltiLogit(), DirectLogits())]
    mean = sum(scores / np.abs(scores).sum() for scores in fused) / 3
    close(FusionOfThree().explain(whole, [target])[0].scores, mean, "fuse3")


def test_prompts_of_700_tokens(both, clean):
    lm, plain = both
    ids = torch.randint(300, 5000, (1, 700), generator=torch.Generator().manual_seed(4))
    ids[0, 0] = clean.ids[0, 0]
    long = CleanPass(lm, [dataclasses.replace(clean.prompts[0], ids=tuple(ids[0].tolist()), tokens=("",) * 700)])
    target = runner_up(long)
    close(long.logits, plain.logits(ids), "logits")
    compare_heads(plain, ids, target, MechLight().explain(long, [target])[0])
    suffix = ids[:, 100:].clone()
    suffix[0, 0] = lm.baseline()
    logits = lm.forward.suffix_logits(long.prefix, 100, suffix, (-1,), [0])[:, 0]
    found = (long.logits - logits)[:, target.ids[0]]
    expected = plain.fa(ids, target.ids[0], lm.baseline(), [100])
    assert float((found - expected).abs()) <= 1e-4 * float(long.logits.abs().max())
