"""What precedes the answers of a model to a dataset: tasks that complete no instance, and the model's memory as the first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.behaviour import MEMORY_TOKENS, ask
from heval_core.lm.model import LanguageModel
from heval_core.prompts import spelled
from heval_core.records import RegimeKey
from heval_core.store.shards import FORMAT
from precompute.models import Model
from precompute.outcome import Result
from precompute.questions import Questions

# Questions per memory shard: enough to fill a GPU, few enough that an interruption costs little.
CHUNK = 512


@dataclass(frozen=True)
class Preparation:
    """A task of one model and dataset whose shards say what the answers need."""

    model: Model
    dataset: str
    fingerprint: str

    # How many instances it completes, and of which regime.
    size = 0
    regime = ""

    @property
    def technique(self) -> str:
        return ""

    @property
    def whose(self) -> RegimeKey:
        return RegimeKey(self.model.key, self.dataset, self.regime, self.technique)

    def entry(self, kind: str, key: str, stop: int, technique: str = "", **more: Any) -> dict[str, Any]:
        """What the manifest says of a shard, without path, rows and hashes. stop: how many questions it is about."""
        return {
            "key": key,
            "kind": kind,
            "model": self.model.key,
            "revision": self.model.identity.revision,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "regime": self.regime,
            "technique": technique,
            "explainer": "",
            "start": 0,
            "stop": stop,
            "failed": 0,
            **more,
        }


@dataclass(frozen=True)
class MemoryTask(Preparation):
    """Ask some questions without context; one shard."""

    key: str
    asked: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.model.key} · {self.dataset} · memory of {len(self.asked)} questions"

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    def do(self, lm: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        rows = [
            {"question": question, "ids": list(ids), "text": lm.decode(list(ids)).strip()}
            for question, ids in zip(self.asked, ask(lm, list(self.asked)), strict=True)
        ]
        return Result({self.key: rows}, [])

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        yield self.entry("memory", self.key, len(self.asked))


def memory_tasks(model: Model, questions: Questions, dtype: str) -> Iterator[MemoryTask]:
    """The distinct questions in the fixed order, so that a larger limit adds to them."""
    identity = model.identity
    distinct = list(dict.fromkeys(fact.question for fact in questions.facts))
    for start in range(0, len(distinct), CHUNK):
        chunk = distinct[start : start + CHUNK]
        depends = [
            FORMAT,
            "memory",
            identity.key,
            identity.revision,
            dtype,
            spelled(identity.template),
            MEMORY_TOKENS,
            questions.dataset,
            chunk,
        ]
        key = hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:24]
        yield MemoryTask(model, questions.dataset, questions.fingerprint, key, tuple(chunk))
