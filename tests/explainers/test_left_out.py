"""Prompts without some tokens, and explainers that leave out: `document` and `origin` against their formulas on prompts that
are put together anew, ContextCite against a literal loop over its masks."""

import dataclasses
import zlib

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from heval_core.explainers.contextcite import ContextCite
from heval_core.explainers.document import DocumentEffect
from heval_core.explainers.origin import EVENLY, Origin, shares
from heval_core.explainers.shared.left_out import _batches, _Waiting, effects, lead, logprobs, units, without, without_earlier
from heval_core.explainers.shared.token_parts import PARTS
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import CHAT, assemble, memory_prompt
from heval_core.prompting.units import Unit
from heval_core.records import HEvalError, Prompt, Span, Target
from heval_core.statistics.sparse_fit import masks
from tests.asked import KENYA, QUESTION, asked, runner_up

FIRST, SECOND = KENYA, "Nairobi is old. Lima is the capital of Peru."
KINDS = (("gpt2", "demo"), ("gpt_neox", "demo"), ("qwen2", "bos"), ("llama-gqa", "bos"), ("mistral", "sentencepiece"))
KINDS += (("gemma2", "sentencepiece"),)


# How Llama 3 and Qwen cut a text: punctuation and the line breaks behind it are one token.
PIECES = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TURNS = "{% for m in messages %}<s>user\n{{m['content']}}</s>\n{% endfor %}{% if add_generation_prompt %}<s>model\n{% endif %}"


@pytest.fixture(scope="module", params=["<s>user\n", "User: "])
def chatty(request, language_models):
    """A tokenizer with a chat template, as `without` wants it: in a model."""
    made = Tokenizer(models.BPE())
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PIECES), "isolated"), whole])
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([f"{FIRST} {SECOND}\n\n{QUESTION} {FIRST} {QUESTION}"] * 30, trainer)
    turns = TURNS.replace("<s>user\n", request.param)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", chat_template=turns)
    return as_language_model("chatty", language_models["gpt2"].model, tokenizer, template=CHAT)


@pytest.fixture(scope="module", params=KINDS, ids="-".join)
def tiny(request, loaded, language_models):
    kind, tokenizer = request.param
    return language_models.get(kind) or loaded(kind, tokenizer)


def literal(lm, ids, tokens):
    """log p of the tokens after the prompt, each by a pass of its own that keeps all positions."""
    with torch.no_grad():
        row = lm.model(torch.tensor([ids], device=lm.device)).logits[0, -1].double().log_softmax(-1)
    return [float(row[token]) for token in tokens]


def test_in_a_chat_the_lines_between_documents_and_question_stay(chatty):
    def asked(*texts):
        return chatty.tokenise(assemble(texts, (None,) * len(texts), QUESTION, CHAT))

    prompt = asked(FIRST, SECOND)
    one, two = units(prompt)
    assert prompt.tokens[two.end - 1] == ".\n\n"
    for gone, expected in (((one,), asked(SECOND).ids), ((two,), asked(FIRST).ids), ((one, two), asked().ids)):
        assert without(chatty, prompt, gone, (-1,))[0] == expected
    assert without(chatty, asked(FIRST), units(asked(FIRST)), (-1,))[0] == asked().ids
    *_, of, peru, stop = units(prompt, "word")
    ids, _ = without(chatty, prompt, (peru, stop), (-1,))
    assert ids == asked(FIRST, SECOND.removesuffix(" Peru.")).ids
    assert without(chatty, prompt, (peru, stop), (of.end - 1, -1))[0] == tuple(
        token for index, token in enumerate(prompt.ids) if index not in range(peru.start, stop.end)
    )  # what is read at a token stays what it is


def test_document_equals_the_formula_on_prompts_put_together_anew(tiny):
    for texts in ((FIRST, SECOND), (SECOND, FIRST), (FIRST, FIRST)):
        clean, target = given(tiny, *texts)
        (prompt,), expected = clean.prompts, np.zeros(clean.length)
        for number, span in enumerate(prompt.documents):
            expected[span.start : span.end] = literal_effect(tiny, target, *texts, without=number)
        (found,) = DocumentEffect().explain(clean, (target,))
        np.testing.assert_allclose(found.scores, expected, atol=1e-4)
        bare = dataclasses.replace(target, foils=())
        (alone,), (both,) = (logprobs(clean, [t], [[(unit,) for unit in units(prompt)]]) for t in (bare, target))
        np.testing.assert_array_equal(alone[:, 0], both[:, 0])
        assert not alone[:, 1].any()


