"""Which explainer finds what people copied, or marked: the tables `quoted` and `cell_quoted`, of answers that people wrote.

Formula: *source*, the probability that a sentence's first choice among the documents is one that it is from, ties broken at
random; chance is the share of documents that it is from. *span_rank*, the expected 1 / rank of the best sentence that a copied
span is from, among all sentences of all documents; chance is that of equal scores. Of a *claim*, which any one of some sets of
sentences supports: *claim_first*, whether the first choice is in a set; *claim_precision*, average precision, and
*claim_recall*, the share of a set among as many first ones, each of the set that gives most; ties are broken at random, in
DRAWS orders, and chance is that of equal scores. A *statement* has one set, and the same measures. Of a claim's *words*:
*word_auroc*, how often one that people marked as unsupported has a higher score than one that they did not, ties counting
half (chance .5; of claims with both); of FLAGS, which say yes or no, *word_precision* and *word_recall* over all words.
Means over sentences, spans, claims, statements or words, with 95 % intervals over questions (`statistics/bounded.py`: a
bootstrap's percentiles have no width where all are right). delta: against the control that does best over most answers, on
what both have: a hard opponent, since it is chosen by its value. Sentences are also taken apart by the share of their words
that stand in their documents, at BOUNDS, and claims at SHARE: where words differ, string overlap says less.
Reference: the data's, arXiv 2311.04886; mean reciprocal rank as usual.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.metrics.shared.broken_ties import reciprocal
from heval_core.records import TEXT_CONTROLS
from heval_core.statistics.bounded import Bounded, sum_interval
from heval_core.statistics.values import Sums
from heval_core.store.kinds import QUOTED
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer

MEASURES = {"sentence": "source", "span": "span_rank"}
CLAIM, STATEMENT, OF_CLAIMS = "claim", "statement", ("claim_first", "claim_precision", "claim_recall")
WORDS, OF_WORDS = "words", ("word_auroc", "word_precision", "word_recall")
# What says yes or no of a word: 0 that it stands nowhere, or rests on nothing; less than 0 that it does.
FLAGS = ("overlap", "trace", "nowhere")
# Orders of equal scores that are tried.
DRAWS = 100
# Shares of a sentence's words that stand in its documents. A quarter of QuoteSum's sentences are below the first, and two
# fifths have all of their words there.
BOUNDS = {"below .85": (0.0, 0.85), ".85 to 1": (0.85, 1.0), "all words": (1.0, 1.1)}
# What needs no explainer: a search in the texts, or how improbable a word is.
CONTROLS = (*TEXT_CONTROLS, "surprise", "nowhere")
# Claims of which fewer words stand in their page are looked at by themselves too: two fifths of WiCE's.
DIFFER, SHARE = "below .7", 0.7
_PART = ["answer_id", "place"]


def insert(writer: Writer, store: ShardStore, entries: Sequence[Entry]) -> None:
    """Write the rows of both tables."""
    whole = ShardRows(store, entries, QUOTED, QUOTED.schema.names).rows
    if len(whole):
        writer.insert_frame("quoted", whole[writer.columns("quoted")])
        writer.insert("cell_quoted", [*cells(whole)])


def cells(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows of `cell_quoted`, of rows of `quoted`."""
    for part, measured in (
        (rows["part"] == CLAIM, _claims(["answer_id"])),
        (rows["part"] == STATEMENT, _claims(_PART)),
        (rows["part"] == WORDS, _words),
    ):
        for measure, values in measured(rows[part]) if part.any() else ():
            for (model, dataset), group in values.groupby(["model", "dataset"]):
                key = {"model": model, "dataset": dataset, "measure": measure}
                yield from _cells(group, key | {"copied": "all"}, paired=measure not in OF_WORDS[1:])
                if measure in OF_CLAIMS:
                    yield from _cells(group[group["copied"] < SHARE], key | {"copied": DIFFER})
    rows = rows[rows["part"].isin(MEASURES)]
    values = [_measured(*row) for row in zip(rows["part"], rows["gold"], rows["scores"], strict=True)]
    measured = rows.assign(value=[value for value, _ in values], chance=[chance for _, chance in values])
    for (model, dataset, part), of_part in measured.groupby(["model", "dataset", "part"]):
        within = {"all": (0.0, 1.1)} | (BOUNDS if part == "sentence" else {})
        for copied, (least, below) in within.items():
            inside = of_part[(of_part["copied"] >= least) & (of_part["copied"] < below)]
            yield from _cells(inside, {"model": model, "dataset": dataset, "measure": MEASURES[str(part)], "copied": copied})


