"""Explainers of citations: against the plain model, sentence by sentence, and on a model that is known to copy. What they
read: the prompt with its passages, and the explanation without markers after it."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from heval_core.citations.annotators.shared import weights
from heval_core.citations.annotators.shared.choice import random_levels, resting
from heval_core.citations.annotators.shared.weights import tokens_of
from heval_core.citations.reading import explanation_prompt, layout, parsed
from heval_core.citations.records import CitedSentence, Claim, Explained, Passage
from heval_core.lm.loading import load
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import CHAT
from heval_core.records import HEvalError
from tests.citations.copier import explained
from tests.citations.planted import of_texts, questions

WAYS = ("loo", "contextcite", "gradient", "attention")
TEXTS = ("Lima is the capital of Peru.", "Peru lies in America.", "People in Peru speak Spanish.", "The currency is the sol.")
SAID = ("Its capital is Lima.", "", "People there speak Spanish.", "It is so.")
SMALL = of_texts([Passage(number, text) for number, text in enumerate(TEXTS, 2)], SAID)


def prompt_text(of, left_out=()):
    return explanation_prompt(of.claim, [own for own in of.passages if own.number not in left_out], layout(of.prompt)).text


def literal(plain, tokenizer, left_out):
    """log p of each sentence by the plain model: the text before it is run with it, and each of its tokens is looked up."""
    text, values = prompt_text(SMALL, left_out), []
    for sentence in SAID:
        text += " " if sentence else ""
        start, text = len(text), text + sentence
        encoded = tokenizer(text, return_offsets_mapping=True)
        ids = torch.tensor([encoded.input_ids])
        with torch.no_grad():
            logprobs = plain(ids).logits[0].log_softmax(-1)
        own = [place for place, (_, end) in enumerate(encoded.offset_mapping) if end > start]
        values.append(sum(float(logprobs[place - 1, ids[0, place]]) for place in own) if sentence else 0.0)
    return np.array(values)


def test_loo_equals_running_each_ablated_text_sentence_by_sentence(lm, plain):
    full = literal(plain, lm.tokenizer, ())
    expected = [full - literal(plain, lm.tokenizer, (number,)) for number in SMALL.selected]
    found = weights.left_one_out(lm, SMALL)
    np.testing.assert_allclose(found.phi, expected, atol=2e-4)
    assert np.abs(found.phi).max() > 0.1
    assert found.least == 1 / 5


def test_contextcite_equals_a_literal_loop_over_the_subsets(lm, plain):
    rows, odds = [], []
    for subset in range(16):
        kept = [bool(subset >> (3 - place) & 1) for place in range(4)]
        values = literal(
            plain, lm.tokenizer, [number for number, there in zip(SMALL.selected, kept, strict=True) if not there]
        )
        rows.append(kept)
        odds.append([value - np.log1p(-np.exp(value)) if value else np.inf for value in values])
    found = weights.contextcite(lm, SMALL).phi
    for place, sentence in enumerate(SAID):
        if sentence:
            fit = Lasso(alpha=0.01).fit(np.array(rows, float), np.array(odds)[:, place])
            np.testing.assert_allclose(found[:, place], fit.coef_, atol=1e-3)
    assert np.abs(found).max() > 0.1
    assert not found[:, 1].any()


def test_attention_is_the_mean_of_the_rows_that_predict_the_sentence(lm, plain):
    text = tokens_of(lm, SMALL)
    attention = torch.stack(plain(torch.tensor([text.ids]), output_attentions=True).attentions).mean((0, 2))[0]
    found = weights.by_attention(lm, SMALL).phi
    span, passage = text.sentences[2], text.passages[1]
    expected = attention[span.start - 1 : span.end - 1, passage.start : passage.end].sum(1).mean()
    assert found[1, 2] == pytest.approx(float(expected), abs=1e-5)
    assert (found[:, 1] == 0).all()


def test_gradient_is_the_length_at_each_of_the_passages_tokens(lm, plain):
    text = tokens_of(lm, SMALL)
    inputs = plain.get_input_embeddings()(torch.tensor([text.ids])).detach().requires_grad_()
    logprobs = plain(inputs_embeds=inputs).logits[0].log_softmax(-1)
    span, passage = text.sentences[3], text.passages[2]
    sum(logprobs[place - 1, text.ids[place]] for place in range(span.start, span.end)).backward()
    expected = inputs.grad[0, passage.start : passage.end].norm(dim=-1).sum()
    assert weights.by_gradient(lm, SMALL).phi[2, 3] == pytest.approx(float(expected), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(("way", "least", "most"), [("loo", 0.95, 0.2), ("contextcite", 0.95, 0.2), ("attention", 0.9, 0.35)])
def test_the_passage_a_sentence_was_copied_from_is_found_and_a_sentence_from_nothing_is_left_alone(copying, way, least, most):
    hits, invented = [], []
    for seed in range(2 if way == "contextcite" else 5):
        of = explained(seed)
        choices = catalogue.find("annotator", f"explainer({way})").annotate(questions(of), copying)
        assert not any(choice.problem for choice in choices)
        for place, source in enumerate(of.sources):
            own = tuple(number for number, c in zip(of.selected, choices, strict=True) if place in c.chosen)
            assert len(own) <= 1
            (hits if source else invented).append(own == source if source else own != ())
    assert np.mean(hits) >= least
    assert np.mean(invented) <= most


@pytest.mark.parametrize("way", WAYS)
def test_hard_explanations_are_answered(copying, way):
    annotator = catalogue.find("annotator", f"explainer({way})")
    empty = dataclasses.replace(explained(0), sentences=())
    blank = dataclasses.replace(explained(0), sentences=(CitedSentence("", "", ()), CitedSentence(" ", " ", ())))
    single = explained(0, passages=1, copied=1, nothing=0)
    assert [choice.scores for choice in annotator.annotate(questions(empty), copying)] == [()] * 8
    assert {choice.chosen for choice in annotator.annotate(questions(blank), copying)} == {frozenset()}
    (choice,) = annotator.annotate(questions(single), copying)
    if way in ("loo", "contextcite"):
        assert choice.chosen == {0}
    else:
        assert choice.problem.startswith(f"There is no random level for explainer({way}): 1 passages")
    assert annotator.annotate([], copying) == []


def test_an_explanation_that_is_too_long_is_named_and_the_others_go_on(copying):
    long, short = explained(0, passages=50, copied=4, nothing=2), explained(3)
    choices = catalogue.find("annotator", "explainer(loo)").annotate([*questions(long), *questions(short)], copying)
    assert len(choices) == 58
    text = " ".join((prompt_text(long), *(sentence.bare for sentence in long.sentences)))
    tokens = len(copying.tokenizer(text).input_ids)
    told = f"The explanation and its prompt have {tokens} tokens; {copying.key} reads at most 256."
    assert {choice.problem for choice in choices[:50]} == {told}
    assert not any(choice.problem for choice in choices[50:])


def test_a_claim_of_eight_passages_costs_nine_passes_whatever_its_sentences(copying, monkeypatch):
    of, rows = explained(0), []
    handle = copying.model.transformer.register_forward_pre_hook(
        lambda _, args, options: rows.append(options["input_ids"].shape[0]), with_kwargs=True
    )
    weights.left_one_out(copying, of)
    handle.remove()
    assert sum(rows) == 9 <= 1.2 * 8
    assert len(rows) == 1


def test_a_way_that_does_not_exist_and_none_at_all_are_refused():
    with pytest.raises(HEvalError, match=r"no way 'lime'; there are: explainer\(loo\), explainer\(contextcite\)"):
        catalogue.find("annotator", "explainer(lime)")
    with pytest.raises(HEvalError, match="no way ''"):
        catalogue.find("annotator", "explainer").annotate([], None)
    assert catalogue.find("annotator", "explainer(loo,model=x/y)").key == "explainer(loo,model=x/y)"


def test_the_random_level_by_hand():
    """Not the best are 0, 1, 2: median 1, distances from it 1, 0, 1; Student's t with 2 degrees of freedom."""
    z = np.array([[9.0, 9.0, 9.0], [0.0, 1.0, 2.0]])
    # .95^(1/2) = .974679: t = 4.2726, as (2p - 1) sqrt(2 / (1 - (2p - 1)^2)) says for two degrees of freedom.
    share = 2 * 0.95**0.5 - 1
    t = share * np.sqrt(2 / (1 - share**2))
    expected = 1 + t * 1.4826 * np.sqrt(4 / 3)
    np.testing.assert_allclose(random_levels(z), [expected] * 3, rtol=1e-9)
    assert resting(z, random_levels(z)).tolist() == [0, 0, 0]
    assert resting(z, np.array([9.5, 8.0, np.nan])).tolist() == [-1, 0, -1]


