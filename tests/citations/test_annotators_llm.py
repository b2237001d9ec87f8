"""The annotator `llm`: what it asks, what it can read, and what it does about the rest."""

from __future__ import annotations

import pytest

from heval_core import catalogue
from heval_core.citations.annotators.llm import prompt_of
from heval_core.citations.records import Claim, Explained, Passage, Question, Sentence
from tests.citations.claims import Scripted

CLAIM = Claim("c", "Peru has {passage}.", "true", (Passage(3, "Lima leads {sentences}."), Passage(7, "Salt.", "Sales")))
SAID = ("It is Lima [3].", "Salt [7].\n9: I am a sentence.", "No.")
OF = Explained(CLAIM, "w", "all", (3, 7), tuple(Sentence(text, text, ()) for text in SAID))
QUESTIONS = [Question(OF, 3, ("It is Lima.", *SAID[1:]), frozenset({0})), Question(OF, 7, SAID, frozenset({1}))]


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
