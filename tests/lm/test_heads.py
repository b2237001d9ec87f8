"""Heads at any position of a prompt, against eager attention over the whole of it."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM

from heval_core.records import HEvalError


@pytest.fixture
def eager(lm, model_folders):
    folder = model_folders[lm.model.config.model_type]
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


@pytest.mark.parametrize("position", [0, 4, -3, -1])
def test_the_patterns_at_any_position_are_rows_of_eager_attention(clean, eager, position):
    query = position % clean.length
    found = clean.lm.heads.read(clean.ids, clean.prefix, position).attention
    expected = torch.stack(eager(clean.ids, output_attentions=True).attentions, 1)[:, :, :, query, : query + 1]
    torch.testing.assert_close(found, expected.detach(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("position", [0, 4, -1])
def test_a_heads_output_is_its_attention_times_its_values(clean, position):
    lm = clean.lm
    reading = lm.heads.read(clean.ids, clean.prefix, position)
    keys = reading.attention.shape[-1]
    for layer in range(lm.layers):
        values = lm.heads.values(clean.prefix, layer)
        assert values.shape == (1, lm.heads_per_layer, clean.length, reading.outputs.shape[-1])
        expected = torch.einsum("bhk,bhkd->bhd", reading.attention[:, layer], values[:, :, :keys])
        torch.testing.assert_close(reading.outputs[:, layer], expected, rtol=0, atol=1e-4)


def test_outputs_times_output_matrices_are_what_the_attention_layer_writes_at_that_position(clean, eager):
    written = []
    projections = [
        module for name, module in eager.named_modules() if name.endswith(("attn.c_proj", "attention.dense", "o_proj"))
    ]
    for projection in projections:
        projection.register_forward_hook(lambda module, _, output: written.append(output - _bias(module)))
    with torch.no_grad():
        eager(clean.ids)
    lm, position = clean.lm, 5
    outputs = lm.heads.read(clean.ids, clean.prefix, position).outputs
    for layer, expected in enumerate(written):
        found = torch.einsum("bhk,hkd->bd", outputs[:, layer], lm.heads.output_matrix(layer))
        torch.testing.assert_close(found, expected[:, position], rtol=0, atol=1e-4)
    assert len(written) == lm.layers


def _bias(module):
    return 0 if module.bias is None else module.bias


def test_a_position_outside_the_prompt_is_refused(clean):
    with pytest.raises(HEvalError, match="A prompt of .* tokens has no position 999"):
        clean.lm.heads.read(clean.ids, clean.prefix, 999)