def test_passages_that_have_nothing_to_do_with_a_sentence_stay_below_the_level_as_often_as_it_says():
    rng = np.random.default_rng(0)
    chosen = [resting(z, random_levels(z)) >= 0 for z in rng.normal(size=(300, 8, 6))]
    assert np.mean(chosen) <= 0.08


PASSAGES = (Passage(3, "Lima is {claim} its capital."), Passage(5, "It borders Chile.", "Peru"), Passage(9, "Unused."))
CLAIM = Claim("1", "Peru is {verdict} large.", "true", PASSAGES)
SENTENCES = (
    CitedSentence("Lima leads [3].", "Lima leads.", (3,)),
    CitedSentence("", "", ()),
    CitedSentence("It is big.", "It is big.", ()),
)
EXPLAINED = Explained(CLAIM, "w", "all", (3, 5), SENTENCES)


TURNS = "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}\n{% endfor %}<assistant>{{ '\\n' }}"


def parts(lm, text):
    """The texts of passages and sentences."""
    return [lm.tokenizer.decode(text.ids[span.start : span.end]).strip() for span in (*text.passages, *text.sentences)]


def test_in_a_chat_the_explanation_follows_the_header_of_the_answer(model_folders):
    lm = load(str(model_folders["gpt2"]), "cpu")
    lm.tokenizer.chat_template = TURNS
    with lm.asked_in(CHAT):
        text = tokens_of(lm, EXPLAINED, {3})
    assert lm.tokenizer.decode(text.ids).endswith("Explanation:\n<assistant>\nLima leads. It is big.")
    assert parts(lm, text) == ["[5] Peru: It borders Chile.", "Lima leads.", "", "It is big."]


