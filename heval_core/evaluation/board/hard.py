"""The hard board: explainers and controls where the answer stands once, and where it stands in several places.

Columns, each the share named rightly, with chance .5 where there are two places:
  once      plain prompts of two documents, each with its own answer: forced choice of the document. It asks the same as the
            next two, by sums of scores; reciprocal ranks (MRR) have another chance, and pay for naming every place of a string
  worded    the answer stands in several places, and the source's sentence has more of the question's words than the others'
  unworded  it has not
  route     the place that the last token reads, in these prompts, whatever their answers depend on
Formula: of a model the mean of two halves (first and second document, or source first and last), each over all its answers,
whatever their data set and regime; over all models the mean of the models'. No mean is taken over columns, which ask
different things. Intervals: `statistics/values.py`, clustered by question, and of a mean `bounded.mean_interval`; the same
questions are resampled for all rows of a column. Ranks: `evaluation/ranking.py`. Only cells count in which more than half of
a model's methods ran, and a number over other answers than most methods' is none.
Reference: ours (docs/hard-board.md). Cost: one query, and a product of 2,000 x questions x halves for each column.
"""

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core.evaluation.board.making import NOT_RUN, NOT_SHARED, OTHER_INSTANCES, whole
from heval_core.evaluation.means import controls_of
from heval_core.evaluation.ranking import ROUNDING, Ranking, ahead, ranking
from heval_core.records import TECHNIQUE
from heval_core.records.groups import context_groups
from heval_core.records.regime_keys import read_key
from heval_core.records.vocabulary import BY_CONSTRUCTION
from heval_core.statistics.bootstrap import NAN, resample_weights
from heval_core.statistics.bounded import mean_interval
from heval_core.statistics.values import SMALLEST_GROUP, Sums, Value, replicates
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader


class HardColumn(NamedTuple):
    """halves: the parts of its metric that weigh the same. plain: whether it is of prompts without options only."""

    key: str
    title: str
    metric: str
    halves: tuple[str, ...]
    plain: bool = False


COLUMNS = {
    column.key: column
    for column in (
        HardColumn("once", "Answer stands once", "forced_choice", context_groups(2), plain=True),
        HardColumn("worded", "Stands twice, the question’s words help", "which_mention", ("first_worded", "last_worded")),
        HardColumn("unworded", "Stands twice, they do not", "which_mention", ("first_unworded", "last_unworded")),
        HardColumn("route", "What the last token reads", "route_mention", ("first", "last")),
    )
}
# Stands for all models together.
ALL = "all"
_HALVES = [f"{half}{what}" for half in ("first", "last") for what in ("", "_low", "_high", "_n")]
_ROW = [*("column", "model", "explainer", "value", "low", "high", "chance", "n", "questions", "reason", "exceeds"), *_HALVES]


@dataclass(frozen=True, eq=False)
class HardBoard:
    """rows: one a column, model (ALL for the mean of all) and explainer. value, low, high (95 %), chance; n: answers, and
    questions that they ask; reason: why it has no number, else ""; interval: whether there is none, by construction; exceeds:
    whose numbers its own exceeds (`ranking.ahead`); first, last: its halves, each with its ends (first_low …) and answers
    (first_n). text_only: controls that read text only.
    """

    rows: pd.DataFrame
    controls: tuple[str, ...]
    text_only: tuple[str, ...] = ()

    def best_text(self, column: str) -> str:
        """Return the control that reads text only with the highest number; "" without one."""
        values = self.numbers(column)["value"]
        return max((key for key in self.text_only if key in values.index), key=values.__getitem__, default="")

    def numbers(self, column: str, model: str = ALL) -> pd.DataFrame:
        """Return the rows of a column that have a number, by explainer."""
        rows = self.rows[(self.rows["column"] == column) & (self.rows["model"] == model)]
        return rows.dropna(subset="value").set_index("explainer")

    def ranking(self, column: str, model: str = ALL) -> Ranking:
        """Rank the rows of a column that have a number: for ranks, bold and sentences."""
        return ranking(self.numbers(column, model).reset_index(), self.controls)


