"""Who is asked which item next, and whose answers count.

The practice round comes first. Then each person is asked the question that fewest others have answered or hold, so that all
items stay within one answer of each other as long as anybody may be asked any. In each stretch of 1 / s turns, s being the
share of explanations that are control items, one turn is a control item's; which one differs from person to person. Ties are
broken by a hash of person and item: people see items in different orders, and the same person the same order again. Nobody is
asked about one explanation twice.

Answers count of people who get at least 70 % of their control items right: who name exactly the sentences of the item, which
for a negative item are none. Somebody who was asked no control item yet is not left out.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645). Departure: they do not say whether an answer with a sentence too many is
right; here it is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

from heval_core.citations.people.items import CONTROLS, PRACTICE, QUESTION


class Standing(NamedTuple):
    """How far an item is. taken: answers that count, and people who hold it now, both of others than the one who asks."""

    item_id: str
    kind: str
    explanation_id: str
    wanted: int | None
    taken: int


class Turn(NamedTuple):
    """item_id: what is asked next; None if nothing is left. left: questions that this person may still be asked."""

    item_id: str | None
    left: int


def next_item(person: str, standings: Sequence[Standing], answered: Collection[str]) -> Turn:
    """The next item of a person. standings: in the order of the study. answered: the items this person has answered.

    Cost: linear in the items.
    """
    done = [one for one in standings if one.item_id in answered]
    seen = {one.explanation_id for one in done}
    open_questions = [
        one for one in standings if one.kind == QUESTION and one.explanation_id not in seen and one.taken < (one.wanted or 0)
    ]
    left = len({one.explanation_id for one in open_questions})
    if not open_questions:
        return Turn(None, 0)
    for one in standings:
        if one.kind == PRACTICE and one.item_id not in answered:
            return Turn(one.item_id, left)
    controls = [one for one in standings if one.kind in CONTROLS and one.explanation_id not in seen]
    turn = sum(one.kind != PRACTICE for one in done)
    candidates = controls if controls and is_control_turn(person, turn, _stretch(standings)) else open_questions
    return Turn(min(candidates, key=lambda one: (one.taken, _hash(person, one.item_id))).item_id, left)


def is_control_turn(person: str, turn: int, stretch: int) -> bool:
    """Whether a person's turn, counted from 0, is a control item's. stretch: turns among which one is; 0: never."""
    return stretch > 0 and turn % stretch == _hash(person, str(turn // stretch)) % stretch


def _stretch(standings: Sequence[Standing]) -> int:
    controls = sum(one.kind in CONTROLS for one in standings)
    questions = len({one.explanation_id for one in standings if one.kind == QUESTION})
    return round((controls + questions) / controls) if controls else 0


def _hash(*texts: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(texts).encode()).digest()[:8], "big")


# In hundredths, so that 7 right of 10 are enough whatever a float makes of .7.
LEAST_PERCENT = 70


class Quality(NamedTuple):
    """Of one person. right: control items answered right. asked: control items answered."""

    right: int
    asked: int

    @property
    def counts(self) -> bool:
        """Whether this person's answers count."""
        return 100 * self.right >= LEAST_PERCENT * self.asked
