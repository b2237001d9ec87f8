"""Passages of four sentences in which two cities stand twice each: what `years`, `elsewhere` and `either` share.

Subjects are states with a name of one word that needs no article; what is said of them is made up. Cities are capitals of one
word, of none of the passage's states, and the two of a passage begin with different letters, and so with different tokens.
Each city is given once in the words of the question and once in others. A subject has four passages, one of each case: the
sentence that is asked for is the first or the last of its city's two, and it is in the question's words or in the others. So
each case has a quarter of the facts. The order of the cities, and which sentence of the other city has which words, are drawn.
A question is a cloze that ends in "the city of": then two small models, asked without documents, say a city and no phrase.
"""

import functools
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from heval_core.datasets._states import aliases, countries
from heval_core.records import Fact, Passage

T = TypeVar("T")
CASES = range(4)
FIRST = 1920
# What `years` and `either` say, in the question's words and in others.
MEETING = (
    "In {year} the meeting about {state} was held in the city of",
    "In {year} delegates discussed {state} in the city of",
)
_NEEDS_AN_ARTICLE = ("Gambia",)
# Which city each sentence gives: a, the one that the question asks for, or b.
_ORDERS = ("aabb", "abab", "abba", "baab", "baba", "bbaa")


class Case(NamedTuple):
    """How the four sentences of a passage stand. cities: of each, a or b. source: the index of the one that is asked for.

    reworded: of each, whether it is in other words than the question.
    """

    cities: str
    source: int
    reworded: tuple[bool, ...]


def in_order(key: str, among: Iterable[T]) -> list[T]:
    """Put values in an order that a hash of them and the key fixes."""
    return sorted(among, key=lambda value: hashlib.blake2b(f"{key}|{value}".encode(), digest_size=8).digest())


def case_of(number: int, key: str) -> Case:
    """Return one of CASES: in 1 and 3 the last sentence about its city is asked for, in 2 and 3 one in other words.

    key: draws the rest.
    """
    (cities, *_), last, rewords = in_order(f"{key}|order", _ORDERS), number % 2 == 1, number // 2 == 1
    ours, theirs = ([index for index, city in enumerate(cities) if city == one] for one in "ab")
    other, source = ours if last else ours[::-1]
    reworded = {source: rewords, other: not rewords, **dict(zip(in_order(f"{key}|words", theirs), (True, False), strict=True))}
    return Case(cities, source, tuple(reworded[index] for index in range(4)))


def years_of(state: str, number: int) -> list[str]:
    """Return four years for a passage, of different decades and last digits; none stands in two passages of a state."""
    decades, digits = (in_order(f"{state}|{part}", range(10)) for part in ("decades", "digits"))
    return [str(FIRST + 10 * decades[index] + digits[index + number]) for index in range(4)]


@functools.cache
def capital_of() -> dict[str, str]:
    """Map each state that may be a subject to its capital."""
    rows = [(row["country"], row["capital"]) for row in countries()]
    plain = [(name, capital) for name, capital in rows if _is_word(name) and not name.endswith("s") and name != capital]
    return {name: capital for name, capital in plain if name not in _NEEDS_AN_ARTICLE}


@functools.cache
def _cities() -> tuple[str, ...]:
    names = {row["country"] for row in countries()}
    return tuple(sorted({row["capital"] for row in countries() if _is_word(row["capital"])} - names))


def _is_word(name: str) -> bool:
    return name.isascii() and name.isalpha()


def cities_of(key: str, states: Collection[str]) -> tuple[str, str, str]:
    """Draw the city that is asked for, the other one, and a third, for a passage about some states."""
    taken = {capital_of()[state] for state in states}
    by_letter: dict[str, str] = {}
    for city in in_order(f"{key}|cities", _cities()):
        if city not in taken:
            by_letter.setdefault(city[0], city)
    answer, other, third, *_ = by_letter.values()
    return answer, other, third


def fact(
    dataset: str,
    about: str,
    frames: tuple[str, str],
    case: Case,
    cities: tuple[str, str, str],
    values: Sequence[Mapping[str, str]],
) -> Fact:
    """Build the fact of a passage.

    about: what tells the questions about a state apart. frames: of a sentence in the question's words, up to its city, and of
    one in others. cities: see `cities_of`; the third is what the fact holds true, as with invented states: nobody can know it.
    values: of each sentence, what its frame needs, among it its `state`.
    """
    answer, _, true = cities
    sentences = [
        f"{(frames[1] if reworded else frames[0]).format(**given)} {cities['ab'.index(city)]}."
        for reworded, given, city in zip(case.reworded, values, case.cities, strict=True)
    ]
    subject, question = values[case.source]["state"], frames[0].format(**values[case.source])
    passage = Passage(subject, answer, " ".join(sentences))
    names = aliases("capital", answer, true)
    return Fact(f"{subject}|{about}", dataset, subject, "city", question, true, (passage,), aliases=names)
