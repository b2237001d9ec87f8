"""One answer under a technique: whether it used its context, and what became of the model's memory.

Formula: BCU and CCU as in `heval_core.techniques.shared.context_use`. Gold and conflicting documents ask for t_C, the others
for t_M. correct: the predicted token is one of the first tokens of the true answer. memory_kept: the technique's next token
without documents is Regular's. neither: the predicted token is neither accepted nor Regular's next token without documents.
Reference: CUB, arXiv 2505.16518; memory_kept and neither are ours.
Departure: correct is undefined for questions whose true answer is not known.
Cost: one pass over the stored rows; no model.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from heval_core.records import CELL, EVERY_REGIME, FOLLOWED, HEvalError
from heval_core.store.kinds import BEHAVIOUR, INSTANCE
from heval_core.store.shards import Entry, ShardRows, ShardStore
from heval_core.store.writer import Writer
from heval_core.techniques.shared.context_use import bcu, ccu

# What softmax may exceed 1 by.
_ROUNDING = 1e-6
_METRICS = ["bcu", "ccu", "correct", "memory_kept", "neither"]
_ASKED = ("place", "fact_id", *CELL, "predicted_id")


def insert(writer: Writer, store: ShardStore, entries: Iterable[Entry]) -> None:
    """Write the rows of `behaviour` of one model, dataset and technique; nothing where techniques were not compared.

    Raises HEvalError, naming the instance, for a probability that is none.
    """
    entries = list(entries)
    stored = ShardRows(store, entries, BEHAVIOUR, BEHAVIOUR.schema.names).rows
    if len(stored):
        instances = ShardRows(store, entries, INSTANCE, _ASKED).rows
        answers = stored.merge(instances.drop(columns=["row", "shard"]), on="instance_id")
        order = answers["regime"].map(EVERY_REGIME.index)
        answers = measured(answers.assign(order=order).sort_values(["order", "place", "instance_id"], ignore_index=True))
        writer.insert_frame("behaviour", answers[writer.columns("behaviour")])


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
    probabilities = [row["probability"], row["alone_probability"]]
    if pd.isna(probabilities).any():
        return None
    try:
        return ccu(*(1.0 if 1 < probability <= 1 + _ROUNDING else probability for probability in probabilities))
    except ValueError as error:
        raise HEvalError(f"Instance {row['instance_id']}: {error}") from error
