"""What explainers declare: a model that lacks what one needs is refused before anything is run, in the same words whatever it
lacks; and passes are counted as they are made."""

from __future__ import annotations

import pytest
import torch

from heval_core import regimes
from heval_core.explaining import pipeline
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.needs import require
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.prompting.styles import style_of
from heval_core.records import HEvalError
from precompute.memory import Memories
from precompute.questions import load_questions

REQUEST = pipeline.Request(("The capital of Kenya is Lisbon.",), "What is the capital of Kenya?", ("Lisbon",))


def without_softmax(lm, monkeypatch):
    monkeypatch.setattr(lm, "keeps_prefix", False)


def without_heads(lm, monkeypatch):
    monkeypatch.setattr(lm, "width", lm.width + 1)


def without_gradients(lm, monkeypatch):
    with torch.inference_mode():
        layer = torch.nn.Embedding(4, 4)
    monkeypatch.setattr(lm.model, "get_input_embeddings", lambda: layer)


def without_float32(lm, monkeypatch):
    monkeypatch.setattr(type(lm.model), "dtype", torch.bfloat16)


# What looks into heads, and what runs under changed backward rules.
HEADS = ("attn", "mechlight", "cdla", "alti", "fuse3", "at2")
CHANGED = ("attnlrp", "blocks", "cgim", "fuse3", "origin")


@pytest.mark.parametrize(("take_away", "need", "refused"), [
    (without_softmax, "softmax attention", {*HEADS, *CHANGED}), (without_heads, "heads", {*HEADS}),
    (without_gradients, "gradients", {"ig", "gxi", *CHANGED}), (without_float32, "float32", {"fa", "mechlight"}),
])  # fmt: skip
def test_what_needs_it_is_refused_and_nothing_is_run(lm, monkeypatch, take_away, need, refused):
    for method in catalogue.explainers().values():
        require(lm, method.needs)  # these models have everything
    take_away(lm, monkeypatch)
    monkeypatch.setattr(lm, "tokenise", lambda *_: pytest.fail("the prompt was read"))
    assert all(need in method.needs for key, method in catalogue.explainers().items() if key in refused)
    for method in catalogue.explainers().values():
        if need in method.needs:
            kind = lm.model.config.model_type
            told = rf"{lm.key} \({kind}\) .*\. What needs {need} cannot be used with it; all else can"
            with pytest.raises(HEvalError, match=told):
                pipeline.explain_request(lm, REQUEST, [method])
        else:
            require(lm, method.needs)


KEYS = [key for key, method in catalogue.explainers().items() if not catalogue.needs_fit(method)]
KEYS += ["knockout(unit=word)", "shortlist(by=cgim)"]


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "qwen2"])
def test_a_pass_is_one_its_gradient_one_more_and_half_a_pass_a_half(language_models, name):
    lm = language_models[name]
    ids = torch.arange(5, 13).view(2, 4)
    with counting(lm) as counted, torch.no_grad():
        lm.model(ids)
    assert counted.passes(2, 4) == pytest.approx(1)
    with counting(lm) as counted, torch.enable_grad():
        lm.model(inputs_embeds=lm.model.get_input_embeddings()(ids).requires_grad_()).logits.sum().backward()
    assert counted.passes(2, 4) == pytest.approx(2)
    with counting(lm) as counted, torch.no_grad():
        lm.model(ids[:, :2])
    assert counted.passes(2, 4) == pytest.approx(0.5)
    before = counted.tokens
    lm.model(ids)
    assert counted.tokens == before


@pytest.fixture(scope="module", params=["gpt2", "gpt_neox", "qwen2"])
def answered(request, language_models):
    """Prompts of one length with two documents of one sentence each."""
    lm = language_models[request.param]
    questions = load_questions("world_capital", 30, 0, style_of(lm))
    memories = Memories.collect(lm, questions.facts)
    found: dict[int, list] = {}
    for place, fact in enumerate(questions.facts):
        instance = regimes.build(fact, "double_conflicting", questions.pool, 0, style_of(lm), place)
        prepared = pipeline.prepare(lm, instance, memories.of(lm, fact, questions.pool))
        if not prepared.dropped_because:
            found.setdefault(len(prepared.prompt.ids), []).append(prepared)
    return pipeline.answer(lm, max(found.values(), key=len)[:3])


@pytest.mark.parametrize("key", KEYS)
def test_explainers_declare_what_they_take(answered, key):
    """Within a quarter: how much of a prompt is run again depends on where its documents and batches end."""
    lm, method = answered.clean.lm, catalogue.find("explainer", key)
    method.explain(CleanPass(lm, answered.clean.prompts), answered.targets)  # what is made once for a model
    with counting(lm) as counted:
        clean = CleanPass(lm, answered.clean.prompts)
        method.explain(clean, answered.targets)
    declared = method.cost(clean.length).tokens / clean.length
    taken = counted.passes(clean.size, clean.length)
    assert taken < 1.25 * declared
    # ContextCite declares the 64 masks of many sentences; two have four.
    assert taken > (0 if key == "contextcite" else 0.75 * declared)
