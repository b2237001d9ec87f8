"""Direct effects against literal sums over the plain model's own projections, and on all architectures their refusal."""

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from heval_core.explainers.alti import AltiLogit
from heval_core.explainers.cdla import DirectLogits
from heval_core.explainers.fuse3 import FusionOfThree
from heval_core.explainers.mechlight import MechLight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.heads import Heads
from heval_core.lm.loading import load
from heval_core.records import HEvalError, Target
from tests.asked import runner_ups, two_of
from tests.literal_models import FINAL_NORMS, PROJECTIONS, Plain, factors

KINDS = ("bloom", "gpt-neo", "gemma", "gemma2", "gemma3", "llama-gqa", "mistral", "olmo2", "opt")
# Models in which a head's output does not reach the logits as it is, and what is said of them.
REFUSED = {
    "granite": "has logits that are not its unembedding of the final norm alone",
    "cohere": "has logits that are not its unembedding of the final norm alone",
    "olmo": "has a norm, OlmoLayerNorm, whose rule is not known",
}


@torch.no_grad()
def literal(plain, ids, position, token, foil):
    """(L, n) by eager attention and its cache: one product for each layer, head and token."""
    model, n = plain.eager, ids.shape[1]
    seen = {}
    norm = next(m for name, m in model.named_modules() if name.count(".") <= 2 and name.split(".")[-1] in FINAL_NORMS)
    handle = norm.register_forward_pre_hook(lambda _, inputs: seen.update(stream=inputs[0][0, position]))
    multiplied = []
    handles = [handle, *factors(model, multiplied)]
    out = model(ids, output_attentions=True, past_key_values=DynamicCache())  # which keeps all values
    for handle in handles:
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
                written = weighted @ weight[head * width : (head + 1) * width]
                added = written * multiplied[layer][0, position] if multiplied else written
                found[layer, i] += float(logit_lead(added))
    return found


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "qwen2", *KINDS])
def test_cdla_equals_one_product_for_each_layer_head_and_token(made, loaded, model_folders, language_models, kind):
    lm, plain = language_models.get(kind) or loaded(kind), Plain(str(model_folders.get(kind) or made(kind)))
    clean = two_of(lm)
    n = clean.length
    targets = runner_ups(clean)
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
    clean = two_of(lm)
    target = [Target.next_token(5, 6)] * 2
    every = [(layer, head) for layer in range(lm.layers) for head in range(lm.heads_per_layer)]
    with lm.pruning.without(every[1:]):
        pruned = two_of(lm)
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
    with pytest.raises(HEvalError, match=rf"{kind} \({kind}\) {REFUSED[kind]}.*needs .* effects.* cannot be used"):
        DirectLogits().explain(two_of(lm), [Target.next_token(5, 6)] * 2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_where_blocks_add_something_else_all_that_read_what_heads_add_are_refused(dtype, made, monkeypatch):
    """Granite's constant is known; here as one that is not. Real models have dimensions that could hide what blocks add."""
    monkeypatch.setattr(Heads, "multiplier", 1.0)
    lm = load(made("granite"), "cpu", dtype)
    with_a_large_dimension(lm)
    for explainer in (MechLight(), DirectLogits(), AltiLogit(), FusionOfThree()):
        with pytest.raises(
            HEvalError, match=r"granite \(granite\) adds something else to the residual stream.*effects of heads"
        ):
            explainer.explain(two_of(lm), [Target.next_token(5, 6)] * 2)


@pytest.mark.parametrize("kind", ["gemma", "gemma2", "gemma3", "gpt2", "llama-gqa"])
def test_in_bfloat16_a_large_dimension_of_the_stream_refuses_no_model(kind, made):
    lm = load(made(kind), "cpu", "bfloat16")
    with_a_large_dimension(lm)
    assert np.isfinite(DirectLogits().explain(two_of(lm), [Target.next_token(5, 6)] * 2)[0].scores).all()


def with_a_large_dimension(lm):
    table = lm.model.get_input_embeddings().weight
    table[:, 3] = 20 * table.abs().max()


@pytest.mark.parametrize("kind", ["gemma2", "gemma3", "olmo2", "granite"])
def test_what_heads_and_mlps_add_is_the_last_layers_stream(loaded, made, kind):
    """By literal hooks on the plain model: embeddings and what MLPs add, and what heads add by their numbers here."""
    lm, plain = loaded(kind), Plain(made(kind))
    clean, added = two_of(lm), []
    last = "mlp" if kind == "granite" else "post_feedforward_layernorm"
    blocks = [module for name, module in plain.eager.named_modules() if name.endswith(last)]
    handles = [block.register_forward_hook(lambda _, inputs, output: added.append(output[0, -1])) for block in blocks]
    with torch.no_grad():
        states = plain.eager(clean.ids[:1], output_hidden_states=True).hidden_states
    for handle in handles:
        handle.remove()
    reading, total = clean.heads, states[0][0, -1] + lm.heads.multiplier * sum(added)
    for layer in range(lm.layers):
        own = torch.einsum("hk,hkd->d", reading.outputs[0, layer], lm.heads.output_matrix(layer))
        total += lm.heads.scale(layer, reading.written[0, layer]) * own
    np.testing.assert_allclose(total, reading.last_layer[0], atol=1e-4)
