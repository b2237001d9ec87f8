"""The search for the settings of a technique and its variants, as a task that a worker does by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heval_core import catalogue
from heval_core.lm.model import LanguageModel
from heval_core.records import CONTEXT_KINDS, HEvalError, NotHere
from heval_core.store.kinds import TRIAL
from heval_core.store.shards import FORMAT
from heval_core.techniques.shared.development import Setting
from precompute.memories import Memories
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.search import development_of, search, trial_rows, unavailable_row
from precompute.task import Failure, Result, Row, Shard, Task, hashed, named
from precompute.techniques import DEVELOPMENT, Chosen, is_searched, plain, split_of


@dataclass(frozen=True)
class SearchTask(Task):
    """Find the settings of a technique's variants for a model and a dataset, on development questions; a shard for each.

    Variants (ph3 and ph3(mode=memory)) try the same settings, and differ in how they choose: what one has tried, the others do
    not try again. places: the development questions' numbers.
    """

    kinds: tuple[str, ...]
    places: tuple[int, ...]
    seed: int
    memories: Memories = field(default_factory=lambda: Memories({}), repr=False)

    @property
    def name(self) -> str:
        return f"{' · '.join(self.whose[:2])} · search for {', '.join(shard.technique for shard in self.shards)}"

    def do(self, ready: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        rows: dict[str, list[Row]] = {}
        failures, development = list[Failure](), None
        for shard in self.shards:
            where = {name: getattr(shard, name) for name in ("model", "revision", "dataset", "technique")}
            try:
                asked = self.places, self.kinds, self.seed, self.memories
                development = development or development_of(ready, questions, *asked)
                rows[shard.key] = trial_rows(where, *search(catalogue.find("technique", shard.technique), development))
            except HEvalError as error:
                rows[shard.key] = [unavailable_row(where, str(error))]
                if isinstance(error, NotHere):
                    # It may be there for a later run, which tries a shard with failures again.
                    failures.append(Failure("", self.name, named(error)))
        return Result(rows, failures)

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        """Settings are those that were found, too."""
        for entry in super().entries(result):
            found = setting_in(result.rows.get(entry["key"], []))
            yield entry | ({"settings": Chosen(entry["technique"], found).within(entry["settings"])} if found else {})


def setting_in(rows: Sequence[Row]) -> Setting | None:
    """What a search has chosen. rows: of its shard. None where the technique is unavailable."""
    chosen = [row for row in rows if row["chosen"]]
    weights = next((row["weights"] for row in chosen if row["weights"]), b"")
    return Setting(chosen[0]["setting"], weights) if chosen else None


def search_tasks(pair: Pair) -> list[SearchTask]:
    """The searches that a grid needs of a model and a dataset, one for all variants of a technique."""
    model, questions = pair.model.identity, pair.questions
    kinds = tuple(kind for kind in CONTEXT_KINDS if kind in pair.grid.regimes)
    places = tuple(place for place, fact in enumerate(questions.facts) if split_of(fact.question) == DEVELOPMENT)
    facts = [questions.facts[place].id for place in places]
    whose = [FORMAT, "search", model.key, model.revision, pair.settings, questions.dataset, questions.fingerprint]
    variants: dict[str, list[Shard]] = {}
    for key in pair.grid.techniques:
        technique = catalogue.find("technique", key)
        if is_searched(technique):
            reads = [technique.reads()] if technique.reads() else []
            depends = hashed([*whose, repr(technique), kinds, facts, pair.grid.seed, *reads])
            shard = pair.shard(TRIAL.name, depends, settings=pair.settings, technique=key, stop=len(places))
            # Each adapter is trained by itself.
            variants.setdefault(key if technique.preparation == "trained" else plain(key), []).append(shard)
    return [SearchTask(pair.model, tuple(shards), kinds, places, pair.grid.seed) for shards in variants.values()]
