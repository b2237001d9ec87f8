"""Relevance under changed backward rules equals literal rules in numpy, or the model is refused by name."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from heval_core.explainers.attnlrp import AttnLRP
from heval_core.explainers.cgim import ContrastiveGIM
from heval_core.explainers.fuse3 import FusionOfThree
from heval_core.explainers.relp import RelevancePatching
from heval_core.lm import changed_attention, changed_backward
from heval_core.lm.changed_modules import Norm
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.lm.rules import ATTNLRP, CGIM, FIXED_ATTENTION, MOST_SAVED, cost
from heval_core.records import HEvalError, Target
from tests import literal_relevance
from tests.asked import KENYA, asked, clean_of, runner_ups
from tests.conftest import DEMO_MODELS
from tests.literal_models import CONFIGURATIONS

# Mistral's and Gemma 3's windows are shorter than the prompts.
KINDS = ("gpt2", "gpt_neox", "gpt_neox-sequential", "qwen2", "llama-gqa", "mistral", "gemma", "gemma3")
RULES = {"attnlrp": (ATTNLRP, literal_relevance.ATTNLRP), "cgim": (CGIM, literal_relevance.CGIM)}
NO_INTERFACE = "does not run its attention through the library's interface"
REFUSED = {
    "bloom": NO_INTERFACE,
    "falcon-new": NO_INTERFACE,
    "gptj": NO_INTERFACE,
    "gpt-neo": NO_INTERFACE,
    "mixtral": r"has parts whose backward rule is not known: \d+\.\d+% of its relevance",
    "olmo": "has a norm, OlmoLayerNorm, whose rule is not known",
}
# Architectures without a literal computation here: they pass the check at first use.
CHECKED = ("cohere", "gemma2", "granite", "opt", "phi3", "qwen3")


@pytest.fixture(scope="module", params=KINDS)
def both(request, made, loaded):
    """(the model as HEval loads it, the literal one)"""
    plain = AutoModelForCausalLM.from_pretrained(made(request.param), dtype=torch.float32)
    return loaded(request.param), literal_relevance.Model(plain)


@pytest.fixture
def clean(both):
    """Three prompts of equal length in one batch."""
    lm = both[0]
    prompt = asked(lm, KENYA)
    turned = [dataclasses.replace(prompt, ids=prompt.ids[shift:] + prompt.ids[:shift]) for shift in (0, 4, 7)]
    return CleanPass(lm, turned)


def several(clean):
    """Tokens inside the prompt; the last of the batch competes with none."""
    foils = [(8, 9, 10), (11, 12, 13), ()]
    return [Target((3, 5, 9), (5, 6, 7 + row), own) for row, own in enumerate(foils)]


def wanted(target, contrast):
    """(position, token, sign) of each logit of a target."""
    chosen = [(position, token, 1) for position, token in zip(target.positions, target.ids, strict=True)]
    foils = zip(target.positions, target.foils, strict=True) if contrast and target.foils else ()
    return chosen + [(position, token, -1) for position, token in foils]


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max(), rtol=0)


def test_the_literal_model_is_the_model(both):
    lm, literal = both
    ids = torch.arange(3, 33)[None]
    close(literal.forward(ids[0].numpy()), lm.model(ids).logits[0])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize("targets_of", [runner_ups, several])
def test_relevance_equals_literal_rules_alone_and_in_a_batch(both, clean, name, contrast, targets_of):
    lm, literal = both
    rules, literally = RULES[name]
    targets = targets_of(clean)
    changed = partial(lm.changed_backward.relevance, rules)
    together = changed(clean.ids, targets, contrast)
    for row, target in enumerate(targets):
        expected = literal.relevance(clean.ids[row].numpy(), wanted(target, contrast), literally)
        close(together[row], expected)
        close(changed(clean.ids[row : row + 1], [target], contrast)[0], expected)


def test_relevance_patching_takes_off_the_competitor_where_the_answer_stands_and_the_baseline_elsewhere(both):
    lm, literal = both
    prompt = asked(lm, KENYA)
    clean, ids, baseline = CleanPass(lm, [prompt]), np.array(prompt.ids), lm.baseline()
    place = next(place for place in prompt.ranked if prompt.tokens[place].strip())
    answer, competitor = prompt.ids[place], prompt.ids[0] + 1
    mentioned = [index for index, token in enumerate(prompt.tokens) if token.strip() == prompt.tokens[place].strip()]
    for foil, there in ((competitor, competitor), (None, baseline)):
        against = np.full(len(ids), baseline)
        against[mentioned] = there
        target = Target.next_token(answer, foil)
        expected = literal.relevance(ids, wanted(target, True), literal_relevance.ATTNLRP, against)
        (found,) = RelevancePatching().explain(clean, [target])
        close(found.scores, expected)
    assert dict(found.details)["baseline_id"] == baseline


def test_the_explainers_choose_rules_and_target(both, clean):
    lm = both[0]
    targets = runner_ups(clean)
    for explainer, rules, contrast in (
        (AttnLRP(), ATTNLRP, False),
        (AttnLRP(contrast=True), ATTNLRP, True),
        (ContrastiveGIM(), CGIM, True),
    ):
        expected = lm.changed_backward.relevance(rules, clean.ids, targets, contrast)
        for found, row in zip(explainer.explain(clean, targets), expected, strict=True):
            np.testing.assert_array_equal(found.scores, row)
    without = [dataclasses.replace(target, foils=()) for target in targets]
    logit = lm.changed_backward.relevance(CGIM, clean.ids, targets, False)
    np.testing.assert_array_equal(ContrastiveGIM().explain(clean, without)[0].scores, logit[0])


@torch.no_grad()
def test_the_copy_has_the_models_logits_and_weights_and_leaves_it_as_it_was(both, clean):
    lm = both[0]
    before = lm.model(clean.ids).logits
    modules = [type(module) for module in lm.model.modules()]
    lm.changed_backward.relevance(CGIM, clean.ids, runner_ups(clean))
    assert torch.equal(lm.model(clean.ids).logits, before)
    assert [type(module) for module in lm.model.modules()] == modules
    assert not lm.model.is_gradient_checkpointing
    copied = lm.changed_backward.copy
    close(copied.model(clean.ids).logits, before)
    own = {parameter.data_ptr() for parameter in lm.model.parameters()}
    assert {parameter.data_ptr() for parameter in copied.model.parameters()} == own


def test_what_was_done_to_the_weights_later_counts(loaded):
    """Pruning and fine-tuning change the weights that model and copy share."""
    lm = loaded("llama-gqa")
    ids, target = torch.arange(3, 23)[None], [Target.next_token(5)]
    changed = partial(lm.changed_backward.relevance, ATTNLRP)
    before = changed(ids, target)
    with lm.pruning.without([(0, 0), (1, 2)]):
        pruned = changed(ids, target)
    assert float((pruned - before).abs().max()) > 1e-2
    assert torch.equal(changed(ids, target), before)


@pytest.mark.parametrize("kind", ["llama-gqa", "mistral", "gemma"])
def test_with_fixed_attention_and_without_biases_relevance_sums_to_the_logit(loaded, kind):
    lm = loaded(kind)
    ids = torch.arange(3, 33)[None]
    scores = lm.changed_backward.relevance(FIXED_ATTENTION, ids, [Target.next_token(5)])
    assert float(scores.sum()) == pytest.approx(float(lm.forward.logits(ids)[0, 5]), abs=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_norm_is_known_whatever_its_gain_and_bias(dtype):
    """In bfloat16 too, where a gain of 40 is nearly one of 41, and a bias hides a small gain."""
    known = (GemmaRMSNorm(64), False, 1.0), (LlamaRMSNorm(64), False, 0.0), (torch.nn.LayerNorm(64), True, 0.0)
    for norm, centred, offset in known:
        for gain in (0.02, 1.0, 40.0, 400.0):
            norm.weight.data = torch.linspace(0.1, 1, 64) * gain
            if getattr(norm, "bias", None) is not None:
                norm.bias.data = torch.linspace(-3, 3, 64)
            found = Norm(norm.to(dtype))
            assert (found.centred, found.offset) == (centred, offset), (type(norm), gain)
            assert norm.weight.dtype == dtype


def test_layers_that_are_computed_twice_change_nothing(both, clean, monkeypatch):
    lm = both[0]
    targets, changed = runner_ups(clean), partial(lm.changed_backward.relevance, CGIM)
    expected = changed(clean.ids, targets)
    runs = []
    layers = lm.changed_backward.copy._layers
    parts = [
        next(layer.children()).register_forward_hook(lambda *_, own=own: runs.append(own)) for own, layer in enumerate(layers)
    ]
    monkeypatch.setattr(changed_backward, "MOST_SAVED", clean.length - 1)
    close(changed(clean.ids, targets), expected)
    for part in parts:
        part.remove()
    assert sorted(runs) == [0, 0, 1]  # all but the last, which the backward pass begins with
    assert not any(layer.training for layer in layers)


def test_layers_that_are_computed_twice_apply_no_dropout(loaded, monkeypatch):
    """OPT's layers apply it themselves."""
    lm = loaded("opt")
    assert lm.model.config.dropout
    ids, target, changed = torch.arange(3, 33)[None], [Target.next_token(5)], partial(lm.changed_backward.relevance, ATTNLRP)
    expected = changed(ids, target)
    monkeypatch.setattr(changed_backward, "MOST_SAVED", 10)
    close(changed(ids, target), expected)
    assert not any(layer.training for layer in lm.changed_backward.copy._layers)