def _cells(rows: pd.DataFrame, key: dict[str, Any], paired: bool = True) -> Iterator[dict[str, Any]]:
    """Yield a cell for each explainer. paired: whether rows of two explainers are about the same."""
    of_controls = rows[rows["explainer"].isin(CONTROLS)].groupby("explainer")["value"].agg(["mean", "size"])
    of_most = of_controls[of_controls["size"] == of_controls["size"].max()]  # over other answers a mean is no rival
    best = str(of_most["mean"].idxmax()) if paired and len(of_most) else ""
    opponent = rows[rows["explainer"] == best].set_index(_PART)["value"]
    for explainer, explainer_rows in rows.groupby("explainer"):
        cell = _cell(explainer_rows, opponent if explainer != best else opponent[:0])
        yield key | {"explainer": explainer} | cell | ({"against": best} if "delta" in cell else {})


def _claims(part: list[str]) -> Callable[[pd.DataFrame], Iterator[tuple[str, pd.DataFrame]]]:
    """Return what yields each measure of claims, with a row for each explainer and claim. part: what names a claim, whose
    rows are one for each set that supports it."""

    def measured(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        lines, values, by_chance = list[dict[str, Any]](), list[tuple[np.ndarray, np.ndarray]](), dict[Any, np.ndarray]()
        keys = ["model", "dataset", "explainer", *part]
        for names, group in rows.groupby(keys):
            scores, sets = np.asarray(group["scores"].iloc[0]), [set(gold) for gold in group["gold"]]
            of_sets = (len(scores), tuple(map(tuple, group["gold"])))
            if of_sets not in by_chance:
                by_chance[of_sets] = of_claim(np.zeros(len(scores)), sets)
            values.append((of_claim(scores, sets), by_chance[of_sets]))
            of_claim_rows = {column: group[column].iloc[0] for column in ("question_id", "copied")}
            lines.append({"place": 0} | of_claim_rows | dict(zip(keys, names, strict=True)))
        for index, measure in enumerate(OF_CLAIMS):
            columns = {"value": [value[index] for value, _ in values], "chance": [chance[index] for _, chance in values]}
            yield measure, pd.DataFrame(lines).assign(**columns)

    return measured


def _words(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each measure of words: AUROC with a row for each explainer and claim, the others with one for each word."""
    size = rows["scores"].map(len)
    both = rows[(rows["gold"].map(len) > 0) & (rows["gold"].map(len) < size)]
    if len(both):
        values = [of_words(scores, gold) for scores, gold in zip(both["scores"], both["gold"], strict=True)]
        yield OF_WORDS[0], both.assign(value=values, chance=0.5)
    flags = rows[rows["explainer"].isin(FLAGS)]
    each = flags.assign(alone=[np.isin(range(len(s)), g) for s, g in zip(flags["scores"], flags["gold"], strict=True)])
    each = each.drop(columns=["gold"]).explode(["scores", "alone"])
    each = each.assign(place=each.groupby(["model", "dataset", "explainer", "answer_id"]).cumcount())
    flagged, alone = each["scores"].astype(float) >= 0, each["alone"].astype(bool)
    for measure, of, value in ((OF_WORDS[1], flagged, alone), (OF_WORDS[2], alone, flagged)):
        share = value.astype(float).groupby([each["model"], each["dataset"], each["explainer"]]).transform("mean")
        yield measure, each.assign(value=value.astype(float), chance=share)[of]


def of_words(scores: Sequence[float] | np.ndarray, gold: Sequence[int]) -> float:
    """Compute the AUROC of a claim's words. gold: the numbers of those that nothing supports; neither none nor all.

    >>> of_words([0.1, 0.9, 0.5, 0.1], [1, 3])
    0.625
    """
    values, alone = np.asarray(scores, dtype=float), np.isin(np.arange(len(scores)), gold)
    differences = values[alone][:, None] - values[~alone]
    return float(((differences > 0) + (differences == 0) / 2).mean())


def of_claim(scores: Sequence[float] | np.ndarray, sets: Sequence[set[int]]) -> np.ndarray:
    """Compute OF_CLAIMS of a claim, (3,). scores: of each sentence. sets: any one of which supports it.

    >>> of_claim([0.1, 0.9, 0.5], [{0}, {1, 2}]).tolist()
    [1.0, 1.0, 1.0]
    """
    values = np.asarray(scores, dtype=float)
    mixed = _permutations(len(values))[: DRAWS if len(np.unique(values)) < len(values) else 1]
    orders = np.take_along_axis(mixed, np.argsort(-values[mixed], axis=1, kind="stable"), 1)
    right = [np.isin(np.arange(len(values)), [*one])[orders] for one in sets]
    first = np.any([inside[:, 0] for inside in right], axis=0)
    precision, recall = (np.max(best, axis=0) for best in zip(*map(_of_set, right), strict=True))
    return np.array([first.mean(), precision.mean(), recall.mean()])


@functools.cache
def _permutations(count: int) -> np.ndarray:
    """Return (DRAWS, count) orders of so many, the same ones each time."""
    generator = np.random.default_rng(0)
    return np.array([generator.permutation(count) for _ in range(DRAWS)])


def _of_set(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the average precision of orders, and their recall at the size of the set. right: (draws, S) who is in it."""
    size = int(right[0].sum())
    precisions = right.cumsum(1) / np.arange(1, right.shape[1] + 1)
    return (precisions * right).sum(1) / size, right[:, :size].mean(1)


def _measured(part: str, gold: Sequence[int], scores: Sequence[float]) -> tuple[float, float]:
    """Return a sentence's or a span's value, and its chance."""
    values, right = np.asarray(scores), np.isin(np.arange(len(scores)), gold)
    best = values[right].max()
    above, size, inside = int((values > best).sum()), int((values == best).sum()), int((right & (values == best)).sum())
    if part == "sentence":
        return (0.0 if above else inside / size), float(right.mean())
    return reciprocal(above, size, inside), reciprocal(0, len(values), int(right.sum()))


def _cell(rows: pd.DataFrame, opponent: pd.Series) -> dict[str, Any]:
    """Return the means of one explainer. opponent: the values of the best control; none for itself."""
    shared = rows.join(opponent.rename("opponent"), on=_PART).dropna(subset="opponent")
    differences = (shared["value"] - shared["opponent"]).to_numpy()
    mean = _by_question(rows, rows["value"].to_numpy())
    low, high = mean.interval()
    cell = {"value": mean.value, "low": low, "high": high, "chance": rows["chance"].mean(), "n": mean.n}
    if len(shared):
        # What questions agree on adds nothing to the error; see `statistics/bounded.py`.
        more, less = (_by_question(shared, np.maximum(sign * differences, 0)) for sign in (1, -1))
        low, high = sum_interval([(1.0, more), (-1.0, less)])
        cell |= {"delta": more.value - less.value, "delta_low": low, "delta_high": high}
    return cell | {"questions": mean.questions}


def _by_question(rows: pd.DataFrame, values: np.ndarray) -> Bounded:
    """Return the mean of values between 0 and 1, and how much each question moves it."""
    questions = pd.Series(values).groupby(rows["question_id"].to_numpy()).agg(["sum", "size"]).astype(float)
    return Sums(questions["sum"].to_numpy(), questions["size"].to_numpy(), ends=(0.0, 1.0)).bounded()
