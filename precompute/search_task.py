"""The search for one technique's setting, as a task that a worker does by itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.lm.loading import Identity
from heval_core.lm.model import LanguageModel
from heval_core.records import CONTEXT_KINDS, HEvalError, NotHere
from heval_core.store.kinds import TRIAL
from heval_core.store.shards import FORMAT, ShardStore
from precompute.grid import Grid, settings_of
from precompute.memories import Memories
from precompute.outcome import Failure, Result, named
from precompute.questions import Questions
from precompute.search import development_of, search, trial_rows, unavailable_row
from precompute.techniques import DEVELOPMENT, is_searched, split_of


@dataclass(frozen=True)
class Model:
    """A task's model. name: as `load` reads it. identity: with the grid's template, if the grid has one."""

    name: str
    identity: Identity

    @property
    def key(self) -> str:
        return self.identity.key


@dataclass(frozen=True)
class SearchTask:
    """Find the setting of one technique for a model and a dataset, on development questions; one shard.

    places: the development questions' numbers. settings: how the model is asked, see `Entry`.
    """

    model: Model
    dataset: str
    fingerprint: str
    settings: str
    technique: str
    kinds: tuple[str, ...]
    places: tuple[int, ...]
    seed: int
    key: str
    memories: Memories = field(default_factory=lambda: Memories({}), repr=False)

    @property
    def name(self) -> str:
        return f"{self.model.key} · {self.dataset} · search for {self.technique}"

    @property
    def size(self) -> int:
        """How many instances it completes: none, it only prepares them."""
        return 0

    @property
    def regime(self) -> str:
        return ""

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    def do(self, lm: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        technique = catalogue.find("technique", self.technique)
        where = {"model": self.model.key, "revision": self.model.identity.revision}
        where |= {"dataset": self.dataset, "technique": self.technique}
        try:
            development = development_of(lm, questions, self.places, self.kinds, self.seed, self.memories)
            rows = trial_rows(where, *search(technique, development))
        except HEvalError as error:
            rows = [unavailable_row(where, str(error))]
            # What is not here now may be there for a later run, which tries a shard with failures again.
            failures = [Failure("", self.name, named(error))] if isinstance(error, NotHere) else []
            return Result({self.key: rows}, failures)
        return Result({self.key: rows}, [])

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        """What the manifest says of each shard, without path, rows and hashes."""
        yield {
            "key": self.key,
            "kind": TRIAL.name,
            "model": self.model.key,
            "revision": self.model.identity.revision,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "settings": self.settings,
            "regime": "",
            "technique": self.technique,
            "explainer": "",
            "start": 0,
            "stop": len(self.places),
            "failed": len(result.failures),
        }

    def is_done(self, store: ShardStore) -> bool:
        """Whether it needs not be made again."""
        entry = store.entries().get(self.key)
        return entry is not None and not entry.failed and store.intact(entry)


def search_tasks(grid: Grid, model: Model, questions: Questions, dtype: str) -> list[SearchTask]:
    """The searches that a grid needs of a model and a dataset."""
    kinds = tuple(kind for kind in CONTEXT_KINDS if kind in grid.regimes)
    places = tuple(place for place, fact in enumerate(questions.facts) if split_of(fact.question) == DEVELOPMENT)
    settings, tasks = settings_of(grid, model.identity, dtype), []
    for key in grid.techniques:
        technique = catalogue.find("technique", key)
        if not is_searched(technique):
            continue
        facts = [questions.facts[place].id for place in places]
        depends = [FORMAT, "search", model.key, model.identity.revision, settings, questions.dataset, questions.fingerprint]
        depends += [repr(technique), kinds, facts, grid.seed]
        depends += [technique.reads()] if technique.reads() else []
        shard_key = hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:24]
        fingerprint = questions.fingerprint
        tasks.append(SearchTask(model, questions.dataset, fingerprint, settings, key, kinds, places, grid.seed, shard_key))
    return tasks