def hard_board(reader: Reader, chosen: Filter = Filter()) -> HardBoard:  # noqa: B008
    """Make the hard board of what a results file has under a filter, of answers under Regular."""
    chosen = of_regular(reader, chosen)
    metrics = sorted({column.metric for column in COLUMNS.values()})
    parts = sorted({part for column in COLUMNS.values() for part in column.halves})
    stored = reader.values_by_question(chosen, metrics, parts, 0)
    explainers, controls = reader.catalogue("explainer"), controls_of(reader)
    text_only = tuple(explainers[explainers["text_only"].astype(bool)]["key"])
    rows = hard_rows(_with_questions(reader, stored), controls)
    # Prompts are built so that it is right: other questions would not change it (`means.without_sure_intervals`).
    sure = rows["explainer"].isin(text_only) & (rows["value"] > 1 - ROUNDING)
    rows = rows.assign(
        interval=sure.map({True: BY_CONSTRUCTION, False: ""}), low=rows["low"].mask(sure), high=rows["high"].mask(sure)
    )
    return HardBoard(rows, tuple(controls), text_only)


def of_regular(reader: Reader, chosen: Filter) -> Filter:
    """Return the same filter of answers under Regular, with every regime named: one brings its decoys along."""
    return whole(reader, replace(chosen, technique=(TECHNIQUE,)))


def _with_questions(reader: Reader, stored: pd.DataFrame) -> pd.DataFrame:
    """Add `question`, the same for facts of one question."""
    named = [
        rows.assign(question=[f"{dataset} {number}" for number in reader.resamples(str(dataset)).questions(rows["fact_id"])])
        for dataset, rows in stored.groupby("dataset", sort=False)
    ]
    return pd.concat(named) if named else stored.assign(question="")


def hard_rows(stored: pd.DataFrame, controls: Collection[str]) -> pd.DataFrame:
    """Make the rows of a `HardBoard`.

    stored: model, dataset, regime, explainer, metric, part, question, total, chance and n: sums of stored values, and how
    many.
    """
    plain = [regime for regime in stored["regime"].unique() if read_key(str(regime)).plain]
    rows = []
    for column in COLUMNS.values():
        fits = (stored["metric"] == column.metric) & stored["part"].isin(column.halves)
        fits = fits & stored["regime"].isin(plain) if column.plain else fits
        rows += [(column.key, *row) for row in _of_column(column, stored[fits], controls)] if fits.any() else []
    return pd.DataFrame(rows, columns=_ROW)


class _Share(NamedTuple):
    """n: answers. asked: (U,) bool, which questions they ask. drawn: (resamples,). reason: why there is none, else "".
    halves: of which it is the mean.
    """

    value: float = NAN
    low: float = NAN
    high: float = NAN
    chance: float = NAN
    n: int = 0
    asked: np.ndarray = np.zeros(0)
    drawn: np.ndarray = np.zeros(0)
    reason: str = ""
    halves: tuple[Any, ...] = ()


