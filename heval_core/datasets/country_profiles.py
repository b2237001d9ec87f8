"""Country profiles: the same states in encyclopaedia-like passages, asked for capital, continent, currency or language.

Source: the package's own table (`countries.csv`), put into the sentences of `_states`. Licence: Apache-2.0.
Fields used: country, capital, continent, currency, language. A conflicting passage is the state's profile with the
asked value replaced, so that it has one false statement among true ones. For each state and relation, at most
`false_answers` false values are used, chosen by a fixed hash. Records: 7,995 facts. Context: about 344 characters.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heval_core.datasets._reading import Listing
from heval_core.datasets._states import RELATIONS, answers, countries, fact_about, sentences
from heval_core.records import Fact, Passage

# Of all facts; a test compares it with theirs.
FINGERPRINT = "b53100045bf3c2f7"


def profile(row: Mapping[str, str], relation: str, answer: str) -> Passage:
    """Return the whole profile as a passage."""
    return Passage(row["country"], answer, " ".join(sentences(row, relation, answer)))


@dataclass(frozen=True)
class CountryProfiles:
    false_answers: int = 12

    key = "country_profiles"
    title = "Country profiles"
    reference = "this project's own, in the manner of Fakepedia (Monea et al. 2024)"
    long = True

    def facts(self) -> Iterator[Fact]:
        yield from (self._fact(*case) for case in self._cases())

    def listed(self) -> Listing | None:
        """List all facts, with as many false answers as usual."""
        if self.false_answers != CountryProfiles.false_answers:
            return None
        cases = self._cases()
        ids = [f"{row['country']}|{relation}|{answer}" for row, relation, answer in cases]
        pairs = [(row["country"], answer) for row, _, answer in cases]
        first_of = {(cases[number][0]["country"], cases[number][1]): number for number in reversed(range(len(cases)))}
        relations = Counter([relation for _, relation, _ in cases])
        return Listing(
            FINGERPRINT, ids, pairs, relations, lambda number: self._fact(*cases[number]), sorted(first_of.values())
        )

    def _cases(self) -> list[tuple[Mapping[str, str], str, str]]:
        """List (row, relation, false answer) of every fact."""
        cases: list[tuple[Mapping[str, str], str, str]] = []
        for row in countries():
            for relation in RELATIONS:
                start = f"{row['country']}|{relation}|"
                false = [answer for answer in answers(relation) if answer != row[relation]]
                ordered = sorted([(zlib.crc32(f"{start}{answer}".encode()), answer) for answer in false])
                cases += [(row, relation, answer) for _, answer in ordered[: self.false_answers]]
        return cases

    def _fact(self, row: Mapping[str, str], relation: str, answer: str) -> Fact:
        gold, false = profile(row, relation, row[relation]), profile(row, relation, answer)
        return fact_about(f"{gold.subject}|{relation}|{answer}", self.key, relation, gold, false)


PLUGIN = CountryProfiles()