def test_a_passage_is_left_out_with_its_whole_line_and_the_others_keep_their_numbers(language_models):
    lm = language_models["gpt2"]
    whole, found = (tokens_of(lm, EXPLAINED, left_out) for left_out in ((), {3}))
    line = "[3] Lima is {claim} its capital."
    assert parts(lm, whole) == [line, "[5] Peru: It borders Chile.", "Lima leads.", "", "It is big."]
    assert parts(lm, found) == parts(lm, whole)[1:]
    assert lm.decode(list(whole.ids)).replace(f"{line}\n", "") == lm.decode(list(found.ids))
    assert lm.decode(list(found.ids)).endswith("Explanation: Lima leads. It is big.")
    assert tokens_of(lm, EXPLAINED, {3, 5}).passages == ()


def test_a_file_may_put_the_number_after_the_passage():
    numbered = parsed("x", "passage: {text} [{number}]\n{passages}\nQ: {claim}\n\n")
    prompt = explanation_prompt(CLAIM, CLAIM.passages[:2], numbered)
    first, second, said = "Lima is {claim} its capital. [3]", "Peru: It borders Chile. [5]", "Peru is {verdict} large."
    assert prompt.text == f"{first}\n{second}\nQ: {said}"
    spans = (*prompt.documents, prompt.question)
    assert [prompt.text[span.start : span.end] for span in spans] == [first, second, said]


@pytest.mark.parametrize("text", ["{claim}", "{passages} {passages}", "passage: {number}\n{passages}"])
def test_a_file_that_is_no_layout_is_named(text):
    with pytest.raises(HEvalError, match="'mine' is no layout"):
        parsed("mine", text)


def test_an_explanation_that_names_no_prompt_is_read_under_the_first_one():
    assert layout("").id == "writing-1"
