"""Prompts with their character spans, their layouts, and answers that stand inside a sentence."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.shared import ablated
from heval_core.explainers.shared.ablated import ablation_scores
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import WITHIN_TOKENS, Named, up_to_answers
from heval_core.lm.chat import in_chat
from heval_core.lm.clean_pass import CleanPass
from heval_core.prompting.answers import answer_in, group_by_text, group_within
from heval_core.prompting.prompts import (
    AUTO,
    LAYOUTS,
    TEMPLATE,
    assemble,
    instructed,
    is_chat,
    layout_of,
    memory_prompt,
    spelled,
)
from heval_core.records import HEvalError, Span, Target
from tests.lm.test_chat import CHATML, words

DOCUMENT, QUESTION, CLOZE = "The capital of Kenya is Lisbon.", "What is the capital of Kenya?", "The capital of Kenya is"


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=2), st.text(min_size=1).filter(str.strip))
def test_document_spans_give_back_the_documents(texts, question):
    prompt = assemble(tuple(texts), (None,) * len(texts), question)
    assert [prompt.text[s.start : s.end] for s in prompt.documents] == texts
    assert prompt.text[prompt.question.start : prompt.question.end] == question


def test_a_template_may_put_the_question_first():
    prompt = assemble(("One.",), ("One",), "Why?", "{question}\n{documents}\nAnswer:")
    assert prompt.text == "Why?\nOne.\nAnswer:"
    assert prompt.answers == ((Span(5, 8),),)


NO_FIELDS = ("{documents} A:", "{documents}{documents}{question}", "no fields")


@pytest.mark.parametrize(("documents", "question", "template", "told"), [
    *((("One.",), "Why?", template, "needs the fields") for template in NO_FIELDS),
    (("One.",), " ", TEMPLATE, "question is empty"), (("One.", "\n"), "Why?", TEMPLATE, "Document 2 is empty"),
])  # fmt: skip
def test_templates_without_their_fields_and_empty_parts_are_refused_by_name(documents, question, template, told):
    with pytest.raises(HEvalError, match=told):
        assemble(documents, (None,) * len(documents), question, template)


def test_a_layout_has_a_form_for_questions_and_one_for_clozes():
    def end(template, question):
        prompt = assemble((DOCUMENT,), ("Lisbon",), question, template)
        return prompt.text[prompt.documents[0].start :]

    assert end("plain", QUESTION) == f"{DOCUMENT} Q: {QUESTION} A:"
    assert assemble(("One.", "Two."), (None, None), "Why?").text == "One. Two. Q: Why? A:"
    assert memory_prompt("Why?").text == "Q: Why? A:"
    assert end("cloze", CLOZE) == f"{DOCUMENT} {CLOZE}" == end("examples", CLOZE)
    assert end("examples", QUESTION) == f"{DOCUMENT}\nQuestion: {QUESTION}\nAnswer:" == end(AUTO, QUESTION)
    assert end("chat: So it is", QUESTION) == f"{DOCUMENT}\n\n{QUESTION}" == end("begun", QUESTION)
    with pytest.raises(HEvalError, match=r"'{question}' needs the fields .* or write one of: auto, plain"):
        layout_of("{question}", QUESTION)


def test_the_assistants_turn_begins_after_its_header_and_nothing_of_it_is_ranked():
    tokenizer = words(CHATML)
    for question, beginning in ((QUESTION, "The answer is:"), (CLOZE, CLOZE)):
        asked = in_chat(assemble((DOCUMENT,), ("Lisbon",), question, "begun"), tokenizer)
        assert asked.text.endswith(f"assistant\n{beginning}")
        assert asked.text[asked.ranked.start : asked.ranked.end] == f"{DOCUMENT}\n\n{question}"


@pytest.mark.parametrize("question", [QUESTION, CLOZE])
def test_solved_examples_come_first_and_are_never_ranked(lm, question):
    prompt = assemble((DOCUMENT,), ("Lisbon",), question, "examples")
    lead = layout_of("examples", question).lead
    assert prompt.text.startswith(lead + DOCUMENT)
    assert "Kenya" not in lead
    tokenised = lm.tokenise(prompt)
    assert "".join(tokenised.tokens[: tokenised.first_ranked]) == lead
    assert tokenised.ranked.stop == len(tokenised.ids)
    assert tokenised.ranked_end is None
    assert memory_prompt(question, "examples").text == prompt.text.replace(DOCUMENT, "").replace(lead + " ", lead).replace(
        lead + "\n", lead
    )
    told = lm.tokenise(instructed(prompt, "Use the text."))
    assert "".join(told.tokens[told.first_ranked :]).startswith("Use the text. The capital")
    assert told.documents[0].text(told.tokens).strip() == DOCUMENT


def test_keys_know_a_layouts_words_and_the_papers_stays_what_it_was():
    assert [spelled(name) for name in ("plain", "chat", TEMPLATE)] == [TEMPLATE, "chat", TEMPLATE]
    assert "How many legs" in spelled("examples") == spelled(AUTO)
    assert [name for name in LAYOUTS if is_chat(name)] == ["chat", "begun"]


@pytest.mark.parametrize(("text", "group", "place"), [
    (" The capital is Lisbon, of course.", "C", 16), (" the CAPITAL is lisbon.", "C", 16),
    (" Oslo, though some say Lisbon.", "M", 1), (" It isn't Lisbon but Oslo.", "denied", 10), (" Lisbon it is not.", "C", 1),
    (" I do not know.\nLisbon", "other", -1), (" It is far. Lisbon.", "other", -1), (" New Lisbon.", "C2", 1),
    ("\n Lisbon", "C", 2), ("", "other", -1),
])  # fmt: skip
def test_the_first_sentence_is_searched(text, group, place):
    assert group_within([("C", "Lisbon"), ("C2", "New Lisbon"), ("M", "Oslo")], text) == (group, place)


@pytest.mark.parametrize(("candidate", "text"), [
    ("Côte d'Ivoire", "Côte d’Ivoire is it"), ("São Tomé", "Sa\u0303o Tome\u0301 is it"),
    ("Sa\u0303o Tome\u0301", "São Tomé is it"), ("N’Djamena", "N'Djamena is it"), ("NʼDjamena", "N’Djamena is it"),
    ("Sao", "São"),
])  # fmt: skip
def test_an_answer_is_found_however_its_letters_are_stored(candidate, text):
    right = candidate != "Sao"
    assert group_within([("C", candidate), ("M", "Oslo")], f" It is {text}") == (("C", 7) if right else ("other", -1))
    assert (answer_in(text, true_answer=candidate) == candidate) is right
    assert group_by_text([("C", candidate), ("M", "Oslo")], text) == ("C" if right else "other")


def test_two_groups_with_the_answer_are_ambiguous():
    assert group_within([("C1", "Lisbon"), ("C2", "Lisbon")], "Lisbon") == ("ambiguous", 0)


def saying(lm, monkeypatch, text):
    ids = lm.encode(text)
    monkeypatch.setattr(lm.generation, "greedy", lambda prompts, tokens: [ids[:tokens]] * len(prompts))
    return ids


def test_what_is_said_before_an_answer_joins_the_prompt_and_is_not_ranked(lm, monkeypatch):
    ids = saying(lm, monkeypatch, " The capital is Lisbon.")
    prompt = lm.tokenise(assemble((DOCUMENT,), ("Lisbon",), QUESTION))
    names = (Named("C", "Lisbon", lm.first_tokens("Lisbon")), Named("M", "Oslo", lm.first_tokens("Oslo")))
    ((longer, found, said),) = up_to_answers(lm, [prompt], [names])
    before = lm.decode(longer.ids[len(prompt.ids) :])
    assert before.strip() == "The capital is"
    assert longer.text == prompt.text + before == "".join(longer.tokens)
    assert longer.ranked == prompt.ranked
    assert longer.ids + ids[len(longer.ids) - len(prompt.ids) :] == prompt.ids + ids
    assert (said.group, said.text) == ("C", " The capital is Lisbon.")
    assert found == names
    for text, group in ((" It is not Lisbon.", "denied"), (" The end", "other")):
        saying(lm, monkeypatch, text)
        ((same, _, said),) = up_to_answers(lm, [prompt], [names])
        assert same == prompt
        assert said.group == group


def test_an_answer_within_a_sentence_is_explained_where_it_stands_and_as_if_its_beginning_had_been_given(lm):
    """The model's own words: a word that it says later is the memory answer."""
    prompt = lm.tokenise(assemble((DOCUMENT,), ("Lisbon",), QUESTION, lm.template))
    said = lm.decode(lm.generation.greedy([prompt.ids], WITHIN_TOKENS)[0])
    sentence = re.split(r"(?<=[.!?])\s|\n", said.strip())[0]
    word = next(word for word in re.findall(r"\b[a-z]{2,}\b", sentence) if not sentence.startswith(word))
    request = pipeline.Request((DOCUMENT,), QUESTION, ("Lisbon",), word)
    explained = pipeline.explain_request(lm, request, [FeatureAblation()], match="within")
    begun = explained.prompt
    assert explained.behaviour.group == "M"
    assert explained.behaviour.answer_text == said
    assert begun.ranked == prompt.ranked
    assert begun.ids[: len(prompt.ids)] == prompt.ids
    assert said.startswith(begun.text.removeprefix(prompt.text) + explained.behaviour.text)
    assert word.startswith(explained.behaviour.text.strip())
    literal = FeatureAblation().explain(CleanPass(lm, [begun]), [Target.next_token(explained.behaviour.token_id)])
    assert explained.attributions["fa"].scores == pytest.approx(literal[0].scores)