def test_an_answers_words_alone_are_what_follows_the_prompt_and_run_within_the_budget(lm, monkeypatch):
    prompt, answer = asked(lm, FIRST), tuple(range(40, 52))
    words, n = [Unit(0, 2, ""), *(Unit(i, i + 1, "") for i in range(2, 12))], len(prompt.ids)
    clean = CleanPass(lm, [dataclasses.replace(prompt, ids=prompt.ids + answer[:-1])])
    whole, rows = lm.forward.suffix_logits, []
    monkeypatch.setattr(lm.forward, "suffix_logits", lambda *given: rows.append(len(given[2])) or whole(*given))
    monkeypatch.setattr(lm.budget, "tokens", 3 * n + 8)
    found = without_earlier(clean, Target(tuple(range(n - 1, n + 11)), answer), words)
    assert max(rows) == 3
    first = literal(lm, prompt.ids, (answer[0], *answer[2:]))
    second = literal(lm, (*prompt.ids, answer[0]), answer[1:2])
    np.testing.assert_allclose(found, [first[0], *second, *first[1:]], atol=1e-4)


@pytest.mark.parametrize("budget", [1, 60, 10_000])
def test_a_batch_gives_what_each_prompt_gets_alone_under_any_budget(lm, budget, monkeypatch):
    prompt = asked(lm, FIRST, SECOND)
    one, two = prompt.documents
    turned = prompt.ids[: two.start] + prompt.ids[two.start : two.end][::-1] + prompt.ids[two.end :]
    # The other one's documents are the first one's whole text, of other lengths.
    prompts = [prompt, dataclasses.replace(prompt, ids=turned, documents=(Span(0, one.end - 2), Span(one.end - 2, two.end)))]
    together = CleanPass(lm, prompts)
    targets = [runner_up(together, row) for row in (0, 1)]
    alone = [DocumentEffect().explain(CleanPass(lm, [p]), (t,))[0] for p, t in zip(prompts, targets, strict=True)]
    monkeypatch.setattr(lm.budget, "tokens", budget)
    for found, expected in zip(DocumentEffect().explain(together, targets), alone, strict=True):
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)


def test_a_target_of_several_tokens_is_read_where_its_tokens_are_now(lm):
    prompt = asked(lm, FIRST, SECOND)
    n = len(prompt.ids)
    target = Target((n - 3, -1), prompt.ids[-2:-1] + (7,), (5, 6), "planted")
    clean = CleanPass(lm, [prompt])
    one, two = units(prompt)
    ((by_token,), (by_foil,)) = (
        [float(row[0, 0]) for row in logprobs(clean, [t], [[(two,)]])]
        for t in (target, Target(target.positions, target.foils))
    )
    ids = asked(lm, FIRST).ids
    with torch.no_grad():
        rows = lm.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    assert by_token == pytest.approx(float(rows[-3, target.ids[0]] + rows[-1, 7]), abs=1e-4)
    assert by_foil == pytest.approx(float(rows[-3, 5] + rows[-1, 6]), abs=1e-4)
    assert without(lm, prompt, (one,), (two.start, -1))[1] == (two.start - n, -1)  # the text before it became shorter
    later = without(lm, prompt, (two,), (one.end - 1, -1))
    assert later[1] == (one.end - 1 - len(later[0]), -1)
    inside = Target((two.start + 1, two.start + 2), (3, 4))
    assert units(prompt, target=inside) == (one, dataclasses.replace(two, end=two.start + 1))
    assert units(prompt, target=Target((one.start, -1), (3, 4))) == ()
    with pytest.raises(HEvalError, match=f"left out holds position {one.start}, at which the answer is read"):
        logprobs(clean, [Target((one.start, -1), (3, 4))], [[(one,)]])


def test_sentences_stand_for_documents_that_are_not_marked(language_models):
    lm = language_models["gpt2"]
    text = f"{FIRST} {SECOND} Q: {QUESTION} A:"
    start = text.index("Nairobi")
    prompt = lm.tokenise(Prompt(text, (), Span(start, len(text) - 3), ()))
    found = units(prompt)
    assert [unit.text(prompt.tokens).strip() for unit in found] == [FIRST, *SECOND.replace(". ", ".|").split("|")]
    alone = lm.tokenise(memory_prompt(QUESTION))
    assert units(alone) == (Unit(alone.first_ranked, alone.question.start, "document 1"),)
    clean = CleanPass(lm, [prompt])
    (given,) = DocumentEffect().explain(clean, (runner_up(clean),))
    assert not given.scores[found[-1].end :].any()
    assert given.scores[found[0].start] != given.scores[found[1].start]


def test_words_and_sentences_stay_within_their_document(language_models):
    prompt = asked(language_models["gpt2"], FIRST, SECOND)
    for level, count in (("sentence", 3), ("word", 18)):
        found = units(prompt, level)
        assert len(found) == count
        assert found[0].start == prompt.documents[0].start
        assert found[-1].end == prompt.documents[1].end


def test_what_a_document_gives_the_competitor_counts_against_it_and_what_it_takes_does_not_count():
    assert lead(np.array([[2.0, 3.0], [2.0, -3.0], [-1.0, 0.0]])).tolist() == [-1.0, 2.0, -1.0]


