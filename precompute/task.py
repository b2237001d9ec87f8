"""Tasks, pieces of work that a worker can do by itself, and the shards that they make.

A task contains everything but the model and the dataset's questions, which the worker has or gets. Doing it twice gives the
same rows; only the driver writes them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from heval_core.records import TECHNIQUE, Cost, RegimeKey
from heval_core.store.kinds import EXPLANATION, MEMORY, TRIAL
from heval_core.store.shards import Entry, ShardStore

Row = dict[str, Any]
# Kinds of shards that later tasks of the same run read: a damaged one is made again.
_READ_AGAIN = (MEMORY.name, TRIAL.name, EXPLANATION.name)


def hashed(depends: Any, length: int = 24) -> str:
    """The key of something: a hash of everything that it depends on, as JSON."""
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:length]


@dataclass(frozen=True)
class Shard:
    """A file to make: what the manifest says of it, without path, rows and hashes; see `Entry`.

    Of citations model is the writer, technique the selector, and explainer the annotator.
    """

    kind: str
    key: str
    model: str
    revision: str
    dataset: str
    fingerprint: str
    settings: str = ""
    regime: str = ""
    technique: str = ""
    explainer: str = ""
    start: int = 0
    stop: int = 0

    @property
    def whose(self) -> RegimeKey:
        return RegimeKey(self.model, self.dataset, self.regime, self.technique)

    @property
    def named(self) -> str:
        return f"{self.kind} {self.explainer}".strip()


@dataclass(frozen=True)
class Failure:
    """An instance that could not be answered or explained, and why. explainer: empty where no explainer is to blame."""

    explainer: str
    place: str
    error: str


@dataclass
class Result:
    """The rows of each shard, by its key, and what failed."""

    rows: dict[str, list[Row]]
    failures: list[Failure]


def named(error: Exception) -> str:
    """Class and message, as failures are stored."""
    return f"{type(error).__name__}: {error}"[:1000]


def now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat()


@dataclass(frozen=True)
class Task:
    """model: what has to be loaded for it. shards: what it makes."""

    model: Any
    shards: tuple[Shard, ...]

    # How many instances it completes; none where others depend on what it finds out.
    size = 0

    @property
    def name(self) -> str:
        return " · ".join(part for part in (*self.whose, self.what) if part not in ("", TECHNIQUE))

    @property
    def what(self) -> str:
        """What it does, in its name."""
        raise NotImplementedError

    @property
    def whose(self) -> RegimeKey:
        return self.shards[0].whose

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(shard.key for shard in self.shards)

    def do(self, ready: Any, questions: Any, progress: Callable[[], None]) -> Result:
        """ready: the model. progress: to be called after each instance."""
        raise NotImplementedError

    def cost(self, tokens: float) -> Cost:
        """Forward passes, and the tokens that they run, with prompts of so many tokens."""
        raise NotImplementedError

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        """What the manifest says of the shards, without path, rows and hashes."""
        for shard in self.shards:
            yield asdict(shard) | {"failed": self.failed(shard, result)}

    def failed(self, shard: Shard, result: Result) -> int:
        """An instance that failed before any explainer saw it is missing from every shard."""
        return sum(failure.explainer in ("", shard.explainer) for failure in result.failures)


def entries_like(shard: Shard, entries: Iterable[Entry], same: Sequence[str]) -> Iterator[Entry]:
    """Those that agree with a shard in some columns. Their rows may be of the same things as the shard's will be."""
    return (entry for entry in entries if all(getattr(entry, name) == getattr(shard, name) for name in same))


Some = TypeVar("Some", bound=Task)


def missing_from(store: ShardStore) -> Callable[[Shard], bool]:
    """Says of a shard whether it is to be made: it does not exist yet, it has failures to be tried again, or it is damaged
    and will be read."""
    entries = store.entries()

    def is_missing(shard: Shard) -> bool:
        entry = entries.get(shard.key)
        return entry is None or bool(entry.failed) or (entry.kind in _READ_AGAIN and not store.intact(entry))

    return is_missing


def unfinished(tasks: Iterable[Some], store: ShardStore, tried: Collection[str] = ()) -> list[Some]:
    """The tasks with shards that are missing, and these shards. tried: keys not to try again."""
    is_missing = missing_from(store)
    left = ((task, tuple(own for own in task.shards if own.key not in tried and is_missing(own))) for task in tasks)
    return [dataclasses.replace(task, shards=shards) for task, shards in left if shards]