def test_only_ranked_tokens_are_ablated_and_their_scores_are_those_of_the_whole(lm, monkeypatch):
    prompt = lm.tokenise(assemble((DOCUMENT,), ("Lisbon",), QUESTION, "examples"))
    whole = dataclasses.replace(prompt, first_ranked=0)
    target = [Target.next_token(lm.first_tokens("Lisbon")[0])]
    spans = []
    replaced = ablated.replaced
    monkeypatch.setattr(ablated, "replaced", lambda *given: spans.extend(given[1]) or replaced(*given))
    scores = ablation_scores(CleanPass(lm, [prompt]), target)
    assert min(span.start for span in spans) == prompt.first_ranked
    expected = ablation_scores(CleanPass(lm, [whole]), target)
    assert not scores[:, : prompt.first_ranked].any()
    assert scores[:, prompt.first_ranked :] == pytest.approx(expected[:, prompt.first_ranked :], abs=1e-4)


def test_the_command_tries_layouts_and_counts_every_question(model_folders, prints):
    command = ["layouts", "--models", str(model_folders["gpt2"]), "--datasets", "world_capital", "--limit", "4"]
    lines = prints(*command, "--template", "plain", "examples", "--memory", "any", "--match", "within").out.splitlines()
    assert len(lines) == 4
    assert all("random-gpt2 · world_capital" in line and "of 4 compared" in line for line in lines)
    assert all(sum(int(part.rsplit(" ", 1)[1]) for part in line.rpartition(": ")[2].split(", ")) == 4 for line in lines)
    assert "has no chat template" in prints(*command, "--template", "chat", ends=2).err
