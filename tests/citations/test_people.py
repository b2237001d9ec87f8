"""Items of a study, control items whose answer is plain, who is asked what, and whose answers count."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heval_core.citations.people.items import (
    CONTROLS,
    NEGATIVE,
    POSITIVE,
    PRACTICE,
    QUESTION,
    ItemState,
    Quality,
    is_control_turn,
    make_study,
    next_item,
    practice,
)
from heval_core.citations.questions import explained, questions, sampled
from heval_core.citations.records import Claim, Passage
from heval_core.records import HEvalError

PASSAGES = (
    Passage(1, "The mill was built of granite in 1790."),
    Passage(2, "Flour from the mill fed the garrison."),
    Passage(3, "A storm broke its wheel."),
)
# Passage 1 is plain: its own words stand in the first sentence only. Two sentences cite passage 2; nothing supports [3].
SENTENCES = ("Granite was laid in 1790 [1].", "Its flour fed soldiers [2].", "So the garrison ate [2][3].", "All agree [3].")


def explanation(number: int = 0, sentences=SENTENCES, **more):
    claim = Claim(f"c{number}", "The mill is old.", "Supported", PASSAGES)
    return explained(claim, "writer", "all", (1, 2, 3), sentences, **more)


def explanations(count: int, sentences=SENTENCES):
    return {f"e{number}": explanation(number, sentences) for number in range(count)}


def of_kind(items, *kinds):
    return [item for item in items if item.kind in kinds]


def test_a_study_asks_one_passage_of_each_explanation_and_the_practice_round_first():
    items = make_study(explanations(20), per_item=4, controls=0, seed=3)
    assert items[: len(practice())] == list(practice())
    asked = of_kind(items, QUESTION)
    assert len(asked) == len(items) - len(practice()) == 20
    for item in asked:
        own = explanation(int(item.explanation_id[1:]))
        (question,) = (one for one in questions(own) if one.passage == sampled(own, 3))
        assert (item.passage, item.sentences, item.gold) == (question.passage, question.sentences, question.gold)
        assert (item.wanted, item.passages) == (4, PASSAGES)
    assert items == make_study(explanations(20), per_item=4, controls=0, seed=3)
    assert [one.explanation_id for one in asked] != sorted(one.explanation_id for one in asked)


def test_control_items_are_plain_half_of_them_have_their_sentence_removed_and_their_explanations_are_asked_for_nothing_else():
    items = make_study(explanations(20), controls=0.2)
    positive, negative = of_kind(items, POSITIVE), of_kind(items, NEGATIVE)
    assert (len(positive), len(negative)) == (2, 2)
    for item in positive:
        assert (item.passage, item.gold, item.sentences[0]) == (1, {0}, "Granite was laid in 1790.")
    for item in negative:
        assert (item.passage, item.gold, item.sentences) == (1, frozenset(), SENTENCES[1:])
    assert all(item.wanted is None for item in (*positive, *negative))
    assert len({item.explanation_id for item in of_kind(items, QUESTION, *CONTROLS)}) == 20


@pytest.mark.parametrize(
    "sentences",
    [
        # The passage's words stand in two sentences; nowhere; and the sentence that cites it is not that which has them.
        ("Granite was laid in 1790 [1].", "Built of granite, in 1790.", "All agree."),
        ("It is old [1].", "Very old.", "All agree."),
        ("Granite was laid in 1790.", "It is old [1].", "All agree."),
        # Two sentences cite it.
        ("Granite was laid [1].", "That was in 1790 [1].", "All agree."),
    ],
)
def test_an_explanation_whose_answer_is_not_plain_makes_no_control_item(sentences):
    assert not of_kind(make_study(explanations(6, sentences), controls=0.5), *CONTROLS)


def test_what_is_known_of_the_sources_must_agree_with_the_marker():
    for sources, count in (([(1,), (2,), (2,), ()], 2), ([(2,), (2,), (2,), ()], 0), ([(1,), (1,), (2,), ()], 0)):
        known = {f"e{number}": explanation(number, sources=sources) for number in range(4)}
        assert len(of_kind(make_study(known, controls=0.5), *CONTROLS)) == count


def test_numbers_that_make_no_study_are_refused():
    for wanted, asked in (("0 people for each item", {"per_item": 0}), ("share of control items is 0.7", {"controls": 0.7})):
        with pytest.raises(HEvalError, match=wanted):
            make_study(explanations(3), **asked)
    with pytest.raises(HEvalError, match="no explanation to ask people about"):
        make_study({"e": explanation(0, ("No citation.",)), "f": explanation(1, ())})


def test_the_practice_items_say_what_is_right():
    for item in practice():
        assert item.kind == PRACTICE
        assert item.feedback
        assert item.passage in {passage.number for passage in item.passages}
        # The masked marker stands nowhere, the others do.
        assert not any(f"[{item.passage}]" in sentence for sentence in item.sentences)
    assert {len(item.gold) for item in practice()} == {0, 1, 2}


def test_the_id_of_an_item_is_of_what_a_person_sees():
    item = practice()[0]
    assert item.item_id == replace(item, wanted=5, feedback="").item_id
    assert len({item.item_id, replace(item, claim="x").item_id, replace(item, gold=frozenset()).item_id}) == 3


class Study:
    """People who come and go, on what the store keeps of it."""

    def __init__(self, questions, per_explanation, controls, wanted):
        self.items = [
            *((f"p{number}", PRACTICE, f"practice{number}", None) for number in range(2)),
            *((f"q{number}", QUESTION, f"e{number // per_explanation}", wanted) for number in range(questions)),
            *((f"c{number}", CONTROLS[number % 2], f"ce{number}", None) for number in range(controls)),
        ]
        self.explanation = {item_id: name for item_id, _, name, _ in self.items}
        self.answered, self.leased = defaultdict(list), {}

    def turn(self, person):
        taken = Counter(item for other, items in self.answered.items() if other != person for item in items)
        taken += Counter(item for other, item in self.leased.items() if other != person)
        return next_item(person, [ItemState(*one, taken[one[0]]) for one in self.items], self.answered[person])

    def counts(self):
        return Counter(item for items in self.answered.values() for item in items)

    def answer(self, person):
        """Whether there was anything to answer."""
        item = self.turn(person).item_id
        self.answered[person] += [item] if item else []
        return item is not None

    def held(self):
        return Counter(self.leased.values()) + self.counts()

    def check(self, person, item):
        """Nobody is asked a question of which others lack more answers, where this person could be asked that one."""
        seen = {self.explanation[one] for one in self.answered[person]}
        could = [one for one, kind, name, _ in self.items if kind == QUESTION and name not in seen]
        if item in could:
            assert self.held()[item] == min(self.held()[one] for one in could)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 12), per_explanation=st.integers(1, 3), controls=st.integers(0, 4), wanted=st.integers(1, 3),
    people=st.integers(1, 5), seed=st.integers(0, 10_000),
)  # fmt: skip
def test_whoever_comes_and_goes_items_stay_balanced_and_nobody_is_asked_twice(
    count, per_explanation, controls, wanted, people, seed
):
    rng = random.Random(seed)
    study = Study(count, per_explanation, controls, wanted)
    names = [f"person {number}" for number in range(people)]
    for _ in range(6 * count * people):
        person = rng.choice(names)
        act = rng.random()
        if person in study.leased and act < 0.6:
            study.answered[person].append(study.leased.pop(person))
        elif person in study.leased and act < 0.7:
            del study.leased[person]  # gone; the lease is over
        elif person not in study.leased and (item := study.turn(person).item_id):
            study.check(person, item)
            study.leased[person] = item
            assert all(study.held()[item_id] <= wanted for item_id, kind, *_ in study.items if kind == QUESTION)
    for items in study.answered.values():
        shown = [study.explanation[item] for item in items]
        assert len(set(shown)) == len(shown)
        assert items[:2] == ["p0", "p1"][: len(items)]


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 15), controls=st.integers(0, 3), wanted=st.integers(1, 4))
def test_with_as_many_people_as_are_wanted_each_item_gets_its_number_and_no_more(count, controls, wanted):
    study = Study(count, 1, controls, wanted)
    names = [f"person {number}" for number in range(wanted)]
    while any(turns := [study.answer(name) for name in names]):
        assert len(turns) == wanted
    assert all(study.counts()[f"q{number}"] == wanted for number in range(count))
    assert study.turn("somebody else") == (None, 0)


def test_control_items_come_in_their_share_at_places_that_differ():
    study = Study(90, 1, 10, 3)
    while study.answer("Ada"):
        pass
    order = ["control" if item[0] == "c" else "question" for item in study.answered["Ada"][2:]]
    # One in each stretch of ten.
    assert [order[start : start + 10].count("control") for start in range(0, 90, 10)] == [1] * 9
    turns = {tuple(is_control_turn(name, turn, 10) for turn in range(20)) for name in ("Ada", "Bob", "Cleo", "Dan")}
    assert len(turns) > 1
    assert not any(is_control_turn("Ada", turn, 0) for turn in range(10))


def test_people_below_70_percent_are_left_out_and_exactly_70_are_not():
    found = {"Ada": Quality(7, 10), "Bob": Quality(69, 100), "Cleo": Quality(0, 1), "Dan": Quality(1, 1)}
    assert [name for name, one in found.items() if one.counts] == ["Ada", "Dan"]
    assert Quality(0, 0).counts
