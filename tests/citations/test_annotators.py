"""The controls, by hand; and the annotator `llm`: what it asks, what it can read, and what it does about the rest."""

import dataclasses
from math import log

import numpy as np
import pytest

from heval_core.citations.annotators.lexical import overlaps
from heval_core.citations.annotators.llm import prompt_of
from heval_core.citations.records import Passage, Question
from heval_core.plugins import catalogue
from tests.citations.planted import Scripted, of_texts, questions

SAID = ("Lima leads Peru.", "", "Salt is sold.", "Nobody knows.")
OF = of_texts((Passage(4, "Lima leads."), Passage(5, "Salt, salt."), Passage(6, "Tea.")), SAID, "A claim.")


def annotated(key, gold=frozenset(), of=OF):
    return catalogue.find("annotator", key).annotate(questions(of, gold), None)


def test_random_draws_as_many_as_gold_has_and_others_for_another_passage_seed_or_explanation():
    choices = annotated("random", frozenset({0, 2}))
    assert [len(choice.chosen) for choice in choices] == [2, 2, 2]
    assert len({choice.scores for choice in choices}) == 3
    for choice in choices:
        assert choice.chosen == set(np.argsort(choice.scores)[-2:].tolist())
    assert annotated("random(seed=1)", frozenset({0, 2})) != choices
    other = dataclasses.replace(OF, writer="x")
    assert annotated("random", frozenset({0, 2}), other) != choices
    assert {choice.chosen for choice in annotated("random")} == {frozenset()}


def test_random_is_at_its_chance():
    """Two of four sentences, of which two are right: one right on average, so P = R = 1/2."""
    many = [dataclasses.replace(OF, claim=dataclasses.replace(OF.claim, id=str(number))) for number in range(400)]
    right = [len(choice.chosen & {0, 2}) for of in many for choice in annotated("random", frozenset({0, 2}), of)]
    assert np.mean(right) == pytest.approx(1, abs=4 * np.std(right) / len(right) ** 0.5)


def test_the_kth_passage_gets_the_kth_sentence_that_has_words():
    assert [choice.chosen for choice in annotated("position")] == [{0}, {2}, {3}]
    short = dataclasses.replace(OF, sentences=OF.sentences[:2])
    assert [choice.chosen for choice in annotated("position", of=short)] == [{0}, frozenset(), frozenset()]


def test_lexical_overlap_is_the_idf_of_the_words_that_are_shared():
    """Five texts. `lima` is in three of them, `leads` in two, `peru` in one: idf ln(6/4), ln(6/3), ln(6/2)."""
    shared, whole = overlaps(["Lima leads.", "Salt"], ["lima Lima peru", "Lima leads", "tea"])
    np.testing.assert_allclose(shared, [[log(6 / 4), log(6 / 4) + log(6 / 3), 0], [0, 0, 0]])
    np.testing.assert_allclose(whole, [log(6 / 4) + log(6 / 2), log(6 / 4) + log(6 / 3), log(6 / 2)])


def test_lexical_chooses_the_best_passage_and_leaves_alone_what_shares_no_word():
    choices = annotated("lexical")
    assert [choice.chosen for choice in choices] == [{0}, {2}, frozenset()]
    assert choices[0].scores[0] > 0 == choices[0].scores[3]
    bare = dataclasses.replace(OF, sentences=())
    assert [choice.scores for choice in annotated("lexical", of=bare)] == [(), (), ()]


SENTENCES = ("It is Lima [3].", "Salt [7].\n9: I am a sentence.", "No.")
PASSAGES = (Passage(3, "Lima leads {sentences}."), Passage(7, "Salt.", "Sales"))
EXPLAINED = of_texts(PASSAGES, SENTENCES, "Peru has {passage}.")
QUESTIONS = [
    Question(EXPLAINED, 3, ("It is Lima.", *SENTENCES[1:]), frozenset({0})),
    Question(EXPLAINED, 7, SENTENCES, frozenset({1})),
]


def test_the_prompt_has_the_masked_sentences_numbered_from_0_and_reads_nothing_as_a_place():
    text = prompt_of(QUESTIONS[0])
    assert "Claim: Peru has {passage}.\nVerdict: true\n" in text
    assert "\nLima leads {sentences}.\n" in text
    assert "\n0: It is Lima.\n1: Salt [7]. 9: I am a sentence.\n2: No.\n" in text
    assert "\nSales: Salt.\n" in prompt_of(QUESTIONS[1])


@pytest.mark.parametrize(("text", "read"), {"0": {0}, " 0, 2\n": {0, 2}, "[1][2].": {1, 2}, "-1": set()}.items())
def test_an_answer_names_sentences_from_0(text, read):
    (first, _) = catalogue.find("annotator", "llm").annotate(QUESTIONS, Scripted(text, "0"))
    assert (first.chosen, first.problem) == (read, "")


def test_what_cannot_be_read_is_asked_once_more_and_then_counts_as_empty():
    speaker = Scripted("1", "5", "nonsense")
    first, second = catalogue.find("annotator", "llm").annotate(QUESTIONS, speaker)
    assert (first.chosen, first.problem) == ({1}, "")
    problem = "two answers could not be read: it says 'nonsense', which is not a number"
    assert (second.chosen, second.problem) == (frozenset(), problem)
    assert len(speaker.caps) == 2
    *_, again = speaker.asked
    assert len(speaker.asked) == 3
    assert again.startswith(
        f"{prompt_of(QUESTIONS[1])} 5\nThis answer cannot be read: it names sentence 5, which is not there."
    )
