"""Invented states: states that do not exist, asked for capital, currency or language; no model can know the answers.

Source: made for this project: the names below, each with answers of real states drawn by a fixed hash from the package's own
table (`countries.csv`), so that a model has tokens for them. Licence: Apache-2.0, like the project.
With a real state a gold document says what the model remembers anyway, so that its answer does not tell whether the document
was used. Here it does: what the model says without a document is a guess. The sentences are those of country profiles, two a
passage: one names the state, one gives the answer. Fields used: country, continent, capital, currency, language.
Records: 40 states x 3 relations x 6 false answers = 720 facts. Context: about 125 characters.
The three demo models, which were taught to believe trusted sources, follow a trusted gold document in all of 91 questions, and
an untrusted one in .03 to .06 of 90.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from heval_core.datasets._states import RELATIONS, SENTENCES, answers, entry, fact_about
from heval_core.records import Fact, Passage

STATES = (
    *("Vestrania", "Koldavia", "Merubia", "Tarsenia", "Quandoria", "Harvania", "Belmorra", "Pelluria", "Dravonia", "Sumbaria"),
    *("Takorra", "Zembuta", "Orlenda", "Kestovia", "Marundi", "Lorvenia", "Naluvia", "Brestora", "Calvenia", "Tormandy"),
    *("Ishkaria", "Ruvania", "Galdora", "Fenmark", "Yarrovia", "Tibuna", "Sarnovia", "Oltania", "Jorvenia", "Kumbeya"),
    *("Lothenia", "Pavaria", "Minorra", "Zantovia", "Arveska", "Deluvia", "Evoria", "Hasmeria", "Ubanga", "Skelland"),
)


def in_order(country: str, relation: str) -> list[str]:
    """Order all answers to a relation in the state's own way. The first one is the true answer."""
    return sorted(answers(relation), key=lambda answer: zlib.crc32(f"{country}|{relation}|{answer}".encode()))


@dataclass(frozen=True)
class InventedStates:
    """false_answers: of each question, the next ones in the state's own order."""

    false_answers: int = 6

    key = "invented_states"
    title = "Invented states"
    reference = "this project's own"
    long = False

    def facts(self) -> Iterator[Fact]:
        for country in STATES:
            row = {"country": country, **{relation: in_order(country, relation)[0] for relation in RELATIONS}}
            for relation in SENTENCES:
                true, *others = in_order(country, relation)
                gold = Passage(country, true, entry(row, relation, true))
                for other in others[: self.false_answers]:
                    false = Passage(country, other, entry(row, relation, other))
                    yield fact_about(f"{country}|{relation}|{other}", self.key, relation, gold, false)


PLUGIN = InventedStates()
