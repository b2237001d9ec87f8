"""The search for the settings of a technique and its variants, as a task that a worker does by itself."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.lm.model import LanguageModel
from heval_core.records import CONTEXT_KINDS, HEvalError, NotHere
from heval_core.store.kinds import TRIAL
from heval_core.store.shards import FORMAT, ShardStore
from heval_core.techniques.shared.development import Development, Setting
from precompute.grid import Grid, settings_of
from precompute.memories import Memories
from precompute.models import Model
from precompute.outcome import Failure, Result, named
from precompute.preparation import Preparation
from precompute.questions import Questions
from precompute.search import development_of, search, trial_rows, unavailable_row
from precompute.techniques import DEVELOPMENT, Chosen, is_searched, plain, split_of


@dataclass(frozen=True)
class SearchTask(Preparation):
    """Find the settings of a technique's variants for a model and a dataset, on development questions; a shard for each.

    Variants (ph3 and ph3(mode=memory)) try the same settings, and differ in how they choose: what one has tried, the others do
    not try again. settings: how the model is asked, see `Entry`. searched: each variant with the key of its shard. places: the
    development questions' numbers.
    """

    settings: str
    searched: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...]
    places: tuple[int, ...]
    seed: int
    memories: Memories = field(default_factory=lambda: Memories({}), repr=False)

    @property
    def name(self) -> str:
        return f"{self.model.key} · {self.dataset} · search for {', '.join(technique for technique, _ in self.searched)}"

    @property
    def technique(self) -> str:
        """The first of them."""
        return self.searched[0][0]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for _, key in self.searched)

    def do(self, lm: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        rows: dict[str, list[dict[str, Any]]] = {}
        failures, development = list[Failure](), None
        for technique, key in self.searched:
            where = {"model": self.model.key, "revision": self.model.identity.revision}
            where |= {"dataset": self.dataset, "technique": technique}
            try:
                development = development or self._development(lm, questions)
                rows[key] = trial_rows(where, *search(catalogue.find("technique", technique), development))
            except HEvalError as error:
                rows[key] = [unavailable_row(where, str(error))]
                if isinstance(error, NotHere):
                    # It may be there for a later run, which tries a shard with failures again.
                    failures.append(Failure("", self.name, named(error)))
        return Result(rows, failures)

    def _development(self, lm: LanguageModel, questions: Questions) -> Development:
        return development_of(lm, questions, self.places, self.kinds, self.seed, self.memories)

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        for technique, key in self.searched:
            found = setting_in(result.rows.get(key, []))
            settings = Chosen(technique, found).within(self.settings) if found else self.settings
            failed = len(result.failures)
            yield self.entry(TRIAL.name, key, len(self.places), technique, settings=settings, failed=failed)


def setting_in(rows: Sequence[dict[str, Any]]) -> Setting | None:
    """What a search has chosen. rows: of its shard. None where the technique is unavailable."""
    chosen = [row for row in rows if row["chosen"]]
    weights = next((row["weights"] for row in chosen if row["weights"]), b"")
    return Setting(chosen[0]["setting"], weights) if chosen else None


def search_tasks(grid: Grid, model: Model, questions: Questions, dtype: str) -> list[SearchTask]:
    """The searches that a grid needs of a model and a dataset, one for all variants of a technique."""
    kinds = tuple(kind for kind in CONTEXT_KINDS if kind in grid.regimes)
    places = tuple(place for place, fact in enumerate(questions.facts) if split_of(fact.question) == DEVELOPMENT)
    facts = [questions.facts[place].id for place in places]
    settings = settings_of(grid, model.identity, dtype)
    variants: dict[str, list[tuple[str, str]]] = {}
    for key in grid.techniques:
        technique = catalogue.find("technique", key)
        if not is_searched(technique):
            continue
        depends = [FORMAT, "search", model.key, model.identity.revision, settings, questions.dataset, questions.fingerprint]
        depends += [repr(technique), kinds, facts, grid.seed]
        depends += [technique.reads()] if technique.reads() else []
        shard_key = hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:24]
        # Each adapter is trained by itself.
        together = key if technique.preparation == "trained" else plain(key)
        variants.setdefault(together, []).append((key, shard_key))
    common = model, questions.dataset, questions.fingerprint, settings
    return [SearchTask(*common, tuple(searched), kinds, places, grid.seed) for searched in variants.values()]


def unfinished(tasks: Iterable[SearchTask], store: ShardStore, tried: Collection[str] = ()) -> list[SearchTask]:
    """What is left of searches: variants whose shard is missing, damaged or has failures. tried: keys not to try again."""
    entries = store.entries()

    def is_left(key: str) -> bool:
        entry = entries.get(key)
        return key not in tried and (entry is None or bool(entry.failed) or not store.intact(entry))

    left = ((task, tuple(one for one in task.searched if is_left(one[1]))) for task in tasks)
    return [dataclasses.replace(task, searched=searched) for task, searched in left if searched]
