"""One answer under a technique: whether it used its context, and what became of the model's memory.

Formula: BCU and CCU as in `heval_core.techniques.shared.context_use`. Gold and conflicting documents ask for t_C, the others
for t_M. correct: the predicted token is one of the first tokens of the true answer. memory_kept: the technique's next token
without documents is Regular's. neither: the predicted token is neither accepted nor Regular's next token without documents.
Reference: CUB, arXiv 2505.16518; memory_kept and neither are ours.
Departure: correct is undefined for questions whose true answer is not known.
Cost: one pass over the stored rows; no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from heval_core.records import CELL, EVERY_REGIME, FOLLOWED, TECHNIQUE, HEvalError
from heval_core.store.kinds import BEHAVIOUR, INSTANCE
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer
from heval_core.techniques.shared.context_use import bcu, ccu

# What softmax may exceed 1 by.
_ROUNDING = 1e-6


_METRICS = ["bcu", "ccu", "correct", "memory_kept", "neither"]
_ASKED = ("place", "fact_id", *CELL, "predicted_id", "dropped_because")
_KEY = ["model", "dataset", "regime", "fact_id"]
_ANSWER = ["model", "dataset", "regime", "technique", "fact_id", "knew", *_METRICS]
# What Regular was asked: question and document.
_TEXTS = (
    "relation",
    "question",
    "true_answer",
    "document_answers",
    "tokens",
    "document_starts",
    "document_ends",
    "first_mention",
)
_INPUT = [
    *(*_KEY, "relation", "question", "true_answer", "answer", "document", "length", "answer_position", "memory_probability"),
    "trace",
]


class Answers:
    """Writes the table `behaviour`, and collects the answers to test questions, which techniques are compared by."""

    def __init__(self) -> None:
        self._answers: list[pd.DataFrame] = []
        self._inputs: list[pd.DataFrame] = []
        self._traces: list[pd.DataFrame] = []

    def insert(self, writer: Writer, store: ShardStore, entries: Iterable[Entry]) -> None:
        """Add the rows of one model, dataset and technique; nothing where techniques were not compared.

        Raises HEvalError, naming the instance, for a probability that is none.
        """
        entries = list(entries)
        stored = ShardRows(store, entries, BEHAVIOUR, BEHAVIOUR.schema.names).rows
        if stored.empty:
            return
        asked = ShardRows(store, entries, INSTANCE, _ASKED).rows
        found = stored.merge(asked.drop(columns=["row", "shard"]), on="instance_id")
        order = found["regime"].map(EVERY_REGIME.index)
        found = measured(found.assign(order=order).sort_values(["order", "place", "instance_id"], ignore_index=True))
        writer.insert_frame("behaviour", found[writer.columns("behaviour")])
        # Instances that the cap on explanations left out were answered all the same.
        answered = found["dropped_because"].isna() | (found["dropped_because"] == "not sampled")
        test = found[answered & (found["split"] == "test")]
        self._answers.append(test[_ANSWER])
        self._traces.append(found.loc[found["trace"].notna(), [*_KEY, "technique", "trace"]])
        if len(test) and test["technique"].iloc[0] == TECHNIQUE:
            self._inputs.append(_inputs(store, entries, test))

    def to_test_questions(self) -> pd.DataFrame:
        """The answers under every technique: model, dataset, regime, technique, fact_id, knew, metrics."""
        return _together(self._answers, _ANSWER, [*_KEY[:3], "technique", "fact_id"])

    def inputs(self) -> pd.DataFrame:
        """What Regular was asked, by model, dataset, regime and fact_id of the test answers: question and document.

        answer_position: of the answer's first token in the document, from 0 to 1. memory_probability: of Regular's own next
        token without the document, where it was stored. trace: of a technique that asks the model before it answers.
        """
        traces = _together(self._traces, [*_KEY, "technique", "trace"], ["technique"]).drop_duplicates(_KEY)
        inputs = _together(self._inputs, _INPUT[:-1], _KEY).merge(traces.drop(columns="technique"), on=_KEY, how="left")
        return inputs.assign(trace=inputs["trace"].astype(object).where(inputs["trace"].notna(), None))


def _together(frames: list[pd.DataFrame], columns: list[str], by: list[str]) -> pd.DataFrame:
    there = [frame for frame in frames if len(frame)]
    whole = pd.concat(there) if there else pd.DataFrame(columns=columns)
    return whole.sort_values(by, kind="stable", ignore_index=True)


def _inputs(store: ShardStore, entries: list[Entry], answers: pd.DataFrame) -> pd.DataFrame:
    """Rows of `Answers.inputs` without traces. answers: Regular's."""
    texts = {}
    for entry in (one for one in entries if one.kind == INSTANCE.name):
        for row in store.read(entry, ["instance_id", *_TEXTS]).to_pylist():
            texts[row["instance_id"]] = row
    rows = []
    for answer in answers.to_dict("records"):
        row = texts[answer["instance_id"]]
        if len(row["document_starts"]) == 1:
            (start,), (end,), (mention, *_) = (row[name] for name in ("document_starts", "document_ends", "first_mention"))
            rows.append(
                {
                    **{name: answer[name] for name in _KEY},
                    **{name: row[name] for name in ("relation", "question", "true_answer")},
                    "answer": row["document_answers"][0],
                    "document": "".join(row["tokens"][start:end]),
                    "length": end - start,
                    "answer_position": (mention[0] - start) / (end - start) if mention else np.nan,
                    "memory_probability": np.nan if answer["regime"] in FOLLOWED else answer["alone_probability"],
                }
            )
    return pd.DataFrame(rows, columns=_INPUT[:-1])


def measured(found: pd.DataFrame) -> pd.DataFrame:
    """The answers of one model, dataset and technique, with their metrics as columns.

    found: the columns of a behaviour shard, and fact_id, regime and predicted_id of the instance. An answer without a token
    has no metrics.
    """
    metrics = [_metrics(row) for row in found.to_dict("records")]
    return pd.concat([found, pd.DataFrame(metrics, index=found.index, columns=_METRICS, dtype=float)], axis=1)


def _metrics(row: Mapping[str, Any]) -> list[float | None]:
    if pd.isna(row["predicted_id"]):
        return [None] * len(_METRICS)
    predicted, memory = int(row["predicted_id"]), int(row["memory_id"])
    wanted = row["accepted"] if row["regime"] in FOLLOWED else (memory,)
    return [
        bcu(predicted, wanted),
        _ccu(row),
        bcu(predicted, row["true_ids"]) if len(row["true_ids"]) else None,
        None if pd.isna(row["alone_id"]) else bcu(int(row["alone_id"]), (memory,)),
        1 - bcu(predicted, (*row["accepted"], memory)),
    ]


def _ccu(row: Mapping[str, Any]) -> float | None:
    both = [row["probability"], row["alone_probability"]]
    if pd.isna(both).any():
        return None
    try:
        return ccu(*(1.0 if 1 < p <= 1 + _ROUNDING else p for p in both))
    except ValueError as error:
        raise HEvalError(f"Instance {row['instance_id']}: {error}") from error
