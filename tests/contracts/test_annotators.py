"""What every annotator that is found must keep to."""

from __future__ import annotations

import pytest

from heval_core import catalogue, protocols
from heval_core.citations.records import Claim, Explained, Passage, Question, Sentence

ANNOTATORS = list(catalogue.plugins("annotator").values())
TEXTS = ("The capital is Lima.", "It borders Chile.", "")
OF = Explained(
    Claim("c", "Peru is a state.", "true", (Passage(3, "Lima is the capital."), Passage(7, "<b>[9]</b> Chile."))),
    "w",
    "all",
    (3, 7),
    tuple(Sentence(f"{text} [3]", text, (3,)) for text in TEXTS),
)
QUESTIONS = [Question(OF, 3, TEXTS, frozenset({0, 1})), Question(OF, 7, TEXTS, frozenset())]


@pytest.mark.parametrize("annotator", ANNOTATORS, ids=lambda a: a.key)
def test_every_annotator_has_a_family_and_says_what_it_reads(annotator):
    assert annotator.family in protocols.ANNOTATOR_FAMILIES
    assert annotator.reads in protocols.READS
    assert (annotator.family == "control") is annotator.control
    assert annotator.control is (annotator.reads == "nothing") or annotator.family == "people"
    assert annotator.model == ""


@pytest.mark.parametrize("control", [a for a in ANNOTATORS if a.control], ids=lambda a: a.key)
def test_every_control_answers_the_same_twice_and_sees_nothing_of_gold_but_its_size(control):
    choices = control.annotate(QUESTIONS, None)
    assert choices == control.annotate(QUESTIONS, None)
    moved = [Question(OF, 3, TEXTS, frozenset({1, 2})), QUESTIONS[1]]
    assert choices == control.annotate(moved, None)
    assert control.annotate([], None) == []
    for choice in choices:
        assert choice.chosen <= set(range(3))
        assert choice.scores is None or len(choice.scores) == 3
        assert not choice.problem
