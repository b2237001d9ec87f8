"""Whose answers count: people who get at least 70 % of their control items right.

An answer to a control item is right where it names exactly the sentences of the item, which for a negative item are none.
Somebody who was asked no control item yet is not left out.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645). Departure: they do not say whether an answer with a sentence too
many is right; here it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from typing import NamedTuple

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


def qualities(answers: Iterable[tuple[str, Set[int], Set[int]]]) -> dict[str, Quality]:
    """Person ▶ quality. answers: to control items, each as person, sentences chosen, and sentences that are right."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for person, chosen, gold in answers:
        asked[person] += 1
        right[person] += chosen == gold
    return {person: Quality(right[person], asked[person]) for person in asked}
