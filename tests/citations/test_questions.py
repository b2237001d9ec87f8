"""From a text to what annotators are asked, with the problems on the way."""

from collections import Counter

import pytest

from heval_core.citations.questions import explained, questions, sampled
from tests.citations.planted import claim, explanation


def test_an_explanation_knows_what_it_cites_and_what_it_omits():
    found = explanation("One crane [1]. Two [3, 1]. None.", selected=(4, 3, 1))
    assert found.selected == (1, 3, 4)
    assert [sentence.text for sentence in found.sentences] == ["One crane [1].", "Two [3, 1].", "None."]
    assert [sentence.bare for sentence in found.sentences] == ["One crane.", "Two.", "None."]
    assert [sentence.cited for sentence in found.sentences] == [(1,), (3, 1), ()]
    assert (found.cited, found.problems) == ((1, 3), ())


def test_every_selected_passage_is_asked_about_in_order():
    asked = questions(explanation("One [1]. Two [3, 1]. None.", selected=(4, 3, 1)))
    assert [(question.passage, question.gold) for question in asked] == [(1, {0, 1}), (3, {1}), (4, set())]
    assert asked[0].sentences == ("One.", "Two [3].", "None.")
    assert asked[2].sentences == ("One [1].", "Two [3, 1].", "None.")


PROBLEMS = {
    "": "The explanation is empty.",
    " \n": "The explanation is empty.",
    "One [1]. Two [1999, 7].": "The text cites the passages 1999 and 7, which the claim does not have.",
    "One [1]. Two [9].": "The text cites passage 9, which the claim does not have.",
    "One [1]. Two [4].": "The text cites passage 4, which the writer was not given.",
    "One [50-69]. Two [1].": "The text cites the passages 50, 51, 52, 53, 54, 55, 56, 57, 58, 59 and 10 more, which the claim"
    " does not have.",
    "One. Two [sic].": "No sentence cites a passage.",
    "One [4]. Two.": "No sentence cites a passage that the writer was given.",
    "One [1].": "The explanation has one sentence only, so that every annotator that chooses one finds it.",
}


@pytest.mark.parametrize(("text", "problem"), PROBLEMS.items())
def test_what_is_wrong_with_an_explanation_is_said(text, problem):
    assert problem in explanation(text, selected=(1, 2, 3)).problems


@pytest.mark.parametrize("text", ["One (Smith 2020). Two (Lee 2021).", ["One 【4:0†source】.", "Two."], "Source 2: one. Two."])
def test_citations_that_are_not_read_are_refused_and_never_counted_as_none(text):
    found = explanation(text)
    (problem,) = found.problems
    assert found.sentences == ()
    assert problem.startswith("Its marks look like citations and are not read, such as ")
    assert problem.endswith("; write a passage's number in brackets, as in [1].")
    # Where others are read, it is said.
    (problem,) = explanation("One [1]. Two (Smith 2020).").problems
    assert problem == "Marks that look like citations are not read, such as “(Smith 2020)”."


def test_sentences_that_are_known_are_kept_as_they_are():
    found = explanation(["One. Two [1].", " [2]. ", "Three"])
    assert [sentence.text for sentence in found.sentences] == ["One. Two [1].", "[2].", "Three"]
    assert found.problems == ("1 of 3 sentences have no words but markers.",)


def test_a_writer_that_was_given_what_is_not_there_is_told():
    found = explanation("One [1]. Two.", selected=(1, 8))
    assert (found.selected, found.problems) == ((1,), ("The writer was given passage 8, which the claim does not have.",))


def test_sources_belong_to_sentences_or_are_told():
    assert explained(claim(), "w", "all", (1,), "One [1]. Two.", sources=[[1], []]).sources == ((1,), ())
    found = explained(claim(), "w", "all", (1,), "One [1]. Two.", sources=[[1]])
    assert (found.sources, found.problems) == (
        None,
        ("The data lists the sources of 1 sentences, but the explanation has 2.",),
    )
    # Nobody is asked about a passage that the writer was not given; a sentence made from it was not made from nothing.
    found = explained(claim(), "w", "all", (1,), "One [1]. Two.", sources=[[1], [2]])
    told = "The data says that sentences were made from passage 2, which the writer was not given."
    assert (found.sources, found.problems) == (None, (told,))


def test_sample_draws_each_cited_passage_as_often_and_never_an_omitted_one():
    text = "One [1]. Two [2]. Three [4]."
    drawn = Counter(sampled(explanation(text, key=f"c{number}"), seed=7) for number in range(3000))
    assert set(drawn) == {1, 2, 4}
    assert all(900 < count < 1100 for count in drawn.values())
    assert len({sampled(explanation(text), seed) for seed in range(30)}) == 3
    assert sampled(explanation("One."), 7) is None


def test_sample_draws_the_same_passage_for_every_writer_that_cites_it():
    for number in range(20):
        key = f"c{number}"
        drawn = sampled(explanation("One [1]. Two [2]. Three [4].", key=key), 7)
        assert sampled(explanation(f"Other [{drawn}]. Two [2].", key=key), 7) == drawn
