"""Hidden attention equals scores of -inf in full passes of the plain model, on every architecture, or is refused by name."""

import pytest
import torch

from heval_core.lm.loading import load
from heval_core.records import HEvalError, Span
from tests.explainers.test_every_architecture import QUICK
from tests.literal_models import CONFIGURATIONS, Plain

KINDS = [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in CONFIGURATIONS]
# What is hidden, and since which position, in a prompt of 24 tokens: from all later ones, from the last, and nothing.
HIDDEN = [(Span(3, 4), 4), (Span(18, 20), 20), (Span(18, 20), 23), (Span(0, 2), 2), (Span(5, 5), 9)]


def literally(model, ids, span, since, monkeypatch):
    """One full pass, by the formula of attention: softmax(scores + mask, hidden keys at -inf) V."""
    softmax = torch.nn.functional.softmax

    def hide(scores):
        scores = scores.clone()
        scores[:, :, since:, span.start : span.end] = float("-inf")
        return scores

    def product(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        key, value = (kept.repeat_interleave(query.shape[1] // kept.shape[1], 1) for kept in (key, value))
        scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else scores + attn_mask
        return hide(scores).softmax(-1) @ value

    with monkeypatch.context() as patched, torch.no_grad():
        patched.setattr(torch.nn.functional, "scaled_dot_product_attention", product)
        patched.setattr(
            torch.nn.functional, "softmax", lambda x, dim=-1, **more: softmax(hide(x) if x.ndim == 4 else x, dim=dim, **more)
        )
        return model(ids).logits[0, -1]


@pytest.mark.parametrize("kind", KINDS)
def test_it_equals_full_passes_with_scores_of_minus_infinity(kind, made, loaded, monkeypatch):
    lm, plain = loaded(kind), Plain(made(kind)).usual
    ids = torch.randint(3, 100, (2, 24), generator=torch.Generator().manual_seed(1))
    clean, prefix = lm.forward.clean(ids)
    queries = [(index % 2, *hidden) for index, hidden in enumerate(HIDDEN)]
    found = lm.hidden_attention.last_logits(prefix, ids, queries)
    for (row, span, since), logits in zip(queries, found, strict=True):
        expected = literally(plain, ids[row : row + 1], span, since, monkeypatch)
        assert float((logits - expected).abs().max()) <= 1e-4 * float(expected.abs().max()), (span, since)
        assert span.start == span.end or span.start < 16 or not torch.allclose(logits, clean[row], atol=1e-3)
    # In company and alone it is the same.
    alone = lm.hidden_attention.last_logits(prefix, ids, queries[1:2])
    assert torch.allclose(alone[0], found[1], atol=1e-4 * float(found.abs().max()))
    assert torch.equal(lm.forward.clean(ids)[0], clean)


def test_a_model_that_still_sees_what_is_hidden_and_one_without_attention_are_refused_by_name(made, loaded):
    lm = load(made("llama-gqa"), "cpu")
    attention = lm.model.model.layers[1].self_attn
    attention.register_forward_pre_hook(lambda _, args, options: (args, options | {"attention_mask": None}), with_kwargs=True)
    ids = torch.arange(8)[None]
    _, prefix = lm.forward.clean(ids)
    with pytest.raises(HEvalError, match=r"llama-gqa \(llama\) still sees what is hidden, or sees less: its logits differ by"):
        lm.hidden_attention.last_logits(prefix, ids, [(0, Span(2, 3), 3)])
    mamba = loaded("mamba")
    with pytest.raises(HEvalError, match=r"mamba \(mamba\) has layers without softmax attention"):
        mamba.hidden_attention.last_logits(mamba.forward.clean(ids)[1], ids, [(0, Span(2, 3), 3)])
