"""AT2: its fit against literal numpy, a planted head that alone copies, and prompts in any company."""

import dataclasses

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from heval_core.explainers.at2 import AT2, RIDGE
from heval_core.explainers.shared import left_out
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.plugins import catalogue
from heval_core.records import HEvalError, Span
from tests.asked import clean_of, runner_ups
from tests.conftest import DEMO_MODELS
from tests.fitted import fit_of

WORDS = [
    "Kenya", "Peru", "Lisbon", "Oslo", "river", "stone", "green", "paper", "city", "coast", "old", "bread", "winter", "ship",
]  # fmt: skip


def prompts(lm, count, words=12):
    rng = np.random.default_rng(5)
    for _ in range(count):
        document = " ".join(rng.choice(WORDS, words))
        yield clean_of(lm, document)


def literal_attention(lm, ids):
    """(L, H, n) the last position's rows of attention, by the library's own eager pass."""
    before = lm.model.config._attn_implementation
    lm.model.set_attn_implementation("eager")
    with torch.no_grad():
        rows = lm.model(torch.tensor([ids]), output_attentions=True).attentions
    lm.model.set_attn_implementation(before)
    return np.stack([layer[0, :, -1].numpy() for layer in rows]).astype(np.float64)


def literal_odds(lm, ids, target):
    with torch.no_grad():
        logits = lm.model(torch.tensor([ids])).logits[0, -1].double().numpy()
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return np.log(p[target] / (1 - p[target]))


def test_the_fit_is_that_of_literal_numpy(lm):
    explainer = AT2(masks=8)
    passes = list(prompts(lm, 6))
    observed = [one for clean in passes for one in explainer.observed(clean, runner_ups(clean))]
    gram, along = 0.0, 0.0
    for clean in passes:
        prompt, target = clean.prompts[0], runner_ups(clean)[0].ids[0]
        attention = literal_attention(lm, prompt.ids).reshape(-1, len(prompt.ids))
        units = left_out.units(prompt, explainer.unit)
        assert prompt.documents == (Span(units[0].start, units[-1].end),)
        xs, ys = [], []
        for kept in explainer._random_halves(prompt, units):
            assert sum(kept[unit.start] for unit in units) == len(units) // 2
            ids = [t if kept[i] or not any(u.start <= i < u.end for u in units) else lm.baseline()
                   for i, t in enumerate(prompt.ids)]  # fmt: skip
            xs.append(attention @ kept)
            ys.append(literal_odds(lm, ids, target))
        x, y = np.array(xs) - np.mean(xs, 0), np.array(ys) - np.mean(ys)
        gram, along = gram + x.T @ x, along + x.T @ (y / np.linalg.norm(y))
    expected = np.linalg.solve(gram + RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram)), along)
    np.testing.assert_allclose(explainer.fitted(observed), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_scores_are_the_weighted_rows_of_attention(lm):
    (clean,) = prompts(lm, 1)
    explainer = AT2(masks=8)
    fit = fit_of(explainer, lm, explainer.observed(clean, runner_ups(clean)))
    lm.fits.give([fit])
    (found,) = explainer.explain(clean, runner_ups(clean))
    weights = np.array(fit.parameters).reshape(lm.layers, -1)
    expected = np.einsum("lhn,lh->n", literal_attention(lm, clean.prompts[0].ids), weights)
    np.testing.assert_allclose(found.scores, expected, atol=1e-4 * np.abs(expected).max())
    assert found.settings == f"AT2(unit='word', masks=8, baseline='and') fit {fit.digest}"


def test_a_prompt_teaches_the_same_alone_and_in_a_batch(lm):
    (clean,) = prompts(lm, 1)
    ids = clean.prompts[0].ids
    turned = [dataclasses.replace(clean.prompts[0], ids=ids[shift:] + ids[:shift]) for shift in range(3)]
    together = CleanPass(lm, turned)
    targets = runner_ups(together)
    for prompt, target, one in zip(turned, targets, AT2().observed(together, targets), strict=True):
        (alone,) = AT2().observed(CleanPass(lm, [prompt]), [target])
        np.testing.assert_allclose(one.attention, alone.attention, atol=1e-5)
        np.testing.assert_allclose(one.odds, alone.odds, atol=1e-4)


def test_a_small_budget_divides_the_ablations_and_changes_nothing(lm):
    (clean,) = prompts(lm, 1)
    (whole,) = AT2().observed(clean, runner_ups(clean))
    before = lm.budget.tokens
    try:
        lm.budget.tokens = 3 * clean.length
        (parts,) = AT2().observed(clean, runner_ups(clean))
    finally:
        lm.budget.tokens = before
    np.testing.assert_allclose(whole.odds, parts.odds, atol=1e-4)


@pytest.fixture(scope="module")
def copier():
    """A model of two layers in which one head, L1H2, writes the token that it attends to; nothing else is written."""
    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=128, n_embd=64, n_layer=2, n_head=4, eos_token_id=0)
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        model.transformer.wte.weight.normal_(std=1.0)
        model.transformer.wpe.weight.normal_(std=0.5)
        for block in model.transformer.h:
            block.mlp.c_proj.weight.zero_()
            block.attn.c_attn.weight.normal_(std=0.35)
            block.attn.c_proj.weight.zero_()
        attention = model.transformer.h[1].attn
        head = slice(2 * 16, 3 * 16)
        values = torch.linalg.qr(torch.randn(64, 16))[0]
        attention.c_attn.weight[:, 128:][:, head] = values
        attention.c_proj.weight[head] = 20 * values.T
    return as_language_model("copier", model, tokenizer)


def test_the_weights_find_the_head_that_alone_copies(copier):
    explainer = AT2()
    observed = [one for clean in prompts(copier, 60) for one in explainer.observed(clean, runner_ups(clean))]
    weights = explainer.fitted(observed).reshape(2, 4)
    assert np.unravel_index(weights.argmax(), weights.shape) == (1, 2)
    others = np.delete(np.abs(weights).ravel(), 1 * 4 + 2)
    assert weights[1, 2] > 2 * others.max()


def test_what_cannot_be_fitted_says_so(lm):
    with pytest.raises(HEvalError, match="at2 cannot be fitted: none of the prompts has sources"):
        AT2().fitted([])
    with pytest.raises(HEvalError, match="at2 has no unit 'token'; there are: word, sentence"):
        catalogue.method("at2(unit=token)")
    with pytest.raises(HEvalError, match="at2 needs at least 2 masks"):
        catalogue.method("at2(masks=1)")
    (clean,) = prompts(lm, 1, words=2)
    assert AT2().observed(clean, runner_ups(clean)) == []


def test_without_a_fit_or_with_one_of_another_revision_the_command_is_named(lm, monkeypatch, tmp_path):
    monkeypatch.setenv("HEVAL_FITS", str(tmp_path))
    (clean,) = prompts(lm, 1)
    explainer = catalogue.method("at2(masks=5)")
    with pytest.raises(HEvalError, match=rf"at2\(masks=5\) is not fitted to {lm.key}; run: python -m precompute fit --models"):
        explainer.explain(clean, runner_ups(clean))
    fit = fit_of(explainer, lm, explainer.observed(clean, runner_ups(clean)))
    lm.fits.give([dataclasses.replace(fit, revision="0123456789abcdef")])
    with pytest.raises(
        HEvalError, match=rf"fitted to another revision of {lm.key} \(01234567, not {lm.revision[:8]}\); run: "
    ):
        explainer.explain(clean, runner_ups(clean))
