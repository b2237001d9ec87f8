"""The tasks of one model and one dataset: which can begin now, and which must wait for others.

Stages: the model's memory answers; the settings of techniques that need one; then answers with documents, and the explainers;
in a regime with more questions than its cap the explainers come after that, on a sample that depends on the groups of the
answers. When nothing else is left, explainers are timed by themselves.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from heval_core.lm.loading import Identity
from heval_core.records import TECHNIQUE, RegimeKey
from heval_core.regimes import sample
from heval_core.store.kinds import ATTRIBUTION, SAMPLE
from heval_core.store.shards import Entry, ShardStore
from heval_core.techniques.shared.development import Setting
from precompute.grid import INSTANCES, Grid, Job, Shard, cap_of, jobs_of, missing
from precompute.measured_kinds import MEASURED
from precompute.memories import Memories
from precompute.models import Model
from precompute.preparation import MemoryTask, memory_tasks
from precompute.questions import Questions
from precompute.search_task import SearchTask, search_tasks, setting_in, unfinished
from precompute.tasks import JobTask, Task
from precompute.techniques import TEST, Arrangement, Chosen, arrangements, split_of
from precompute.timing import TimingTask, timing_tasks, untimed


def known_jobs(
    grid: Grid, model: Identity, questions: Questions, dtype: str, store: ShardStore, choose: bool = False
) -> Iterator[Job]:
    """The jobs that are known now: all of them, unless a regime has more questions than its cap.

    In such a regime the groups of the answers decide which instances are explained; until all answers are there, only the
    jobs that answer are known. choose: write down the sample, for publishing.
    """
    found = settings_found(grid, model, questions, dtype, store)
    for arrangement in arrangements(grid.techniques, found):
        for regime in grid.regimes:
            yield from _known_in(grid, model, questions, dtype, regime, store, arrangement, choose)


def _known_in(
    grid: Grid,
    model: Identity,
    questions: Questions,
    dtype: str,
    regime: str,
    store: ShardStore,
    arrangement: Arrangement,
    choose: bool,
) -> Iterator[Job]:
    """The known jobs of one regime under one arrangement."""
    everything, places = (INSTANCES, *grid.explainers), _places(questions, arrangement)
    cap, entries = cap_of(grid, questions), store.entries()
    if cap is None or len(places) <= cap or not grid.explainers:
        yield from jobs_of(grid, model, questions, dtype, regime, places, everything, arrangement)
        return
    answering = list(jobs_of(grid, model, questions, dtype, regime, places, (INSTANCES,), arrangement))
    yield from answering
    if all(job.shards[0].key in entries for job in answering):
        chosen = _sampled(cap, answering, entries, questions, store, choose)
        yield from jobs_of(grid, model, questions, dtype, regime, chosen, grid.explainers, arrangement)


def _places(questions: Questions, arrangement: Arrangement) -> Sequence[int]:
    """The questions that are asked: of techniques other than Regular and those that share its passes only test questions."""
    every = range(len(questions.facts))
    if arrangement.main.key == TECHNIQUE:
        return every
    return [place for place in every if split_of(questions.facts[place].question) == TEST]


def settings_found(grid: Grid, model: Identity, questions: Questions, dtype: str, store: ShardStore) -> dict[str, Setting]:
    """The settings that searches have chosen, by technique; one that is unavailable has none."""
    entries, found = store.entries(), dict[str, Setting]()
    searched = (one for task in search_tasks(grid, Model(model.key, model), questions, dtype) for one in task.searched)
    for technique, key in searched:
        if key in entries and store.intact(entries[key]):
            setting = setting_in(store.read(entries[key]).to_pylist())
            found |= {} if setting is None else {technique: setting}
    return found


def _sampled(
    cap: int, answering: list[Job], entries: dict[str, Entry], questions: Questions, store: ShardStore, choose: bool
) -> list[int]:
    """The places of the instances to explain, chosen by the groups of a regime's answers."""
    groups: dict[int, str] = {}
    for job in answering:
        for row in store.read(entries[job.shards[0].key]).select(["place", "group", "dropped_because"]).to_pylist():
            if row["dropped_because"] is None:
                groups[row["place"]] = row["group"]
    kept = sorted(groups)
    chosen = [kept[index] for index in sample([groups[place] for place in kept], cap)]
    parts = [f"sample {cap}", *(job.shards[0].key for job in answering)]
    key = hashlib.sha256("|".join(parts).encode()).hexdigest()[:24]
    if choose and len(chosen) < len(kept) and key not in entries:
        entry = answering[0].entry(Shard(SAMPLE.name, "", key, answering[0].shards[0].technique))
        entry |= {"start": 0, "stop": answering[-1].stop}
        store.write(entry, [{"fact_id": questions.facts[place].id} for place in chosen])
    return chosen


def pending(jobs: Iterable[Job], store: ShardStore) -> Iterator[tuple[Job, tuple[Shard, ...]]]:
    """The jobs with missing shards, and these shards."""
    entries = store.entries()
    for job in jobs:
        wanted = missing(job, entries)
        if wanted:
            yield job, wanted


Work = tuple[Job, tuple[Shard, ...]]


