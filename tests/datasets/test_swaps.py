"""One answer for another of its type, and every mention of it in a passage."""

from __future__ import annotations

import doctest

import pytest

from heval_core.datasets import _swaps
from heval_core.datasets._swaps import AnswersByType, another_date, form_of, swapped, type_of
from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped


def test_the_examples_in_its_documentation():
    assert doctest.testmod(_swaps).failed == 0
    assert doctest.testmod(_swaps).attempted >= 5


@pytest.mark.parametrize(("question", "answer", "expected"), [
    ("when is the next movie released", "May 18, 2018", "date"), ("when did it begin", "the 1840s", "date"),
    ("when did the nba add it", "the 1979–80 season", "date"),
    ("how many counties does georgia have", "159 counties", "number"), ("how many games", "twelve", "number"),
    ("how much was made", "204,408 in 2013", "number"), ("who invented it", "Walter Pauk", "person"),
    ("who led the conquest", "Francisco de Miranda", "person"),
    ("who won the 2017 ncaa tournament", "North Carolina", "team"), ("where is pearl found", "the Indian Ocean", "place"),
    ("what is the capital city of alabama", "Montgomery", "place"),
    ("what is don quixote's horse's name", "Rocinante", "name"),
    ("what part of the brain thinks", "the frontal lobe", "phrase"),
])  # fmt: skip
def test_types_by_hand(question, answer, expected):
    assert type_of(question, answer) == expected


def test_a_number_and_a_date_keep_their_form_and_dates_their_order():
    assert form_of("$1,350") == form_of("$72") == "$0"
    assert form_of("The eighth season") == "The nth season"
    assert form_of("159 counties") != form_of("62")
    for key in map(str, range(200)):
        first, last = another_date("between 1881 and 1885", key)[8:].split(" and ")
        assert 1900 <= int(first) <= int(last) < 2030
        assert type_of("", another_date("18 May 2018", key)) == "date"
    assert another_date("1999/00", "x")[5:] == f"{(int(another_date('1999', 'x')) + 1) % 100:02}"


def known(*answers: str) -> AnswersByType:
    some = AnswersByType()
    for answer in answers:
        some.add("who wrote it", answer)
    return some


def test_the_substitute_is_no_accepted_answer_and_stands_neither_in_the_passage_nor_in_the_question():
    some = known("Ann Lee", "Lee", "Bo Fox", "Cy Day", "Di Ray", "the Romans")
    question, passage = "who wrote it after cy day", "Ann Lee and Bo Fox wrote it."
    assert some.substitute(question, "Ann Lee", ("A. Lee",), passage) == "Di Ray"
    with pytest.raises(Dropped, match="no conflicting document"):
        some.substitute(question, "Ann Lee", ("Di Ray",), passage)


def test_the_substitute_does_not_depend_on_the_order_of_the_answers_and_is_no_fragment():
    names = ("Ann Lee", "Bo Fox", "Cy Day", "Di Ray")
    question = "who wrote it"
    one = known(*names).substitute(question, "Ann Lee", (), "")
    assert one == known(*names[::-1]).substitute(question, "Ann Lee", (), "")
    with pytest.raises(Dropped):
        known("Bo Fox,", '"Cy Day"').substitute(question, "Ann Lee", (), "")


@pytest.mark.parametrize(
    ("kind", "text", "aliases", "substitute", "expected"),
    [
        ("date", "Founded in 1977. By 1977; 19770 not.", ["1977"], "1967", "Founded in 1967. By 1967; 19770 not."),
        ("phrase", "Capillary action is capillary action.", ["capillary action"], "heat", "heat is heat."),
        ("person", "Payson, Jordan and Lauren went.", ["Payson", "Jordan", "Lauren"], "Zoe", "Zoe went."),
        ("person", "Ben Fox came. Fox sang; Cy Fox left.", ["Ben Fox"], "Di Ray", "Di Ray came. Ray sang; Cy Fox left."),
        ("person", "Dr. Pauk, Walter Pauk's son", ["Walter Pauk"], "Di Ray", "Dr. Ray, Di Ray's son"),
        ("place", "Ben Savage Road. Road closed.", ["Ben Savage Road"], "Di Street", "Di Street. Road closed."),
        ("place", "the 1840s, or 1840s", ["1840s", "the 1840s"], "the 1930s", "the 1930s"),
        ("person", "Will will come.", ["Will"], "Bo", "Bo will come."),
        ("name", "The US told us.", ["US"], "UN", "The UN told us."),
    ],
)
def test_swaps_by_hand(kind, text, aliases, substitute, expected):
    done = swapped(text, kind, aliases, substitute)
    assert done == expected
    assert mentions(substitute, done)
    assert not any(mentions(alias, done) for alias in aliases)