def test_heads_in_blocks_change_nothing(both, clean, monkeypatch):
    targets, changed = runner_ups(clean), partial(both[0].changed_backward.relevance, CGIM)
    expected = changed(clean.ids, targets)
    monkeypatch.setattr("heval_core.lm.changed_attention.BLOCK", 1)
    close(changed(clean.ids, targets), expected)


@pytest.mark.parametrize("kind", REFUSED)
def test_models_that_the_rules_do_not_know_are_refused_by_name(loaded, kind):
    lm = loaded(kind)
    told = rf"^{kind} \(\w+\) {REFUSED[kind]}.*\. What needs a changed backward pass cannot be used with it; all else can\.$"
    for rules in (ATTNLRP, CGIM):
        with pytest.raises(HEvalError, match=told):
            lm.changed_backward.relevance(rules, torch.arange(3, 23)[None], [Target.next_token(5)])


@pytest.mark.parametrize("kind", CHECKED)
def test_other_architectures_pass_the_check_at_first_use(loaded, kind):
    lm = loaded(kind)
    ids = torch.arange(3, 23)[None]
    assert torch.isfinite(lm.changed_backward.relevance(CGIM, ids, [Target.next_token(5, 6, "other")], True)).all()


@pytest.mark.parametrize("kind", ["gpt2", "qwen2"])
def test_bfloat16_passes_the_check_and_gives_scores_like_float32(made, loaded, kind):
    lm = loaded(kind)
    ids, target = torch.arange(3, 33)[None], [Target.next_token(5)]
    exact = lm.changed_backward.relevance(ATTNLRP, ids, target)
    rounded = load(made(kind), "cpu", "bfloat16").changed_backward.relevance(ATTNLRP, ids, target)
    assert np.corrcoef(exact[0], rounded[0])[0, 1] > 0.99


