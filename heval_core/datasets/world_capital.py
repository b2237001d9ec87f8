"""World Capital: every state with every capital that is not its own, one short sentence each.

Source: the package's own table (`countries.csv`), written for this project. Licence: Apache-2.0, as the project.
Reference: the data set of the same name and form in Sun et al., arXiv 2510.02629 (248 countries, 55,830 questions).
Records: 195 states x 194 false capitals = 37,830 facts. Context: about 38 characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heval_core.datasets._countries import QUESTIONS, answers, countries
from heval_core.records import Fact, Passage


def statement(country: str, capital: str) -> Passage:
    return Passage(country, capital, f"The capital of {country} is {capital}.")


@dataclass(frozen=True)
class WorldCapital:
    key = "world_capital"
    title = "World Capital"
    reference = "Sun et al. 2025, arXiv 2510.02629; the table of states is this project's own"
    long = False

    def facts(self) -> Iterator[Fact]:
        for row in countries():
            country, capital = row["country"], row["capital"]
            for false_capital in answers("capital"):
                if false_capital == capital:
                    continue
                yield Fact(
                    id=f"{country}|{false_capital}",
                    dataset=self.key,
                    subject=country,
                    relation="capital",
                    question=QUESTIONS["capital"].format(x=country),
                    answer=capital,
                    conflicting=(statement(country, false_capital),),
                    own=statement(country, capital),
                )


PLUGIN = WorldCapital()
