"""Either: where a meeting was held; two sentences say so of the year that is asked for, and either will do.

Source: made for this project, on the package's own table of states (`countries.csv`, see `_twice`). Licence: Apache-2.0, like
the project.
The control of `years`: passages of the same sentences, but both sentences about a city are of one year. Whoever takes one of
the two mentions for the only source is wrong here.
Balance: of each state's four passages, the sentence with the question's words is the city's first in two, and its last in two.
Asked under `conflicting.twice` alone.
Fields used: country, capital. Records: 143 states x 4 passages = 572 facts. Context: about 253 characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from heval_core.datasets._twice import CASES, MEETING, capital_of, case_of, cities_of, fact, years_of
from heval_core.records import Fact


@dataclass(frozen=True)
class Either:
    key = "either"
    title = "Either of two"
    reference = "this project's own"
    long = False
    said_twice = True

    def facts(self) -> Iterator[Fact]:
        for state in capital_of():
            for number in CASES:
                key, of_city = f"{self.key}|{state}|{number}", dict(zip("ab", years_of(state, number), strict=False))
                case, cities = case_of(number, key), cities_of(key, [state])
                values = [{"year": of_city[city], "state": state} for city in case.cities]
                yield fact(self.key, of_city["a"], MEETING, case, cities, values)


PLUGIN = Either()
