"""What a model answers without context: asked once per question, in batches, stored, and used under every regime."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from heval_core.behaviour import MEMORY_TOKENS, Memory, ask, memory_of
from heval_core.lm.model import LanguageModel
from heval_core.records import Dropped, Fact
from heval_core.store.shards import FORMAT, ShardStore
from precompute.grid import Grid, Questions

# Questions per shard: enough to fill a GPU, few enough that an interruption costs little.
CHUNK = 512


@dataclass(frozen=True)
class Memories:
    """The model's continuations by question; a memory answer also depends on the fact whose true answer may begin one.

    must_be_true: whether a model that remembers something else may not be asked (`--memory true`).
    """

    lm: LanguageModel
    continuations: dict[str, tuple[int, ...]]
    must_be_true: bool = False

    def of(self, fact: Fact) -> Memory:
        """Raises Dropped where the memory answer must be the true one, and is not."""
        memory = memory_of(self.lm, self.continuations[fact.question], fact.answer or None)
        if self.must_be_true and memory.text != fact.answer:
            raise Dropped("memory answer is not true")
        return memory


def remember(grid: Grid, lm: LanguageModel, questions: Questions, dtype: str, store: ShardStore) -> Memories:
    """All continuations that a dataset's questions need: from the store where they are there, else from the model."""
    entries, known, missing = store.entries(), {}, []
    for key, chunk in _chunks(lm, questions, dtype):
        if key in entries and store.intact(entries[key]):
            for row in store.read(entries[key]).to_pylist():
                known[row["question"]] = tuple(row["ids"])
        else:
            missing.append((key, chunk))
    total = sum(len(chunk) for _, chunk in missing)
    quiet = not sys.stderr.isatty()
    with tqdm(total=total, unit="question", desc=f"{lm.key} · {questions.dataset} · memory", disable=quiet) as bar:
        for key, chunk in missing:
            answers = ask(lm, chunk, lambda done: bar.update(done) and None)
            known |= dict(zip(chunk, answers, strict=True))
            rows = [
                {"question": question, "ids": list(ids), "text": lm.decode(list(ids)).strip()}
                for question, ids in zip(chunk, answers, strict=True)
            ]
            store.write(_entry(key, lm, questions, len(rows)), rows)
    if total and quiet:
        print(f"{lm.key} · {questions.dataset} · memory of {total} questions", file=sys.stderr, flush=True)
    return Memories(lm, known, grid.memory == "true")


def _chunks(lm: LanguageModel, questions: Questions, dtype: str) -> Iterator[tuple[str, list[str]]]:
    """(key, questions) of each shard: the distinct questions in the fixed order, so that a larger limit adds to them."""
    distinct = list(dict.fromkeys(fact.question for fact in questions.facts))
    for start in range(0, len(distinct), CHUNK):
        chunk = distinct[start : start + CHUNK]
        depends = [FORMAT, "memory", lm.key, lm.revision, dtype, lm.template, MEMORY_TOKENS, questions.dataset, chunk]
        yield hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:24], chunk


def _entry(key: str, lm: LanguageModel, questions: Questions, count: int) -> dict[str, Any]:
    return {
        "key": key, "kind": "memory", "model": lm.key, "revision": lm.revision, "dataset": questions.dataset,
        "fingerprint": questions.fingerprint, "regime": "", "explainer": "", "start": 0, "stop": count, "failed": 0,
    }  # fmt: skip
