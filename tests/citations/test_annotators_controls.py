"""The controls, by hand."""

from __future__ import annotations

import dataclasses
from math import log

import numpy as np
import pytest

from heval_core import catalogue
from heval_core.citations.annotators.lexical import overlaps
from heval_core.citations.records import Passage
from tests.citations.planted import of_texts, questions

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
