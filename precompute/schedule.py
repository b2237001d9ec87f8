"""The tasks of one model and one dataset: which can begin now, and which must wait for others.

Stages: the model's memory answers; then its answers with documents, and the explainers; in a regime with more questions than
its cap the explainers come last, on a sample that depends on the groups of the answers.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from heval_core.lm.loading import Identity
from heval_core.regimes import sample
from heval_core.store.kinds import ATTRIBUTION, FAITHFULNESS, SAMPLE
from heval_core.store.shards import Entry, ShardStore
from precompute.grid import INSTANCES, Grid, Job, Shard, cap_of, jobs_of, missing
from precompute.memories import Memories
from precompute.questions import Questions
from precompute.tasks import JobTask, MemoryTask, Model, Task, memory_tasks


def known_jobs(
    grid: Grid, model: Identity, questions: Questions, dtype: str, store: ShardStore, choose: bool = False
) -> Iterator[Job]:
    """The jobs that are known now: all of them, unless a regime has more questions than its cap.

    In such a regime the groups of the answers decide which instances are explained; until all answers are there, only the
    jobs that answer are known. choose: write down the sample, for publishing.
    """
    everything = (INSTANCES, *grid.explainers)
    places, cap = range(len(questions.facts)), cap_of(grid, questions)
    entries = store.entries()
    for regime in grid.regimes:
        if cap is None or len(places) <= cap:
            yield from jobs_of(grid, model, questions, dtype, regime, places, everything)
            continue
        answering = list(jobs_of(grid, model, questions, dtype, regime, places, (INSTANCES,)))
        yield from answering
        if all(job.shards[0].key in entries for job in answering):
            chosen = _sampled(cap, answering, entries, questions, store, choose)
            yield from jobs_of(grid, model, questions, dtype, regime, chosen, grid.explainers)


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
        entry = answering[0].entry(SAMPLE.name, key) | {"start": 0, "stop": answering[-1].stop}
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
        self.waiting: deque[MemoryTask | Work] = deque()
        self._memories = Memories({})
        self._begun: set[tuple[str, ...]] = set()
        self._tried: set[str] = set()
        self._abandoned = False
        self.jobs = list(self._known())
        self.planned = {shard.key for job in self.jobs for shard in job.shards}
        work = list(pending(self.jobs, store))
        self.missing = {shard.key for _, wanted in work for shard in wanted}
        self.instances = sum(len(job.places) for job, _ in work)
        if work:
            self.waiting.extend(self._unasked() or self._explaining())

    def _known(self, choose: bool = False) -> Iterator[Job]:
        return known_jobs(self.grid, self.model.identity, self.questions, self.dtype, self.store, choose)

    def begin(self) -> Task:
        """The next task, which is under way from now on."""
        work = self.waiting.popleft()
        task = work if isinstance(work, MemoryTask) else self._task(*work)
        self._begun.add(task.keys)
        return task

    def ended(self, task: Task) -> None:
        """A task is done and written, or has failed; what depends on it can begin."""
        self._begun.discard(task.keys)
        self._tried.update(task.keys)
        if not self.waiting and not self._begun and not self._abandoned:
            self.waiting.extend(self._explaining())

    def abandon(self) -> None:
        """Begin nothing more, because the model cannot be loaded."""
        self._abandoned = True
        self.waiting.clear()

    def _unasked(self) -> list[MemoryTask]:
        entries = self.store.entries()
        return [
            task
            for task in memory_tasks(self.model, self.questions, self.dtype)
            if not (task.key in entries and self.store.intact(entries[task.key]))
        ]

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

    def _remembered(self) -> Memories:
        entries, known = self.store.entries(), {}
        for task in memory_tasks(self.model, self.questions, self.dtype):
            for row in self.store.read(entries[task.key]).to_pylist():
                known[row["question"]] = tuple(row["ids"])
        return Memories(known, self.grid.memory == "true")

    def _task(self, job: Job, wanted: tuple[Shard, ...]) -> JobTask:
        asked = {self.questions.facts[place].question for place in job.places}
        stored: dict[str, list[dict[str, Any]]] = {}
        if any(shard.kind == FAITHFULNESS.name for shard in wanted):
            entries, there = self.store.entries(), {shard.key for shard in job.shards} - {s.key for s in wanted}
            for shard in job.shards:
                if shard.kind == ATTRIBUTION.name and shard.key in there:
                    stored[shard.key] = self.store.read(entries[shard.key]).to_pylist()
        return JobTask(self.model, job, wanted, self._memories.only(asked), stored)
