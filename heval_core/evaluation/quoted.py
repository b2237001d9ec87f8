"""Which explainer finds what people copied: the tables `quoted` and `cell_quoted`, of answers that people wrote.

Formula: *source*, the probability that a sentence's first choice among the documents is one that it is from, ties broken at
random; chance is the share of documents that it is from. *span_rank*, the expected 1 / rank of the best sentence that a copied
span is from, among all sentences of all documents; chance is that of equal scores. Means over sentences or spans; 95 %
intervals by a bootstrap over questions, the same draws for all explainers, and none for fewer than FEWEST questions.
delta: against lexical overlap, on what both have. Sentences are also taken apart by the share of their words that stand in
their documents, at BOUNDS: where words differ, string overlap says less.
Reference: the data's, arXiv 2311.04886; mean reciprocal rank as usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heval_core.metrics.shared.broken_ties import reciprocal
from heval_core.statistics.bootstrap import Resamples, percentile_interval, resampled_means
from heval_core.store.kinds import QUOTED
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer

MEASURES = {"sentence": "source", "span": "span_rank"}
# Shares of a sentence's words that stand in its documents. A quarter of QuoteSum's sentences are below the first, and two
# fifths have all of their words there.
BOUNDS = {"below .85": (0.0, 0.85), ".85 to 1": (0.85, 1.0), "all words": (1.0, 1.1)}
OVERLAP = "lexical"
# Fewer questions give no interval.
FEWEST = 5
_PART = ["answer_id", "place"]


def insert(writer: Writer, store: ShardStore, entries: Sequence[Entry]) -> None:
    """Write the rows of both tables."""
    whole = ShardRows(store, entries, QUOTED, QUOTED.schema.names).rows
    if len(whole):
        writer.insert_frame("quoted", whole[writer.columns("quoted")])
        writer.insert("cell_quoted", [*cells(whole)])


def cells(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of `cell_quoted`, of rows of `quoted`."""
    values = [_measured(*row) for row in zip(rows["part"], rows["gold"], rows["scores"], strict=True)]
    measured = rows.assign(value=[value for value, _ in values], chance=[chance for _, chance in values])
    for (model, dataset, part), of_part in measured.groupby(["model", "dataset", "part"]):
        drawn = Resamples(str(dataset), of_part["question_id"])
        within = {"all": (0.0, 1.1)} | (BOUNDS if part == "sentence" else {})
        for copied, (least, below) in within.items():
            inside = of_part[(of_part["copied"] >= least) & (of_part["copied"] < below)]
            overlap = inside[inside["explainer"] == OVERLAP].set_index(_PART)["value"]
            for explainer, own in inside.groupby("explainer"):
                key = {"model": model, "dataset": dataset, "explainer": explainer, "measure": MEASURES[str(part)]}
                yield key | {"copied": copied} | _cell(own, overlap, drawn)


def _measured(part: str, gold: Sequence[int], scores: Sequence[float]) -> tuple[float, float]:
    """Of a sentence or a span: its value, and its chance."""
    own, right = np.asarray(scores), np.isin(np.arange(len(scores)), gold)
    best = own[right].max()
    above, size, inside = int((own > best).sum()), int((own == best).sum()), int((right & (own == best)).sum())
    if part == "sentence":
        return (0.0 if above else inside / size), float(right.mean())
    return reciprocal(above, size, inside), reciprocal(0, len(own), int(right.sum()))


def _cell(own: pd.DataFrame, overlap: pd.Series, drawn: Resamples) -> dict[str, Any]:
    """The means of one explainer. overlap: the values of lexical overlap."""
    both = own.join(overlap.rename("overlap"), on=_PART)
    columns = {"value": own["value"], "delta": (both["value"] - both["overlap"]).dropna()}
    found: dict[str, Any] = {"chance": own["chance"].mean(), "n": len(own), "questions": own["question_id"].nunique()}
    for name, values in columns.items():
        asked = own.loc[values.index, "question_id"]
        replicates = resampled_means(drawn.of(asked), [(values.to_numpy(), np.ones(len(values)))])
        low, high = percentile_interval(replicates[:, 0]) if asked.nunique() >= FEWEST else (None, None)
        ends = ("low", "high") if name == "value" else ("delta_low", "delta_high")
        found |= {name: values.mean(), **dict(zip(ends, (low, high), strict=True))}
    return {name: None if value != value else value for name, value in found.items()}