class Schedule:
    """waiting: the tasks that can begin now; more follow when the last of the running tasks comes back.

    planned, missing: keys of the shards that are known so far. instances: of the missing jobs.
    """

    def __init__(self, grid: Grid, model: Model, questions: Questions, dtype: str, store: ShardStore):
        self.grid, self.model, self.questions, self.dtype, self.store = grid, model, questions, dtype, store
        self.waiting: deque[MemoryTask | SearchTask | TimingTask | Work] = deque()
        self._memories = Memories({})
        self._begun: set[tuple[str, ...]] = set()
        self._tried: set[str] = set()
        self._abandoned = False
        self.jobs = list(self._known())
        self.timings = timing_tasks(grid, model, questions, dtype)
        self.planned = {shard.key for job in self.jobs for shard in job.shards} | {task.key for task in self.timings}
        work, left = list(pending(self.jobs, store)), untimed(self.timings, store)
        self.missing = {shard.key for _, wanted in work for shard in wanted} | {task.key for task in left}
        self.instances = sum(len(job.places) for job, _ in work) + sum(task.size for task in left)
        if work or left or self._unsearched():
            self.waiting.extend(self._unasked() or self._next())

    def _known(self, choose: bool = False) -> Iterator[Job]:
        return known_jobs(self.grid, self.model.identity, self.questions, self.dtype, self.store, choose)

    def prefers(self, held: frozenset[str]) -> bool:
        return self.model.name in held

    def plans(self) -> Iterator[dict[str, Any]]:
        planned: dict[tuple[str, str], list[str]] = {}
        for job in self.jobs:
            for shard in job.shards:
                planned.setdefault((job.regime, shard.technique), []).append(shard.key)
        for task in self.timings:
            planned.setdefault((task.regime, task.technique), []).append(task.key)
        for (regime, technique), keys in planned.items():
            whose = RegimeKey(self.model.key, self.questions.dataset, regime, technique)
            yield {**whose._asdict(), "keys": keys}

    def begin(self, held: frozenset[str] = frozenset()) -> Task:
        """The next task, which is under way from now on."""
        work = self.waiting.popleft()
        task = self._task(*work) if isinstance(work, tuple) else work
        if isinstance(task, SearchTask | TimingTask):
            asked = {self.questions.facts[place].question for place in task.places}
            task = dataclasses.replace(task, memories=self._remembered().only(asked))
        self._begun.add(task.keys)
        return task

    def ended(self, task: Task) -> None:
        """A task is done and written, or has failed; what depends on it can begin."""
        self._begun.discard(task.keys)
        self._tried.update(task.keys)
        if not self.waiting and not self._begun and not self._abandoned:
            self.waiting.extend(self._next())

    def _next(self) -> Sequence[SearchTask | TimingTask | Work]:
        """What can begin when nothing is under way, once the model's memory is known."""
        return self._unsearched() or self._explaining() or self._untimed()

    def standing(self) -> list[Chosen]:
        """What each technique of the grid runs with, as far as it is known."""
        found = settings_found(self.grid, self.model.identity, self.questions, self.dtype, self.store)
        return [one for part in arrangements(self.grid.techniques, found) for one in part.all]

    def abandon(self, model: str) -> None:
        """Begin nothing more if this is the model, which cannot be loaded."""
        if model == self.model.name:
            self._abandoned = True
            self.waiting.clear()

    def _unasked(self) -> list[MemoryTask]:
        entries = self.store.entries()
        return [
            task
            for task in memory_tasks(self.model, self.questions, self.dtype)
            if not (task.key in entries and self.store.intact(entries[task.key]))
        ]

    def _unsearched(self) -> list[SearchTask]:
        """Searches that are not done; one that has failed is not tried again, and its technique is left out."""
        if self._unasked():
            return []
        tasks = search_tasks(self.grid, self.model, self.questions, self.dtype)
        return unfinished(tasks, self.store, self._tried)

    def _explaining(self) -> list[Work]:
        """The jobs that are not done; none where a memory shard could not be made."""
        if self._unasked():
            return []
        self.jobs = list(self._known(choose=True))
        work = [
            (job, wanted)
            for job, wanted in pending(self.jobs, self.store)
            if not self._tried & {shard.key for shard in wanted}
        ]
        self.planned |= {shard.key for job in self.jobs for shard in job.shards}
        self.missing |= {shard.key for _, wanted in work for shard in wanted}
        if work and not self._memories.continuations:
            self._memories = self._remembered()
        return work

    def _untimed(self) -> list[TimingTask]:
        """Explainers are timed last; where a memory shard could not be made, not at all."""
        return [] if self._unasked() else [task for task in untimed(self.timings, self.store) if task.key not in self._tried]

    def _remembered(self) -> Memories:
        entries, known = self.store.entries(), {}
        for task in memory_tasks(self.model, self.questions, self.dtype):
            for row in self.store.read(entries[task.key]).to_pylist():
                known[row["question"]] = tuple(row["ids"])
        return Memories(known, self.grid.memory)

    def _task(self, job: Job, wanted: tuple[Shard, ...]) -> JobTask:
        asked = {self.questions.facts[place].question for place in job.places}
        stored: dict[str, list[dict[str, Any]]] = {}
        if any(shard.kind in MEASURED for shard in wanted):
            entries, there = self.store.entries(), {shard.key for shard in job.shards} - {s.key for s in wanted}
            for shard in job.shards:
                if shard.kind == ATTRIBUTION.name and shard.key in there:
                    stored[shard.key] = self.store.read(entries[shard.key]).to_pylist()
        return JobTask(self.model, job, wanted, self._memories.only(asked), stored)
