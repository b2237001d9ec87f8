"""ALTI-Logit against the formula written out, and on a model made by hand that copies, and then reads a full stop."""

import dataclasses

import numpy as np
import pytest
import torch
import transformers as hf

from heval_core.explainers.alti import AltiLogit
from heval_core.explainers.cdla import DirectLogits
from heval_core.lm import roll_back
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.records import Span, Target, TokenisedPrompt
from tests.asked import asked, runner_ups, two_of
from tests.explainers.test_every_architecture import demo_tokenizer
from tests.literal_models import PROJECTIONS, Plain, factors
from tests.lm.test_direct_effects import literal

KINDS = ("gpt2", "gpt_neox", "qwen2", "gemma", "gemma2", "gemma3", "llama-gqa", "mistral", "opt")


@torch.no_grad()
def mixings(plain, ids):
    """(n, n) C of each layer, from whole tensors of the eager model."""
    model, written, multiplied = plain.eager, [], []
    projections = [module for name, module in model.named_modules() if name.endswith(PROJECTIONS)]
    handles = [module.register_forward_hook(lambda *args: written.append(args[-1][0])) for module in projections]
    handles += factors(model, multiplied)
    cache = hf.DynamicCache()
    out = model(ids, output_attentions=True, output_hidden_states=True, past_key_values=cache)
    for handle in handles:
        handle.remove()
    found = []
    for layer, module in enumerate(projections):
        weight = module.weight if type(module).__name__ == "Conv1D" else module.weight.T
        values = cache.layers[layer].values[0]
        values = values.repeat_interleave(plain.heads // len(values), 0)
        by_head = weight.view(plain.heads, values.shape[-1], -1)
        factor = multiplied[layer][0] if multiplied else torch.ones_like(written[layer])
        parts = torch.einsum("hts,hsk,hkd->tsd", out.attentions[layer][0], values, by_head) * factor[:, None]
        stream = out.hidden_states[layer][0]
        parts += torch.diag_embed(stream.T).permute(1, 2, 0)
        whole = stream + written[layer] * factor
        shares = torch.relu(whole.abs().sum(-1)[:, None] - (whole[:, None] - parts).abs().sum(-1))
        totals = shares.sum(-1, keepdim=True)
        found.append(torch.where(totals > 0, shares / totals, torch.eye(len(shares))).double().numpy())
    return found


def rolled(plain, ids, position, token, foil):
    direct, mixed = literal(plain, ids, position, token, foil), mixings(plain, ids)
    total = np.zeros(ids.shape[1])
    for layer, row in enumerate(direct):
        for below in reversed(range(layer)):
            row = row @ mixed[below]
        total += row
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_alti_equals_the_formula_written_out_alone_and_in_a_batch(
    kind, model_folders, language_models, made, loaded, monkeypatch
):
    lm, plain = language_models.get(kind) or loaded(kind), Plain(str(model_folders.get(kind) or made(kind)))
    prompt = asked(lm, "Lisbon is in Kenya.", "Lima is in Peru.")
    clean = CleanPass(lm, [prompt, dataclasses.replace(prompt, ids=prompt.ids[:2] + prompt.ids[:1:-1])])
    n = clean.length
    single = runner_ups(clean)
    several = [Target((n - 4, -1), (5, 6), (7, 8)), Target((n - 4, -1), (9, 10))]
    for targets in (single, several):
        together = AltiLogit().explain(clean, targets)
        for row, (target, found) in enumerate(zip(targets, together, strict=True)):
            each = zip(target.positions, target.ids, target.foils or (None, None), strict=False)
            expected = sum(rolled(plain, clean.ids[row : row + 1], *one) for one in each)
            np.testing.assert_allclose(found.scores, expected, atol=1e-4)
            (alone,) = AltiLogit().explain(CleanPass(lm, [clean.prompts[row]]), [target])
            np.testing.assert_allclose(alone.scores, expected, atol=1e-4)
            (direct,) = DirectLogits().explain(CleanPass(lm, [clean.prompts[row]]), [target])
            assert found.scores.sum() == pytest.approx(direct.scores.sum(), abs=1e-4)  # rows of C sum to 1
    monkeypatch.setattr(roll_back, "BLOCK", 3 * n * lm.width)
    monkeypatch.setattr(roll_back, "PATTERNS", 1)
    for found, whole in zip(AltiLogit().explain(CleanPass(lm, clean.prompts), several), together, strict=True):
        np.testing.assert_allclose(found.scores, whole.scores, atol=1e-5)


def test_layers_whose_heads_are_all_pruned_mix_nothing(lm):
    with lm.pruning.without([(layer, head) for layer in range(lm.layers - 1) for head in range(lm.heads_per_layer)]):
        clean = two_of(lm)
        targets = runner_ups(clean)
        for found, direct in zip(*(own.explain(clean, targets) for own in (AltiLogit(), DirectLogits())), strict=True):
            np.testing.assert_allclose(found.scores, direct.scores, atol=1e-5)


# Tokens of the toy, and what its residual stream's dimensions mean.
BEGIN, SOURCE, OTHER, FILLER, STOP, ASK = 9, 1, 2, 3, 4, 5
IS_SOURCE, IS_A, IS_B, IS_STOP, IS_ASK, IS_BEGIN, FILLS, COPIED_A, COPIED_B, OUT_A, OUT_B = range(11)


@pytest.fixture
def toy(tmp_path):
    """Layer 0: a full stop copies the source before it. Layer 1: the question reads the full stop, and answers with it.
    Whoever has nothing to read reads the beginning, whose values are zero."""
    config = hf.LlamaConfig(
        vocab_size=12, hidden_size=16, intermediate_size=4, num_hidden_layers=2, num_attention_heads=1, head_dim=16,
        max_position_embeddings=64, rope_parameters={"rope_type": "default", "rope_theta": 1e9}, tie_word_embeddings=False,
    )  # fmt: skip
    model = hf.LlamaForCausalLM(config)
    for name, weight in model.named_parameters():
        weight.data.fill_(1.0 if "norm" in name else 0.0)
    embedded = {BEGIN: [IS_BEGIN], SOURCE: [IS_SOURCE, IS_A], OTHER: [IS_SOURCE, IS_B], FILLER: [FILLS]}
    for token, dims in {**embedded, STOP: [IS_STOP], ASK: [IS_ASK]}.items():
        model.model.embed_tokens.weight.data[token, dims] = 1.0
    model.lm_head.weight.data[SOURCE, OUT_A] = model.lm_head.weight.data[OTHER, OUT_B] = 1.0
    copies = (
        (IS_STOP, IS_SOURCE, ((IS_A, COPIED_A), (IS_B, COPIED_B))),
        (IS_ASK, IS_STOP, ((COPIED_A, OUT_A), (COPIED_B, OUT_B))),
    )
    for layer, (reader, read, moves) in zip(model.model.layers, copies, strict=True):
        attention = layer.self_attn
        # The last two pairs of dimensions hardly turn with the position.
        attention.q_proj.weight.data[7, reader] = attention.k_proj.weight.data[7, read] = 20.0
        attention.q_proj.weight.data[6, [d for d in range(11) if d != reader]] = 20.0
        attention.k_proj.weight.data[6, IS_BEGIN] = 20.0
        for place, (source, target) in enumerate(moves):
            attention.v_proj.weight.data[place, source] = 1.0
            attention.o_proj.weight.data[target, place] = 3.0
    model.save_pretrained(tmp_path / "toy")
    demo_tokenizer().save_pretrained(tmp_path / "toy")
    return load(str(tmp_path / "toy"), "cpu")


@pytest.mark.parametrize("source", [1, 2, 3])
def test_roll_back_finds_the_source_where_the_last_layer_reads_a_full_stop(toy, source):
    ids = [BEGIN, FILLER, FILLER, FILLER, STOP, FILLER, ASK]
    ids[source] = SOURCE
    words = tuple(f" {token}" for token in ids)
    clean = CleanPass(toy, [TokenisedPrompt("", tuple(ids), words, (), Span(6, 7), (), ())])
    assert int(clean.logits[0].argmax()) == SOURCE
    target = [Target.next_token(SOURCE, OTHER)]
    assert int(np.argmax(DirectLogits().explain(clean, target)[0].scores)) == 4  # the full stop
    (found,) = AltiLogit().explain(clean, target)
    assert int(np.argmax(found.scores)) == source
    (swapped,) = AltiLogit().explain(clean, [Target.next_token(OTHER, SOURCE)])
    np.testing.assert_allclose(swapped.scores, -found.scores, atol=1e-5)
