"""`origin` against its formula on prompts that are put together anew, and what each of its two parts does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from heval_core import catalogue
from heval_core.explainers.origin import EVENLY, Origin, shares
from heval_core.explainers.shared.left_out import effects, units
from heval_core.explainers.shared.token_parts import PARTS
from heval_core.lm.clean_pass import CleanPass
from heval_core.prompts import memory_prompt
from heval_core.records import HEvalError, Prompt, Span
from tests.asked import QUESTION, asked, runner_up
from tests.test_left_out import FIRST, KINDS, SECOND


@pytest.fixture(scope="module", params=KINDS[:-1], ids="-".join)
def tiny(request, loaded, language_models):
    kind, tokenizer = request.param
    return language_models.get(kind) or loaded(kind, tokenizer)


def given(lm, *documents):
    clean = CleanPass(lm, [asked(lm, *documents)])
    return clean, runner_up(clean)


def literal_effect(lm, target, *documents, without):
    """E of one document, from two passes over prompts that are put together anew."""
    kept = [text for index, text in enumerate(documents) if index != without]
    rows = []
    for ids in (asked(lm, *documents).ids, (asked(lm, *kept) if kept else lm.tokenise(memory_prompt(QUESTION))).ids):
        with torch.no_grad():
            rows.append(lm.model(torch.tensor([ids])).logits[0, -1].double().log_softmax(-1))
    answer, foil = (float(rows[0][token] - rows[1][token]) for token in (*target.ids, *target.foils))
    return answer - max(0.0, foil)


@pytest.mark.parametrize("documents", [(FIRST, SECOND), (SECOND,), (FIRST, SECOND, FIRST)], ids=len)
def test_scores_are_the_documents_effects_shared_out_by_relevance(tiny, documents):
    clean, target = given(tiny, *documents)
    (found,) = Origin().explain(clean, (target,))
    (relevance,) = catalogue.find("explainer", "attnlrp").explain(clean, (target,))
    expected = np.zeros(clean.length)
    for number, span in enumerate(clean.prompts[0].documents):
        own = np.maximum(relevance.scores[span.start : span.end].astype(float), 0)
        parts = own / own.sum() if own.any() else np.full(len(own), 1 / len(own))
        effect = literal_effect(tiny, target, *documents, without=number)
        expected[span.start : span.end] = effect * (0.05 / len(own) + 0.95 * parts)
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)


@pytest.mark.parametrize("sentences", [False, True])
@pytest.mark.parametrize("tokens", PARTS)
def test_a_documents_scores_sum_to_its_effect_whatever_shares_it_out(language_models, tokens, sentences):
    clean, target = given(language_models["qwen2"], FIRST, SECOND)
    (found,) = Origin(tokens, sentences).explain(clean, (target,))
    (of_documents,) = effects(clean, (target,), [units(clean.prompts[0])])
    for span, effect in zip(clean.prompts[0].documents, of_documents, strict=True):
        assert float(found.scores[span.start : span.end].sum()) == pytest.approx(effect, abs=1e-5)
    assert not found.scores[clean.prompts[0].documents[-1].end :].any()


@pytest.mark.parametrize("tokens", PARTS)
def test_within_a_document_tokens_stand_in_the_order_of_the_explainer_that_shares_it_out(language_models, tokens):
    clean, target = given(language_models["gpt2"], FIRST, SECOND)
    (found,), (part,) = (
        explainer.explain(clean, (target,)) for explainer in (Origin(tokens), catalogue.find("explainer", tokens))
    )
    for span in clean.prompts[0].documents:
        own, of_part = found.scores[span.start : span.end], np.maximum(part.scores[span.start : span.end], 0)
        sign = np.sign(own.sum())
        assert (np.argsort(-sign * own, kind="stable") == np.argsort(-of_part, kind="stable")).all()


def test_sentences_share_what_their_document_gives_by_what_each_of_them_gives(language_models):
    lm = language_models["gpt_neox"]
    clean, target = given(lm, FIRST, SECOND)
    (found,) = Origin(sentences=True).explain(clean, (target,))
    _, nairobi, lima = units(clean.prompts[0], "sentence")
    (of_sentences,) = effects(clean, (target,), [(nairobi, lima)])
    above = np.maximum(of_sentences, 0)
    effect = literal_effect(lm, target, FIRST, SECOND, without=1)
    weights = above / above.sum() if above.any() else np.array([nairobi.end - nairobi.start, lima.end - lima.start], float)
    for unit, weight in zip((nairobi, lima), weights / weights.sum(), strict=True):
        assert float(found.scores[unit.start : unit.end].sum()) == pytest.approx(effect * weight, abs=1e-5)


def test_where_no_documents_are_marked_sentences_stand_for_them(language_models):
    lm = language_models["qwen2"]
    text = f"{FIRST} {SECOND} Q: {QUESTION} A:"
    prompt = lm.tokenise(Prompt(text, (), Span(text.index("Which"), len(text) - 3), ()))
    clean = CleanPass(lm, [prompt])
    target = runner_up(clean)
    (found,) = Origin().explain(clean, (target,))
    (of_sentences,) = effects(clean, (target,), [units(prompt)])
    sums = [float(found.scores[unit.start : unit.end].sum()) for unit in units(prompt)]
    np.testing.assert_allclose(sums, of_sentences, atol=1e-5)
    assert len(sums) > 2


def test_without_a_competitor_what_a_document_gives_the_answer_counts(language_models):
    clean, target = given(language_models["gpt2"], FIRST, SECOND)
    bare = dataclasses.replace(target, foils=(), foil_kind="")
    (found,) = Origin().explain(clean, (bare,))
    (of_documents,) = effects(clean, (bare,), [units(clean.prompts[0])])
    for span, effect in zip(clean.prompts[0].documents, of_documents, strict=True):
        assert float(found.scores[span.start : span.end].sum()) == pytest.approx(effect, abs=1e-5)


def test_shares_sum_to_one_and_every_token_has_one():
    assert shares(np.array([-1.0, 3.0, 1.0, 0.0])) == pytest.approx([0.0125, 0.0125 + 0.7125, 0.0125 + 0.2375, 0.0125])
    assert shares(np.array([-1.0, -2.0])).tolist() == [0.5, 0.5]
    assert float(shares(np.random.default_rng(0).normal(size=50)).min()) == pytest.approx(EVENLY / 50)


def test_an_unknown_token_part_is_told():
    with pytest.raises(HEvalError, match="origin has no token part 'alti'; there are: attnlrp, cgim, gxi, fa"):
        catalogue.find("explainer", "origin(tokens=alti)").check()
