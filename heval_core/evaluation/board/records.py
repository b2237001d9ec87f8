"""What a board is made of: rows, columns, and its numbers as tables."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, partial
from typing import Self

import pandas as pd

from heval_core.evaluation.comparisons import against, tally
from heval_core.evaluation.ranking import COMPARED, Ranking, ranking
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.records.regime_keys import read_key
from heval_core.records.vocabulary import OURS

# Decoys under which the answer stands in several places. Which of them is the source is assumed, and often not true.
ASSUMED = ("d1", "d2", "trust", "loud")
# The questions by which a board compares explainers, in their order: from chance to the best. Faithfulness has other units.
SCALED = ("RQ1", "RQ2", "RQ3")
VALUES = [
    *("column", "explainer", "value", "low", "high", "chance", "native", "native_low", "native_high", "native_chance"),
    *("cells", "of", "n", "reason", "interval", *COMPARED),
]
COSTS = ["explainer", "size", "tokens", "passes", "whole_passes", "n", "seconds", "ratio"]
PAIRS = ["column", "first", "second"]
CELLS = ["column", "explainer", "model", "dataset", "regime"]
QUALITY = ["explainer", "value", "low", "high", "whole_passes", "on_front", *COMPARED]
VERIFIED = ["column", "verified", "n"]
FRAMES = ("values", "by_model", "costs", "quality", "beside", "pairs", "places", "verified")
# The size of a prompt in `costs` that stands for prompts of every size.
EVERY_SIZE = "all"


@dataclass(frozen=True)
class BoardRow:
    """An explainer. control: set apart from the methods, whether it looks at the model or not."""

    key: str
    title: str
    control: bool

    @property
    def ours(self) -> bool:
        """Whether it is this project's own method."""
        return self.title.endswith(OURS)


@dataclass(frozen=True)
class BoardColumn:
    """A number of each row. scaled: whether it runs from chance (0) to the best possible (1); else it is in its own unit.

    decoy, length: the option of the regimes it is over; those without options where both are None.
    """

    measure: Measure
    decoy: str | None = None
    length: int | None = None

    @property
    def question(self) -> str:
        return self.measure.question

    @property
    def scaled(self) -> bool:
        return self.question in SCALED

    @property
    def key(self) -> str:
        """`RQ2`, `RQ2.d1`, `RQ2.2048`; the measure's key where there is no best possible value."""
        name = self.question if self.scaled else self.measure.key
        return ".".join(str(part) for part in (name, self.decoy, self.length) if part)

    @property
    def ranked(self) -> bool:
        """Whether its rows are ranked: not where a source is assumed."""
        return self.decoy not in ASSUMED

    @property
    def plain(self) -> bool:
        """Whether it is over prompts as their datasets have them."""
        return self.decoy is None and self.length is None

    def takes(self, regime: str) -> bool:
        """Return whether a regime's cells are behind its numbers."""
        options = read_key(regime)
        return options.decoy == self.decoy and options.length == self.length

    @property
    def prompts(self) -> str:
        """What prompts it is over: `decoy d1`, `256 tokens`; "" where it is plain."""
        return f"decoy {self.decoy}" if self.decoy else f"{self.length:,} tokens" if self.length else ""

    @property
    def title(self) -> str:
        title = QUESTIONS[self.question].title if self.scaled else self.measure.title
        return f"{title.rstrip('?')}, {self.prompts}" if self.prompts else title


def column_groups(columns: Sequence[BoardColumn]) -> dict[str, list[BoardColumn]]:
    """Group columns by their prompts (`Column.prompts`), in the order of the questions: plain, each decoy, each length."""
    groups: dict[str, list[BoardColumn]] = {}
    for column in sorted(columns, key=lambda member: list(QUESTIONS).index(member.question)):
        groups.setdefault(column.prompts, []).append(column)
    return groups


