"""World Capital: every state with every capital that is not its own, one short sentence each.

Source: the package's own table of 195 states (`countries.csv`), written for this project; or, as
`world_capital=world_capitals.csv`, the published table of github.com/jmerullo/lm_vector_arithmetic.
Licence: Apache-2.0, like the project; the published table MIT.
Reference: Sun et al., arXiv 2510.02629 (World Capital: 248 countries, 55,830 questions), after Jin et al. 2024.
Fields: `country`, `capital`, and in the published table `type`, which is not used.
Records: 195 states x 194 false capitals = 37,830 facts. The published table has 248 rows: 247 countries (Bolivia has two
capitals, of which the first is the true answer and neither is ever false) and 244 capitals give 60,020 facts.
Departure: the paper counts 55,830 and does not say which pairs it leaves out. Context: about 38 characters.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heval_core.datasets._reading import Listing, Origin, Record, locate, read_each, table, text_of
from heval_core.datasets._states import countries, fact_about
from heval_core.records import Fact, Passage

_ORIGIN = Origin("world_capitals.csv", "github.com/jmerullo/lm_vector_arithmetic")


# Of all facts of the package's own table; a test compares it with theirs.
FINGERPRINT = "c4d151a7d3a9a168"


def statement(country: str, capital: str) -> Passage:
    return Passage(country, capital, f"The capital of {country} is {capital}.")


@dataclass(frozen=True)
class WorldCapital:
    """path: a CSV with the columns country and capital, in place of the package's own table."""

    path: str | None = None

    key = "world_capital"
    title = "World Capital"
    reference = "Sun et al. 2025, arXiv 2510.02629; the table of states is this project's own"
    long = False

    def listed(self) -> Listing | None:
        """List all facts of the package's own table."""
        if self.path is not None:
            return None
        capital_of = {row["country"]: row["capital"] for row in countries()}
        pairs = _pairs({country: [capital] for country, capital in capital_of.items()})
        ids = [f"{country}|{false}" for country, false in pairs]
        first_of = {country: number for number, (country, _) in reversed(list(enumerate(pairs)))}

        def make(number: int) -> Fact:
            country, false = pairs[number]
            return self._fact(statement(country, capital_of[country]), false)

        return Listing(FINGERPRINT, ids, pairs, {"capital": len(ids)}, make, list(first_of.values()))

    def facts(self) -> Iterator[Record]:
        """Yield the facts. Raises HEvalError if the file is missing, or lacks one of the two columns."""
        capitals = {row["country"]: [row["capital"]] for row in countries()} if self.path is None else {}
        if self.path is not None:
            rows = table(locate(self.key, self.path, _ORIGIN), ("country", "capital"), ",")
            for row in read_each(rows, lambda row: (text_of(row, "country"), text_of(row, "capital"))):
                if isinstance(row, tuple):
                    capitals.setdefault(row[0], []).append(row[1])
                else:
                    yield row
        gold = {country: statement(country, true[0]) for country, true in capitals.items()}
        yield from (self._fact(gold[country], false) for country, false in _pairs(capitals))

    def _fact(self, gold: Passage, false_capital: str) -> Fact:
        false = statement(gold.subject, false_capital)
        return fact_about(f"{gold.subject}|{false_capital}", self.key, "capital", gold, false)


def _pairs(capitals: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """Return each country with every capital that is none of its own."""
    every = sorted({capital for true in capitals.values() for capital in true})
    return [(country, capital) for country, true in capitals.items() for capital in every if capital not in true]


PLUGIN = WorldCapital()