@pytest.mark.parametrize(
    ("part", "left"), [("Activation", lambda own: own), ("Norm", lambda own: own), ("halved", lambda *_: None)]
)
def test_a_part_that_was_not_changed_is_found(made, part, left, monkeypatch):
    monkeypatch.setattr(f"heval_core.lm.changed_modules.{part}", left)
    with pytest.raises(HEvalError, match=r"has parts whose backward rule is not known: \d+\.\d+% of its relevance"):
        assert load(made("qwen2"), "cpu").changed_backward.copy


def test_a_copy_with_other_values_is_refused(made, monkeypatch):
    monkeypatch.setattr("heval_core.lm.changed_modules.halved", lambda _, inputs: 1.01 * inputs[0])
    with pytest.raises(HEvalError, match=r"gives other logits under changed rules: they differ by \d\.\d+%"):
        assert load(made("qwen2"), "cpu").changed_backward.copy


def test_a_long_prompt_costs_a_forward_pass_more():
    assert cost(MOST_SAVED)[:2] == (2, 2 * MOST_SAVED)
    assert cost(MOST_SAVED + 1)[:2] == (3, 3 * (MOST_SAVED + 1))


@pytest.mark.parametrize("rules", [ATTNLRP, CGIM, FIXED_ATTENTION])
def test_capped_attention_equals_its_formula_by_autograd(rules, monkeypatch):
    """Against the pattern written out, with each share and factor detached; the cap is low enough to change everything."""
    monkeypatch.setattr(changed_attention, "BLOCK", 2 * 5 * 5)  # one key head at a time
    torch.manual_seed(1)
    q, k, v = (torch.randn(1, heads, 5, 4, dtype=torch.float32, requires_grad=True) for heads in (4, 2, 2))
    mask = (torch.ones(5, 5).tril() * torch.ones(5, 5).triu(-2)).bool()[None, None]
    options = {"softcap": 0.7, "scaling": 0.9}
    found, _ = changed_attention._attend(torch.nn.Module(), q, k, v, mask, rules=rules, **options)
    weights = torch.randn_like(found)
    gradients = torch.autograd.grad((found * weights).sum(), (q, k, v))

    keys, values = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    raw = 0.9 * q @ keys.transpose(-1, -2)
    capped = 0.7 * torch.tanh(raw / 0.7)
    linear = raw * (capped / raw).detach()
    pattern = capped.masked_fill(~mask, float("-inf")).softmax(-1).detach()
    soft = (linear / rules.temperature).masked_fill(~mask, float("-inf")).softmax(-1) * rules.temperature
    torch.testing.assert_close(found, (pattern @ values).transpose(1, 2), rtol=1e-5, atol=1e-5)
    own = rules.values * (pattern @ values) + rules.query_key * (soft @ values.detach())
    expected = torch.autograd.grad((own.transpose(1, 2) * weights).sum(), (q, k, v), allow_unused=True)
    for name, one, other in zip("qkv", gradients, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, msg=name)


def test_a_low_cap_leaves_the_copys_logits_the_models(tmp_path):
    config = CONFIGURATIONS["gemma2"]()
    config.attn_logit_softcapping, config.final_logit_softcapping = 1.5, 6.0
    torch.manual_seed(3)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "capped")
    AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2").save_pretrained(tmp_path / "capped")
    lm = load(str(tmp_path / "capped"), "cpu")
    clean = clean_of(lm, KENYA)
    for explainer in (AttnLRP(), ContrastiveGIM(), FusionOfThree()):  # which check the copy, and that relevance is complete
        assert np.isfinite(explainer.explain(clean, runner_ups(clean))[0].scores).all()
    assert float(clean.logits.abs().max()) <= 6.0