def _of_column(column: HardColumn, stored: pd.DataFrame, controls: Collection[str]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a column without its key: of each model, then of all."""
    by_model: dict[str, dict[str, _Share]] = {}
    for model, explainer in stored[["model", "explainer"]].drop_duplicates().itertuples(index=False):
        by_model.setdefault(str(model), {})[str(explainer)] = _Share(reason=NOT_SHARED)
    stored = _shared(stored, controls)
    units, questions = pd.factorize(stored["question"], sort=True)
    weights = resample_weights(max(1, len(questions)), seed=zlib.crc32(column.key.encode()))
    for (model, explainer), rows in stored.assign(unit=units).groupby(["model", "explainer"]):
        by_model[str(model)][str(explainer)] = _number(column, rows, weights)
    by_model = {model: _alike(numbers, controls) for model, numbers in by_model.items()}
    enough = [numbers for numbers in by_model.values() if any(not number.reason for number in numbers.values())]
    every = enough or [*by_model.values()]
    keys = dict.fromkeys(key for numbers in by_model.values() for key in numbers)
    by_model[ALL] = {key: _mean([numbers.get(key, _Share(reason=NOT_RUN)) for numbers in every]) for key in keys}
    for model, numbers in by_model.items():
        known = {key: number for key, number in numbers.items() if not number.reason}
        frame = pd.DataFrame([number[:3] for number in known.values()], [*known], ["value", "low", "high"])
        above = ahead(frame, {key: number.drawn for key, number in known.items()}, controls)
        for key, share in numbers.items():
            halves = [number for half in share.halves for number in (*half[:3], half.n)] or [NAN] * len(_HALVES)
            yield (model, key, *share[:5], int(share.asked.sum()), share.reason, above.get(key, []), *halves)


def _shared(stored: pd.DataFrame, controls: Collection[str]) -> pd.DataFrame:
    """Select the rows of cells in which more than half of a model's methods ran, as `means.counting` does; of all explainers
    where a model has no method.
    """
    method = ~stored["explainer"].isin([*controls])
    judges = stored[method | ~stored["model"].isin(stored[method]["model"])]
    methods, cell = judges.groupby("model")["explainer"].nunique(), ["model", "dataset", "regime"]
    ran = judges.groupby(cell)["explainer"].nunique().rename("ran").reset_index()
    usual = ran[ran["ran"] > ran["model"].map(methods) / 2]
    return stored.merge(usual[cell], on=cell)


def _number(column: HardColumn, rows: pd.DataFrame, weights: np.ndarray) -> _Share:
    """Return the mean of a model's two halves. rows: of one explainer, with `unit`, the number of each question."""
    columns, chances = [], []
    for part in column.halves:
        of_part = rows[rows["part"] == part]
        sums, counts = (np.bincount(of_part["unit"], of_part[name], weights.shape[1]) for name in ("total", "n"))
        columns.append(Sums(sums, counts, 1 / len(column.halves), (0.0, 1.0)))
        chances.append(of_part["chance"].sum() / max(1, columns[-1].n))
    first, last = (half.n for half in columns)
    if min(first, last) < SMALLEST_GROUP // 3 or first + last < SMALLEST_GROUP:
        needed = f"{SMALLEST_GROUP // 3} each and {SMALLEST_GROUP} in all are needed"
        return _Share(n=first + last, reason=f"too few answers ({first} first, {last} last; {needed})")
    halves = [_share([half._replace(factor=1.0)], chance, weights) for half, chance in zip(columns, chances, strict=True)]
    return _share(columns, float(np.mean(chances)), weights)._replace(halves=tuple(halves))


def _share(columns: Sequence[Sums], chance: float, weights: np.ndarray) -> _Share:
    value = Value("", sum(column.factor * column.mean() for column in columns), columns=tuple(columns))
    questions = np.any([column.counts > 0 for column in columns], axis=0)
    (resampled,) = replicates([value], weights)
    return _Share(value.value, *value.interval(), chance, sum(column.n for column in columns), questions, resampled)


def _alike(numbers: dict[str, _Share], controls: Collection[str]) -> dict[str, _Share]:
    """Return the numbers that are over as many answers as those of most methods; others are none."""
    counts = [number.n for key, number in numbers.items() if key not in controls] or [number.n for number in numbers.values()]
    usual = max(sorted(set(counts), reverse=True), key=counts.count)
    return {key: number if number.n == usual else _Share(reason=OTHER_INSTANCES) for key, number in numbers.items()}


def _mean(numbers: Sequence[_Share]) -> _Share:
    """Return the mean over models; none where one of them has none."""
    if reason := next((number.reason for number in numbers if number.reason), "" if numbers else NOT_RUN):
        return _Share(reason=reason)
    resampled = np.stack([number.drawn for number in numbers], axis=1)
    value, low, high, chance = np.array([number[:4] for number in numbers]).T
    questions, count = np.any([number.asked for number in numbers], axis=0), sum(number.n for number in numbers)
    halves = tuple(_mean(half) for half in zip(*(number.halves for number in numbers), strict=True))
    ends = mean_interval(value, low, high, resampled)
    return _Share(value.mean(), *ends, chance.mean(), count, questions, resampled.mean(axis=1), halves=halves)
