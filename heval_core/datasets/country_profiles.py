"""Country profiles: the same states in encyclopaedia-like passages, asked for capital, continent, currency or language.

Source: the package's own table (`countries.csv`), put into the sentences below. Licence: Apache-2.0, like the project.
Fields used: country, capital, continent, currency, language. A conflicting passage is the state's profile with the
asked value replaced, so that it has one false statement among true ones. For each state and relation, at most
`false_answers` false values are used, chosen by a fixed hash. Records: 7,995 facts. Context: about 344 characters.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heval_core.datasets._countries import QUESTIONS, RELATIONS, answers, countries
from heval_core.records import Fact, Passage

_OPENINGS = (
    "{country} is a sovereign state in {continent}.",
    "In {continent} lies {country}, a state with its own flag and anthem.",
    "{country} belongs to the countries of {continent}.",
)
_CAPITALS = (
    "Its capital is {capital}, where visitors find museums, a university and the largest library.",
    "The capital of the country is {capital}, a city with several markets and a busy station road.",
    "The city of {capital} is the capital, and many roads and bus lines begin there.",
)
_CURRENCIES = (
    "People pay with the {currency}, and prices in shops are given in it.",
    "The currency is the {currency}, which the central bank issues as notes and coins.",
    "Money is counted in the {currency}, as every shop window shows.",
)
_LANGUAGES = (
    "{language} is an official language and is taught in the schools.",
    "Laws and newspapers are printed in {language}, which is an official language.",
    "Among the official languages is {language}, heard on the radio and in court.",
)
_CLOSINGS = (
    "Most visitors arrive by air, and many of them come for the food and the music.",
    "Weather records and old maps are kept in a public archive.",
    "Football is popular, and the national team plays at home each year.",
)


def sentences(row: Mapping[str, str], relation: str, answer: str) -> list[str]:
    """The sentences of one state's profile, in which `relation` has the value `answer`."""
    values = {**row, relation: answer}
    kind = zlib.crc32(row["country"].encode())
    middle = [_CAPITALS[kind % 3], _CURRENCIES[kind // 3 % 3], _LANGUAGES[kind // 9 % 3]]
    turn = kind // 27 % 3
    frames = [_OPENINGS[kind // 81 % 3], *middle[turn:], *middle[:turn], _CLOSINGS[kind // 243 % 3]]
    return [frame.format(**values) for frame in frames]


def profile(row: Mapping[str, str], relation: str, answer: str) -> Passage:
    """The whole profile as a passage."""
    return Passage(row["country"], answer, " ".join(sentences(row, relation, answer)))


def _fixed_order(country: str, relation: str, answer: str) -> int:
    return zlib.crc32(f"{country}|{relation}|{answer}".encode())


@dataclass(frozen=True)
class CountryProfiles:
    false_answers: int = 12

    key = "country_profiles"
    title = "Country profiles"
    reference = "this project's own, in the manner of Fakepedia (Monea et al. 2024)"
    long = True

    def facts(self) -> Iterator[Fact]:
        for row in countries():
            for relation in RELATIONS:
                yield from self._facts_about(row, relation)

    def _facts_about(self, row: Mapping[str, str], relation: str) -> Iterator[Fact]:
        country, true = row["country"], row[relation]
        false = [answer for answer in answers(relation) if answer != true]
        false.sort(key=lambda answer: _fixed_order(country, relation, answer))
        for answer in false[: self.false_answers]:
            yield Fact(
                id=f"{country}|{relation}|{answer}",
                dataset=self.key,
                subject=country,
                relation=relation,
                question=QUESTIONS[relation].format(x=country),
                answer=true,
                conflicting=(profile(row, relation, answer),),
                own=profile(row, relation, true),
            )


PLUGIN = CountryProfiles()
