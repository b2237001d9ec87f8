"""Direct effects against literal sums over the plain model's own projections, and on all architectures their refusal."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from heval_core.explainers.cdla import DirectLogits
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.prompts import assemble
from heval_core.records import HEvalError, Target
from tests.literal_models import FINAL_NORMS, PROJECTIONS, Plain

KINDS = ("gpt-neo", "gemma", "llama-gqa", "mistral", "opt")
# Models in which a head's output does not reach the logits as it is, and what is said of them.
REFUSED = {
    "gemma2": "adds something else to the residual stream",
    "granite": "adds something else to the residual stream",
    "cohere": "has logits that are not its unembedding of the final norm alone",
    "olmo": "has a final norm without a gain",
}


def asked(lm):
    """Two prompts of equal length."""
    documents = ("The capital of Kenya is Lisbon.", "The capital of Peru is Lima.")
    prompt = lm.tokenise(assemble(documents, (None, None), "Which capital is it?"))
    return CleanPass(lm, [prompt, dataclasses.replace(prompt, ids=prompt.ids[:2] + prompt.ids[:1:-1])])


@torch.no_grad()
def literal(plain, ids, position, token, foil):
    """(L, n) by eager attention and its cache: one product for each layer, head and token."""
    model, n = plain.eager, ids.shape[1]
    seen = {}
    norm = next(m for name, m in model.named_modules() if name.count(".") <= 2 and name.split(".")[-1] in FINAL_NORMS)
    handle = norm.register_forward_pre_hook(lambda _, inputs: seen.update(stream=inputs[0][0, position]))
    out = model(ids, output_attentions=True, past_key_values=DynamicCache())  # which keeps all values
    handle.remove()

    def logit_lead(stream):
        """z_a - z_b of a stream by the model's own norm, whose scale is kept at that of the true stream."""
        table = model.get_output_embeddings().weight
        gain = norm.weight + 1 if "Gemma" in type(norm).__name__ else norm.weight
        centre = "LayerNorm" in type(norm).__name__
        true = seen["stream"] - seen["stream"].mean() if centre else seen["stream"]
        own = stream - stream.mean() if centre else stream
        scale = (true.pow(2).mean() + getattr(norm, "eps", getattr(norm, "variance_epsilon", 0))).sqrt()
        lead = table[token] if foil is None else table[token] - table[foil]
        return (own / scale * gain) @ lead

    projections = [module for name, module in model.named_modules() if name.endswith(PROJECTIONS)]
    found = np.zeros((len(projections), n))
    for layer, module in enumerate(projections):
        weight = module.weight if type(module).__name__ == "Conv1D" else module.weight.T
        values = out.past_key_values.layers[layer].values[0]
        values = values.repeat_interleave(plain.heads // len(values), 0)
        width = values.shape[-1]
        for head in range(plain.heads):
            for i in range(position % n + 1):
                weighted = out.attentions[layer][0, head, position, i] * values[head, i]
                found[layer, i] += float(logit_lead(weighted @ weight[head * width : (head + 1) * width]))
    return found


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "qwen2", *KINDS])
def test_cdla_equals_one_product_for_each_layer_head_and_token(made, loaded, model_folders, language_models, kind):
    lm, plain = language_models.get(kind) or loaded(kind), Plain(str(model_folders.get(kind) or made(kind)))
    clean = asked(lm)
    n = clean.length
    targets = [Target.next_token(*row.topk(2).indices.tolist(), "runner-up token") for row in clean.logits]
    for row, found in enumerate(DirectLogits().explain(clean, targets)):
        target = targets[row]
        expected = literal(plain, clean.ids[row : row + 1], -1, target.ids[0], target.foils[0]).sum(0)
        np.testing.assert_allclose(found.scores, expected, atol=1e-4)
        (alone,) = DirectLogits().explain(CleanPass(lm, [clean.prompts[row]]), [target])
        np.testing.assert_allclose(alone.scores, expected, atol=1e-4)
    several = [Target((n - 4, -1), (5, 6), (7, 8)), Target((n - 4, -1), (9, 10))]
    for row, found in enumerate(DirectLogits().explain(clean, several)):
        foils = several[row].foils or (None, None)
        pairs = zip(several[row].positions, several[row].ids, foils, strict=True)
        expected = sum(literal(plain, clean.ids[row : row + 1], *each).sum(0) for each in pairs)
        np.testing.assert_allclose(found.scores, expected, atol=1e-4)


def test_the_sum_of_cdla_is_all_heads_logit_contribution(lm, clean):
    best, second = clean.logits[0].topk(2).indices.tolist()
    (found,) = DirectLogits().explain(clean, [Target.next_token(best, second)])
    lead = (lm.heads.logits(clean.heads, [best], fold=True) - lm.heads.logits(clean.heads, [second], fold=True)).sum()
    stream = clean.heads.last_layer[0].double()
    if lm.model.config.model_type != "qwen2":
        stream = stream - stream.mean()
    assert found.scores.sum() == pytest.approx(float(lead / stream.square().mean().sqrt()), abs=1e-3)
    (swapped,) = DirectLogits().explain(clean, [Target.next_token(second, best)])
    np.testing.assert_allclose(swapped.scores, -found.scores, atol=1e-5)


def test_a_pruned_head_carries_nothing(language_models):
    lm = language_models["gpt2"]
    clean = asked(lm)
    target = [Target.next_token(5, 6)] * 2
    every = [(layer, head) for layer in range(lm.layers) for head in range(lm.heads_per_layer)]
    with lm.pruning.without(every[1:]):
        pruned = asked(lm)
        reading = pruned.heads
        expected = lm.heads.logits(reading, [5, 5], fold=True)[:, 0, 0] - lm.heads.logits(reading, [6, 6], fold=True)[:, 0, 0]
        stream = reading.last_layer - reading.last_layer.mean(-1, keepdim=True)
        found = DirectLogits().explain(pruned, target)
    scale = stream.square().mean(-1).sqrt()
    for row, own in enumerate(found):
        assert own.scores.sum() == pytest.approx(float((expected / scale)[row]), abs=1e-4)
    assert abs(DirectLogits().explain(clean, target)[0].scores.sum() - found[0].scores.sum()) > 1e-3


@pytest.mark.parametrize("kind", REFUSED)
def test_a_model_in_which_direct_effects_do_not_add_up_is_refused_by_name(loaded, kind):
    lm = loaded(kind)
    with pytest.raises(HEvalError, match=rf"{kind} \({kind}\) {REFUSED[kind]}.*needs direct effects cannot be used"):
        DirectLogits().explain(asked(lm), [Target.next_token(5, 6)] * 2)


@pytest.mark.parametrize(
    ("kind", "refused"), [("gemma2", True), ("granite", True), ("gemma", False), ("gpt2", False), ("llama-gqa", False)]
)
def test_in_bfloat16_a_large_dimension_of_the_stream_hides_nothing(kind, refused, made):
    """Real models have such dimensions: a share of the largest number of the stream is more than any block writes."""
    lm = load(made(kind), "cpu", "bfloat16")
    table = lm.model.get_input_embeddings().weight
    table[:, 3] = 20 * table.abs().max()
    if refused:
        with pytest.raises(HEvalError, match="adds something else to the residual stream"):
            DirectLogits().explain(asked(lm), [Target.next_token(5, 6)] * 2)
    else:
        assert np.isfinite(DirectLogits().explain(asked(lm), [Target.next_token(5, 6)] * 2)[0].scores).all()
