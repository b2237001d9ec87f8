"""What is planned and run, a grid or the study of citations, in parts; and which tasks of a part can begin now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heval_core.citations.speaker import FILE as ANSWERS
from heval_core.records import RegimeKey
from heval_core.store.shards import ShardStore
from precompute.citations.chunks import Citations, citations_of
from precompute.citations.study import Study
from precompute.grid import Grid
from precompute.highlights import Highlights
from precompute.pair import Problems, pairs, with_fits
from precompute.task import Shard, Task, missing_from
from precompute.worker import Loading

Asked = Grid | Study
# Tasks that belong together: of a model and a dataset, or of all citations.
Part = Highlights | Citations


class Schedule:
    """waiting: the tasks that can begin now; more follow when the last one of a model has ended.

    planned: the shards that are known so far, by key; missing: the keys of those that are to be made. instances: of the tasks
    that have waited.
    """

    def __init__(self, part: Part, store: ShardStore):
        self.part, self._store = part, store
        self.waiting: list[Task] = []
        self.planned: dict[str, Shard] = {}
        self.missing: set[str] = set()
        self.instances = 0
        # Keys of tasks that wait or are under way, and of those that have ended.
        self._begun, self._tried = set[str](), set[str]()
        self._unloadable = set[str]()
        self._look()

    def _look(self) -> None:
        """Take what can begin, and what is known of the rest."""
        able = (task for task in self.part.ready(self._tried) if task.model.name not in self._unloadable)
        added = [task for task in able if not self._begun & set(task.keys)]
        self.waiting += added
        self._begun.update(key for task in added for key in task.keys)
        self.instances += sum(task.size for task in added)
        is_missing = missing_from(self._store)
        known = [shard for shard in self.part.shards() if shard.key not in self.planned]
        self.planned |= {shard.key: shard for shard in known}
        self.missing |= {shard.key for shard in known if is_missing(shard)}
        self.missing |= {key for task in added if task.size for key in task.keys}

    def prefers(self, held: frozenset[str]) -> bool:
        """Whether something that waits needs one of the models that are loaded."""
        return any(task.model.name in held for task in self.waiting)

    def begin(self, held: frozenset[str]) -> Task:
        """The next task, which is under way from now on. held: the models that free workers hold."""
        chosen = next((task for task in self.waiting if task.model.name in held), self.waiting[0])
        self.waiting.remove(chosen)
        return self.part.equipped(chosen)

    def ended(self, task: Task) -> None:
        """A task is done and written, or has failed; what depends on it can begin."""
        self._begun.difference_update(task.keys)
        self._tried.update(task.keys)
        if not any(other.model.name == task.model.name for other in self.waiting):
            self._look()

    def abandon(self, model: str) -> None:
        """Begin nothing more that needs a model which cannot be loaded."""
        self._unloadable.add(model)
        self.waiting = [task for task in self.waiting if task.model.name != model]

    def plans(self) -> Iterator[dict[str, Any]]:
        """What is planned, for the events that `status` reads: model, dataset, regime, technique and keys."""
        planned: dict[RegimeKey, list[str]] = defaultdict(list)
        for shard in self.planned.values():
            planned[shard.whose].append(shard.key)
        for whose, keys in planned.items():
            yield {**whose._asdict(), "keys": keys}


def parts_of(asked: Asked, store: ShardStore, problems: Problems) -> Iterator[Part]:
    """What is planned together. problems: is told what cannot be read or had."""
    if isinstance(asked, Study):
        yield from citations_of(asked, store, problems)
    else:
        yield from (Highlights(pair, store) for pair in pairs(asked, store, problems))


def with_stored(asked: Asked, folder: Path) -> Asked:
    """With the fits that a store has for explainers with parameters. Raises HEvalError for a damaged one."""
    return with_fits(asked, folder) if isinstance(asked, Grid) else asked


def loading_of(asked: Asked, store: ShardStore) -> Loading:
    how = asked.device, asked.dtype, asked.batch_tokens
    if isinstance(asked, Study):
        return Loading(*how, answers=store.folder / ANSWERS)
    return Loading(*how, own=asked.own, fits=asked.fits)
