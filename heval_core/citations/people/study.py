"""The items of a study: the practice round, questions of explanations, and control items whose answer is plain.

Departure: the paper does not say how control items were found. A passage is plain here where one sentence alone cites it, and
holds at least twice as many of the passage's own words (those that no other passage has) as any other sentence; where it is
known what sentences were made from, that must agree. A positive item asks for this sentence. A negative one has it removed,
and the right answer is none. Explanations of control items are asked for nothing else: nobody may see one twice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

from heval_core.citations.people import practice
from heval_core.citations.people.items import NEGATIVE, POSITIVE, QUESTION, Item
from heval_core.citations.questions import questions, sampled
from heval_core.citations.records import Explained, Question
from heval_core.records import HEvalError

MASKINGS = ("sample", "full")
# Of all explanations.
MOST_CONTROLS = 0.5
_WORD = re.compile(r"\w{3,}|\d+")


def make_study(
    explanations: Mapping[str, Explained], per_item: int = 3, controls: float = 0.1, seed: int = 0, masking: str = "sample"
) -> list[Item]:
    """The items of a study: the practice round, and the rest in a random order that the seed fixes.

    explanations: by their ids. per_item: how many people are to answer each question. controls: the share of explanations
    that become control items, as many positive ones as negative ones; fewer where fewer are plain. masking: `sample` asks one
    passage of each explanation, `full` each selected one; nobody is asked two of one explanation, so that `full` needs more
    people.

    Raises HEvalError for numbers that make no sense, and where no explanation can be asked about.
    """
    _check(per_item, controls, masking)
    rng = random.Random(seed)
    order = sorted(explanations)
    rng.shuffle(order)
    items: list[Item] = []
    kinds = cycle((POSITIVE, NEGATIVE))
    kind, left = next(kinds), round(controls * len(order))
    for name in order:
        control = _control(name, explanations[name], kind) if left else None
        if control is not None:
            items.append(control)
            kind, left = next(kinds), left - 1
        else:
            items += [_item(QUESTION, name, one, per_item) for one in _asked(explanations[name], masking, seed)]
    if not any(item.kind == QUESTION for item in items):
        raise HEvalError("There is no explanation to ask people about: none of them has a sentence and a passage.")
    rng.shuffle(items)
    return [*practice.ITEMS, *items]


def _check(per_item: int, controls: float, masking: str) -> None:
    if per_item < 1:
        raise HEvalError(f"{per_item} people for each item make no study; ask for at least 1.")
    if not 0 <= controls <= MOST_CONTROLS:
        raise HEvalError(f"The share of control items is {controls:g}; it should be from 0 to {MOST_CONTROLS:g}.")
    if masking not in MASKINGS:
        raise HEvalError(f"There is no masking {masking!r}; there are: {', '.join(MASKINGS)}.")


def _asked(explained: Explained, masking: str, seed: int) -> list[Question]:
    one = sampled(explained, seed)
    there = questions(explained) if explained.sentences else []
    return [question for question in there if masking == "full" or question.passage == one]


def _item(kind: str, name: str, question: Question, wanted: int | None, without: frozenset[int] = frozenset()) -> Item:
    """without: places of sentences that are removed."""
    explained = question.explained
    return Item(
        kind=kind,
        explanation_id=name,
        claim=explained.claim.claim,
        verdict=explained.claim.verdict,
        passages=explained.passages,
        passage=question.passage,
        sentences=tuple(text for place, text in enumerate(question.sentences) if place not in without),
        gold=question.gold - without,
        wanted=wanted,
    )


def _control(name: str, explained: Explained, kind: str) -> Item | None:
    question = next(_plain(explained), None)
    # Of a negative item two sentences must be left to choose from, of a positive one there must be two.
    if question is None or len(question.sentences) < (3 if kind == NEGATIVE else 2):
        return None
    return _item(kind, name, question, None, question.gold if kind == NEGATIVE else frozenset())


def _plain(explained: Explained) -> Iterator[Question]:
    """The questions whose answer is plain."""
    for question in questions(explained):
        if len(question.gold) != 1 or not _sources_agree(explained, question):
            continue
        others = [_words(one.text) for one in explained.passages if one.number != question.passage]
        own = _words(explained.claim.passage(question.passage).text).difference(*others)
        shared = [len(own & _words(sentence.bare)) for sentence in explained.sentences]
        (place,) = question.gold
        best = shared.pop(place)
        if best and best >= 2 * max(shared, default=0):
            yield question


def _sources_agree(explained: Explained, question: Question) -> bool:
    if explained.sources is None:
        return True
    made: Sequence[int] = [place for place, source in enumerate(explained.sources) if question.passage in source]
    return set(made) == question.gold


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
