"""A store of the size of half the paper's grid, made in minutes from stored scores: what publishing and pages are timed on.

The demo models' instances of the six regimes stand in it again and again, each time with other ids, questions and scores: the
values of a tenth of the tokens are exchanged. Nothing in it is a result.
"""

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from heval_core.folders import BUNDLED
from heval_core.records import REGIMES, TECHNIQUE
from heval_core.store.kinds import ATTRIBUTION, INSTANCE
from heval_core.store.shards import Entry, Shard, ShardStore
from precompute.task import hashed

EXPLAINERS = ("fa", "ig", "attn", "mechlight")
DATA, BESIDE = "world_capital", "country_profiles"
MOVED = 10  # one token of so many
# 3 models x 2 datasets x 6 regimes x 12 x 212 questions.
COPIES = 12


def make(folder: Path, copies: int = COPIES) -> int:
    """Write the store. Returns the number of its instances."""
    source, store, instances = ShardStore(BUNDLED["demo"][1]), ShardStore(folder), 0
    store.create()
    for kind in ("model", "dataset", "plugin"):
        store.note(kind, *(source.journal(kind)))
    entries = [entry for entry in source.entries().values() if _is_usual(entry)]
    draws = np.random.default_rng(0)
    for entry in entries:
        rows = source.read(entry).to_pylist()
        for dataset in (DATA, BESIDE):
            for copy in range(copies):
                store.write(*_again(entry, rows, dataset, copy, draws))
                instances += len(rows) * (entry.kind == INSTANCE.name)
    return instances


def _is_usual(entry: Entry) -> bool:
    of_grid = entry.dataset == DATA and entry.regime in REGIMES and entry.technique == TECHNIQUE
    explained = entry.kind == ATTRIBUTION.name and entry.explainer in EXPLAINERS
    return (
        of_grid and (explained or entry.kind == INSTANCE.name) and entry.model in ("demo-gpt2", "demo-gpt_neox", "demo-qwen2")
    )


def _again(
    entry: Entry, rows: list[dict[str, Any]], dataset: str, copy: int, draws: np.random.Generator
) -> tuple[Shard, list[dict[str, Any]]]:
    """Return a shard that holds other instances of the same kind."""
    far = 1000 * copy
    known = {field.name: getattr(entry, field.name) for field in dataclasses.fields(Shard)}
    moved = {"dataset": dataset, "start": entry.start + far, "stop": entry.stop + far}
    shard = Shard(**known | moved | {"key": hashed([entry.key, dataset, copy])})
    return shard, [*_other(rows, dataset, copy, far, draws)]


def _other(
    rows: list[dict[str, Any]], dataset: str, copy: int, far: int, draws: np.random.Generator
) -> Iterator[dict[str, Any]]:
    for row in rows:
        number = hashlib.sha256(f"{row['instance_id']}|{dataset}|{copy}".encode()).hexdigest()[:16]
        new = row | {"instance_id": number, "dataset": dataset}
        if "fact_id" in row:
            new |= {"fact_id": f"{row['fact_id']} {copy}", "place": row["place"] + far, "subject": f"{row['subject']} {copy}"}
        if row.get("scores"):
            new["scores"] = _moved(np.array(row["scores"], dtype=np.float32), draws).tolist()
        yield new


def _moved(scores: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """Exchange the scores of a tenth of the tokens."""
    chosen = draws.choice(len(scores), max(2, len(scores) // MOVED), replace=False)
    scores[chosen] = scores[np.roll(chosen, 1)]
    return scores