def test_other_units_are_variants_and_the_results_of_documents_keep_their_name(lm):
    sentences = catalogue.method("document(unit=sentence)")
    assert repr(catalogue.method("document")) == "DocumentEffect()"
    assert repr(sentences) == "DocumentEffect(unit='sentence')"
    clean = CleanPass(lm, [asked(lm, FIRST, SECOND)])
    (found,) = sentences.explain(clean, (runner_up(clean),))
    assert len(set(found.scores[found.scores != 0])) == 3
    with pytest.raises(HEvalError, match="document has no unit 'page'; there are: token, word, sentence, document"):
        DocumentEffect(unit="page").explain(clean, (runner_up(clean),))


def given(lm, *documents):
    clean = CleanPass(lm, [asked(lm, *documents)])
    return clean, runner_up(clean)


def literal_effect(lm, target, *documents, without):
    """E of one document, from two passes over prompts that are put together anew."""
    kept = [text for index, text in enumerate(documents) if index != without]
    tokens = (*target.ids, *target.foils)
    answer, foil = np.subtract(*(literal(lm, asked(lm, *texts).ids, tokens) for texts in (documents, kept)))
    return answer - max(0.0, foil)


@pytest.mark.parametrize("tiny", KINDS[:-1], indirect=True, ids="-".join)
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
    scores = shared_out(Origin(tokens, sentences), clean, target)
    assert not scores[clean.prompts[0].documents[-1].end :].any()


def shared_out(explainer, clean, target):
    """The scores, which give each document its effect."""
    (found,) = explainer.explain(clean, (target,))
    (of_documents,) = effects(clean, (target,), [units(clean.prompts[0])])
    for span, effect in zip(clean.prompts[0].documents, of_documents, strict=True):
        assert float(found.scores[span.start : span.end].sum()) == pytest.approx(effect, abs=1e-5)
    return found.scores


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
    shared_out(Origin(), clean, dataclasses.replace(target, foils=(), foil_kind=""))


def test_shares_sum_to_one_and_every_token_has_one():
    assert shares(np.array([-1.0, 3.0, 1.0, 0.0])) == pytest.approx([0.0125, 0.0125 + 0.7125, 0.0125 + 0.2375, 0.0125])
    assert shares(np.array([-1.0, -2.0])).tolist() == [0.5, 0.5]
    assert float(shares(np.random.default_rng(0).normal(size=50)).min()) == pytest.approx(EVENLY / 50)


def test_an_unknown_token_part_is_told():
    with pytest.raises(HEvalError, match="origin has no token part 'alti'; there are: attnlrp, cgim, gxi, fa"):
        catalogue.find("explainer", "origin(tokens=alti)").check()


TEXTS = ("Lima is old. Peru is large.", "Lisbon is in Kenya. It is so. Oslo is far.")


@pytest.mark.parametrize("unit", ["sentence", "word"])
def test_contextcite_equals_a_literal_loop_over_the_masks(lm, unit):
    prompt = asked(lm, *TEXTS)
    clean = CleanPass(lm, [prompt])
    target = runner_up(clean)
    sources = units(prompt, unit)
    seed = zlib.crc32(b"".join(int(token).to_bytes(8, "little") for token in prompt.ids))
    kept = masks(len(sources), seed)
    assert kept.shape == ((32, 5) if unit == "sentence" else (64, len(sources)))
    odds = []
    for row in kept:
        ids, _ = without(lm, prompt, [one for one, there in zip(sources, row, strict=True) if not there], (-1,))
        (logprob,) = literal(lm, ids, target.ids)
        odds.append(logprob - np.log1p(-np.exp(logprob)))
    fit = Lasso(alpha=0.01).fit(kept.astype(float), odds)
    (found,) = ContextCite(unit=unit).explain(clean, [target])
    expected = np.zeros(len(prompt.ids))
    for one, weight in zip(sources, fit.coef_, strict=True):
        expected[one.start : one.end] = weight
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)
    assert not found.scores[prompt.question.start :].any()


def test_a_prompt_without_a_unit_scores_nothing_and_an_unknown_unit_is_refused(lm):
    prompt = asked(lm)
    bare = CleanPass(lm, [prompt])
    assert not ContextCite(unit="word").explain(bare, [runner_up(bare)])[0].scores[prompt.question.start :].any()
    with pytest.raises(HEvalError, match="contextcite has no unit 'page'; there are: sentence, word"):
        ContextCite(unit="page").explain(bare, [runner_up(bare)])


def test_what_runs_together_repeats_no_quarter_of_the_prompt_for_one_that_differs_early():
    waiting = [_Waiting(first, 0, number, ()) for number, first in enumerate((70, 0, 20, 25, 30, 99))]
    batches = [[one.first for one in batch] for batch in _batches(waiting, 3, 100)]
    assert batches == [[0, 20, 25], [30], [70], [99]]
    assert [len(batch) for batch in _batches(waiting, 1, 100)] == [1] * 6
