"""Tasks, pieces of work that a worker can do by itself; what they cost; and which of their shards are missing.

A task contains everything but the model and the dataset's questions, which the worker has or gets. Doing it twice gives the
same rows; only the driver writes them. A cost is in forward passes, and in tokens that go through the model.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from heval_core.explaining.behaviour import TEXT_TOKENS
from heval_core.explaining.faithfulness import LEVELS, Faithfulness
from heval_core.explaining.whole_answer import WRITTEN as MOST
from heval_core.lm.shared_passes import CLEAN, HEADS, added
from heval_core.plugins import catalogue
from heval_core.records import REPLACEMENTS, TECHNIQUE, Cost, RegimeKey
from heval_core.store.kinds import ANSWER, BEHAVIOUR, EXPLANATION, FAITHFULNESS, FAITHFULNESS_PROTECTED, MEMORY, SOURCE, TRIAL
from heval_core.store.shards import Entry, Shard, ShardStore

ShardRow = dict[str, Any]
# Kinds of shards that later tasks of the same run read: a damaged one is made again.
_READ_AGAIN = (MEMORY.name, TRIAL.name, EXPLANATION.name)
# How each kind of faithfulness is measured. The repr of a value is part of its shards' keys.
MEASURED = {FAITHFULNESS.name: Faithfulness(), FAITHFULNESS_PROTECTED.name: Faithfulness(protect_question=True)}
# How long a question without documents is, in prompts with them.
QUESTION_SHARE = 0.2
# Writing out the answer's text if it decides the group.
WRITTEN = "written answer"


def hashed(depends: Any, length: int = 24) -> str:
    """Hash everything that something depends on, as JSON: its key."""
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:length]


@dataclass(frozen=True)
class Failure:
    """An instance that could not be answered or explained, and why. explainer: or a kind of shard, or empty for all."""

    explainer: str
    place: str
    error: str


@dataclass
class Result:
    """The rows of each shard, by its key, and what failed."""

    rows: dict[str, list[ShardRow]]
    failures: list[Failure]


def named(error: Exception) -> str:
    """Name an error by class and message, as failures are stored."""
    return f"{type(error).__name__}: {error}"[:1000]


def now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat()


@dataclass(frozen=True)
class Task:
    """A piece of work for one worker.

    model: what has to be loaded for it. shards: what it makes.
    """

    model: Any
    shards: tuple[Shard, ...]

    # Whether it completes instances; others find out what these depend on.
    counts = True
    # Whether nothing else may run beside it, since it measures time.
    alone = False

    @property
    def name(self) -> str:
        return " · ".join(part for part in (*self.regime_key, self.what) if part not in ("", TECHNIQUE))

    @property
    def what(self) -> str:
        """The numbers of what it is about, in its fixed order."""
        return f"{self.shards[0].start}-{self.shards[0].stop}"

    @property
    def regime_key(self) -> RegimeKey:
        return self.shards[0].cell.of_regime

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(shard.key for shard in self.shards)

    def do(self, ready: Any, questions: Any) -> Result:
        """Compute the result. ready: the model."""
        raise NotImplementedError

    def cost(self, tokens: float) -> Cost:
        """Return the cost with prompts of so many tokens."""
        raise NotImplementedError

    def finished(self, result: Result) -> Iterator[tuple[Shard, list[ShardRow], int]]:
        """Yield each shard with its rows, which get the columns that the shard itself has, and how many instances failed."""
        for shard in self.shards:
            cell = {**shard.cell._asdict(), "revision": shard.revision}
            yield shard, [cell | row for row in result.rows[shard.key]], self.failed(shard, result)

    def failed(self, shard: Shard, result: Result) -> int:
        """Count the failures of a shard. An instance that failed before any explainer saw it is missing from every shard."""
        return sum(failure.explainer in ("", shard.explainer or shard.kind) for failure in result.failures)


def rows_like(store: ShardStore, shard: Shard, entries: Iterable[Entry], same: Sequence[str]) -> Iterator[ShardRow]:
    """Yield the rows of those entries that agree with a shard in some columns, which may be of the same things as its own will
    be.

    A damaged entry is left out: what it holds is made again.
    """
    for entry in entries:
        if all(getattr(entry, name) == getattr(shard, name) for name in same) and store.intact(entry):
            yield from store.read(entry).to_pylist()


Some = TypeVar("Some", bound=Task)


def missing_from(store: ShardStore) -> Callable[[Shard], bool]:
    """Return a test of whether a shard is to be made: it is missing, has failures to try again, or is damaged and will be
    read.
    """
    entries = store.entries()

    def is_missing(shard: Shard) -> bool:
        entry = entries.get(shard.key)
        return entry is None or bool(entry.failed) or (entry.kind in _READ_AGAIN and not store.intact(entry))

    return is_missing


def unfinished(tasks: Iterable[Some], store: ShardStore, tried: Collection[str] = ()) -> list[Some]:
    """Select the tasks with shards that are missing, and these shards. tried: keys not to try again."""
    is_missing = missing_from(store)
    left = ((task, tuple(shard for shard in task.shards if shard.key not in tried and is_missing(shard))) for task in tasks)
    return [dataclasses.replace(task, shards=shards) for task, shards in left if shards]


def total(costs: Iterable[tuple[float, Cost]]) -> Cost:
    """Sum the costs of several, each so many times."""
    counted = list(costs)
    return Cost(*(sum(count * getattr(unit_cost, name) for count, unit_cost in counted) for name in ("passes", "tokens")))


def together(kinds: Iterable[str], tokens: float) -> Cost:
    """Return the cost of several, done for one instance in one go: a shared pass counts for the first of them alone."""
    return total((1, unit_cost) for unit_cost in added((cost(kind, tokens) for kind in kinds), tokens))


def cost(what: str, tokens: float) -> Cost:
    """Return the cost of what: a kind of shard, or the key of an explainer, which declares it."""
    length = max(tokens, 1.0)
    # The passes that keep only the best tokens, without replacing the others, are too short to count.
    measured = (2 * len(REPLACEMENTS) - 1) * LEVELS
    costs = {
        WRITTEN: Cost(1 + TEXT_TOKENS / length, (1 + TEXT_TOKENS / length) * tokens),
        # Each token by itself; then without two documents, all, ten sentences, and with 20 other texts.
        ANSWER.name: Cost(MOST + 2 + 33, MOST + (2 + 33 / 2) * tokens),
        BEHAVIOUR.name: Cost(1.0, QUESTION_SHARE * tokens),
        "instance": Cost(2, 2 * tokens, (CLEAN,)),
        "head_attention": Cost(1, tokens, (HEADS,)),
        # One token for each head; the paper's models have about 900.
        "head_need": Cost(1 + 900 / length, 901, (HEADS,)),
        # Of two mentions: each with two answers, both with one, each hidden, from the middle on; and each from one token.
        SOURCE.name: Cost(7 + 2 / length, 7 / 2 * tokens + 2),
        **dict.fromkeys(MEASURED, Cost(measured, measured * tokens)),
    }
    return costs[what] if what in costs else catalogue.method(what).cost(tokens)
