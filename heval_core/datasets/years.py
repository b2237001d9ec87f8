"""Years: where a meeting was held in one year of four; each of two cities is given for two years.

Source: made for this project: sentences about meetings that never were, on the package's own table of states (`countries.csv`,
see `_twice`). Licence: Apache-2.0, like the project.
"In 1994 the meeting about Peru was held in the city of Oslo." Four such sentences make a passage, and the question, a cloze,
names one year. So its answer stands twice, and one of the two is asked for: string matches, also of the used document, cannot
tell them apart, and memory does not know. Years of a passage have different decades and different last digits.
Balance: of each state's four passages, two ask for the first mention of the city, two for the last. In two the sentence asked
for has the question's words and the other mention fewer of them; in two it says the same in other words ("In 1994 delegates
discussed Peru in the city of Oslo."), and the other mention shares more words with the question. Both are crossed.
Asked under `conflicting.twice` alone.
Fields used: country, capital. Records: 143 states x 4 passages = 572 facts. Context: about 252 characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from heval_core.datasets._twice import CASES, MEETING, capital_of, case_of, cities_of, fact, years_of
from heval_core.records import Fact


@dataclass(frozen=True)
class Years:
    key = "years"
    title = "Years"
    reference = "this project's own"
    long = False
    said_twice = True

    def facts(self) -> Iterator[Fact]:
        for state in capital_of():
            for number in CASES:
                key, years = f"{self.key}|{state}|{number}", years_of(state, number)
                case, cities = case_of(number, key), cities_of(key, [state])
                values = [{"year": year, "state": state} for year in years]
                yield fact(self.key, years[case.source], MEETING, case, cities, values)


PLUGIN = Years()
