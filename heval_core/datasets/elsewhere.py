"""Elsewhere: where one state's team flew to; two cities, and the answer is also where another state's team flew to.

Source: made for this project: teams' journeys that never were, on the package's own table of states (`countries.csv`, see
`_twice`). Licence: Apache-2.0, like the project.
"The chess team of Peru flew to the city of Oslo." Four such sentences about four states make a passage. So the answer stands
twice, once about another state: string matches, also of the used document, cannot tell the two apart; memory does not know.
Balance: of each state's four questions (about four games), two ask for the first mention of the city, two for the last. In two
the sentence asked for has the question's words, and the other mention fewer of them; in two it says the same in other words
("Peru sent its chess players to the city of Oslo."), and the other mention shares more words with the question. Both are
crossed, and over the states each game has each case about as often.
Asked under `conflicting.twice` alone.
Fields used: country, capital. Records: 143 states x 4 games = 572 facts. Context: about 223 characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from heval_core.datasets._twice import CASES, capital_of, case_of, cities_of, fact, in_order
from heval_core.records import Fact

FLEW = ("The {game} team of {state} flew to the city of", "{state} sent its {game} players to the city of")
GAMES = ("chess", "football", "hockey", "tennis")


@dataclass(frozen=True)
class Elsewhere:
    key = "elsewhere"
    title = "Elsewhere"
    reference = "this project's own"
    long = False
    said_twice = True

    def facts(self) -> Iterator[Fact]:
        for index, state in enumerate(capital_of()):
            for number, game in enumerate(GAMES):
                key = f"{self.key}|{state}|{game}"
                case = case_of((number + index) % len(CASES), key)
                states = in_order(key, capital_of().keys() - {state})[: len(case.cities) - 1]
                states.insert(case.source, state)
                values = [{"game": game, "state": about} for about in states]
                yield fact(self.key, game, FLEW, case, cities_of(key, states), values)


PLUGIN = Elsewhere()
