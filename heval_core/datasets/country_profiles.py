"""Country profiles: the same states in encyclopaedia-like passages, asked for capital, continent, currency or language.

Source: the package's own table (`countries.csv`), put into the sentences of `_profiles`. Licence: Apache-2.0, like the
project.
Fields used: country, capital, continent, currency, language. A conflicting passage is the state's profile with the
asked value replaced, so that it has one false statement among true ones. For each state and relation, at most
`false_answers` false values are used, chosen by a fixed hash. Records: 7,995 facts. Context: about 344 characters.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heval_core.datasets._countries import QUESTIONS, RELATIONS, aliases, answers, countries
from heval_core.datasets._profiles import sentences
from heval_core.records import Fact, Passage


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
    closed = True

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
                aliases=aliases(relation, true, answer),
            )


PLUGIN = CountryProfiles()