@dataclass(frozen=True, eq=False)
class Board:
    """rows: methods, best first, then controls, best first. columns: those with a number. absent: (title, reason) of others.

    values: a row for each column and explainer. value, low, high (95 %), chance: scaled where the column is, else above the
    random control's; native, native_low, native_high, native_chance: in the measure's unit; cells: how many of the cells
    that count, of: how many count; n: instances; reason: what the row lacks, or why it has no number, else ""; interval: how
    it was made, see `means.means`;
    exceeds, within: see `ranking`, of rows that lack nothing and are not right by construction.
    by_model: the same, for each model. costs: an explainer at each size of prompt (`size`: "1" the shortest, up to "3", and
    EVERY_SIZE): tokens (median), passes (declared, of that many tokens), whole_passes (over the whole prompt, counted or else
    declared), n, seconds (of the explainer by itself for one prompt; NaN where it was not timed), ratio (of these to the
    yardstick's). quality: value, the mean of the plain columns of the questions, low, high;
    whole_passes over all prompts; on_front: whether no method is as good and as cheap, and better in one; exceeds; within.
    beside: the same over the questions at which no row is right by construction; empty where these are all, or none.
    pairs: two rows in a model and dataset, in each plain column: see `comparisons.pairs_of`.
    datasets: their titles. places: what each number is over: column, explainer, model, dataset and regime. questions_of:
    by column of a question, how many different ones were asked. verified: of columns that are not ranked, in how many of n
    answers the assumed source was proved (see `Reader`).
    """

    rows: tuple[BoardRow, ...]
    columns: tuple[BoardColumn, ...]
    absent: tuple[tuple[str, str], ...]
    values: pd.DataFrame
    by_model: pd.DataFrame
    costs: pd.DataFrame
    quality: pd.DataFrame
    beside: pd.DataFrame
    pairs: pd.DataFrame
    models: tuple[str, ...]
    datasets: tuple[str, ...]
    places: pd.DataFrame
    questions_of: dict[str, int]
    verified: pd.DataFrame = field(default_factory=partial(pd.DataFrame, columns=VERIFIED))

    def to_json(self) -> str:
        """Write JSON, from which `of_json` reads the board back, to the last digit."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        parts |= {name: parts[name].to_dict("split", index=False) for name in FRAMES}
        parts["rows"] = [asdict(row) for row in self.rows]
        parts["columns"] = [(column.measure.key, column.decoy, column.length) for column in self.columns]
        return json.dumps(parts)

    @classmethod
    def of_json(cls, text: str, measures: Iterable[Measure]) -> Self:
        """Read a board. measures: those that a board may have."""
        parts, by_key = json.loads(text), {measure.key: measure for measure in measures}
        parts |= {name: pd.DataFrame(parts[name]["data"], columns=parts[name]["columns"]) for name in FRAMES}
        parts["rows"] = [BoardRow(**row) for row in parts["rows"]]
        parts["columns"] = [BoardColumn(by_key[key], decoy, length) for key, decoy, length in parts["columns"]]
        parts["absent"] = map(tuple, parts["absent"])
        whole = (*FRAMES, "questions_of")
        parts |= {name: tuple(part) for name, part in parts.items() if name not in whole}
        return cls(**parts)

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(row.key for row in self.rows if not row.control)

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(row.key for row in self.rows if row.control)

    @property
    def titles(self) -> dict[str, str]:
        return {row.key: row.title for row in self.rows}

    @property
    def timed(self) -> bool:
        return bool(self.costs["seconds"].notna().any())

    def models_at(self, column: BoardColumn) -> tuple[str, ...]:
        models = self.by_model[(self.by_model["column"] == column.key) & (self.by_model["cells"] > 0)]["model"]
        return tuple(model for model in self.models if model in set(models))

    def ranking(self, column: BoardColumn) -> Ranking:
        """Rank the rows of a column that lack no cell and are not right by construction; nobody where the column is not
        ranked.
        """
        if column.key not in self._rankings:  # a page asks dozens of times
            self._rankings[column.key] = self._ranked(column)
        return self._rankings[column.key]

    @cached_property
    def _rankings(self) -> dict[str, Ranking]:
        return {}

    def _ranked(self, column: BoardColumn) -> Ranking:
        if not column.ranked:
            return Ranking()
        complete = self.values[(self.values["column"] == column.key) & (self.values["cells"] == self.values["of"])]
        complete = complete[~complete["explainer"].map(column.measure.given).astype(bool)]
        return ranking(complete, self.controls, "high" if column.scaled else column.measure.best)

    def given(self, key: str) -> tuple[BoardColumn, ...]:
        """Return the questions at which a row is right by construction."""
        return tuple(column for column in self.questions if column.measure.given(key))

    @cached_property
    def overall(self) -> Ranking:
        """Who is best by the mean of the questions, of the rows that lack no cell of any, nor are right by construction."""
        given = self.quality["explainer"].isin([row.key for row in self.rows if self.given(row.key)])
        return ranking(self.quality[~given].assign(chance=0.0), self.controls)

    @cached_property
    def overall_beside(self) -> Ranking:
        """Who is best by the mean of the questions at which no row is right by construction, of all rows."""
        return ranking(self.beside.assign(chance=0.0), self.controls)

    @property
    def passes(self) -> dict[str, float]:
        """Explainer ▶ forward passes over the whole prompt, of those that have a mean and a cost."""
        priced = self.quality.dropna(subset=["whole_passes"])
        return {str(key): float(passes) for key, passes in zip(priced["explainer"], priced["whole_passes"], strict=True)}

    def record(self, key: str, *others: str) -> tuple[int, int, int] | None:
        """Return how often an explainer wins, ties and loses against other methods, at each question, in each model and
        dataset.
        """
        pairs = against(self.pairs, key) if len(self.pairs) else self.pairs
        pairs = pairs[pairs["second"].isin(others or self.methods)]
        if pairs.empty:
            return None
        counts = tally(pairs)
        return int(counts["wins"]), int(counts["ties"]), len(pairs) - int(counts["wins"]) - int(counts["ties"])

    @property
    def questions(self) -> tuple[BoardColumn, ...]:
        return tuple(column for column in self.columns if column.scaled and column.plain)
