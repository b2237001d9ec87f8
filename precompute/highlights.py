"""The tasks of one model and one dataset, by stage, and what a run notes about them.

Stages: the model's memory answers; the settings of techniques that need one; then answers with documents, and the explainers;
in a regime with more questions than its cap the explainers come after that, on a sample that depends on the groups of the
answers. Then explainers are compared with themselves under shuffled weights, and at last timed by themselves.
"""

import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from heval_core.datasets._quoted import PEOPLE
from heval_core.explaining.sources import RULES
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import spelled
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE
from heval_core.regimes import sample
from heval_core.store.kinds import ANSWER, ATTRIBUTION, BEHAVIOUR, CONTEXT_ATTRIBUTION, INSTANCE, SAMPLE, SOURCE
from heval_core.store.shards import FORMAT, Shard, ShardStore
from heval_core.techniques.shared.base import Setting
from precompute import journal
from precompute.bounds import bounds_tasks
from precompute.compute import JobTask
from precompute.memory import AskingTask, Memories, memory_tasks
from precompute.origins import note_origins
from precompute.pair import Pair
from precompute.quoted import QuotedTask, quoted_tasks
from precompute.randomised import randomised_tasks
from precompute.searches import search_tasks, setting_in
from precompute.task import MEASURED, Task, unfinished
from precompute.techniques import PLAIN, TEST, Arrangement, Chosen, arrangements, split_of
from precompute.timing import timing_tasks

INSTANCES = INSTANCE.name


def job_tasks(
    pair: Pair, regime: str, indices: Sequence[int], kinds: Collection[str], arrangement: Arrangement = PLAIN
) -> Iterator[JobTask]:
    """Yield the jobs of one regime over some of the questions, in order. The grid's shard size must be a number.

    kinds: `instance`, and keys of explainers; head attention comes with the latter.
    """
    for chunk in pair.chunks(indices):
        shards = tuple(_shards(pair, regime, chunk, kinds, arrangement))
        yield JobTask(pair.model, shards, pair.grid, chunk, shards, arrangement)


def _common(pair: Pair, regime: str, indices: tuple[int, ...]) -> dict[str, Any]:
    identity, questions, names = pair.model.identity, pair.questions, pair.names_of(regime)
    return {
        "format": FORMAT,
        "model": identity.key,
        "revision": identity.revision,
        "dtype": pair.dtype,
        "style": identity.style,
        "template": spelled(identity.template),
        "dataset": questions.dataset,
        "fingerprint": questions.fingerprint,
        "regime": regime,
        "memory": pair.grid.memory,
        "match": pair.grid.match,
        "seed": pair.grid.seed,
        "facts": [questions.facts[index].id for index in indices],
        "places": indices,
    } | ({"aliases": names} if names else {})


def _shards(
    pair: Pair, regime: str, indices: tuple[int, ...], kinds: Collection[str], arrangement: Arrangement
) -> Iterator[Shard]:
    """Yield the shards. The main technique's answers come first; its answers are explained."""
    grid, main = pair.grid, arrangement.main
    common = _common(pair, regime, indices)

    def shard(kind: str, what: str, chosen: Chosen = main, explainer: str = "") -> Shard:
        depends = common | {"technique": chosen.key, "what": what} | chosen.keyed
        where = {"start": indices[0], "stop": indices[-1] + 1, "settings": chosen.within(pair.settings)}
        return pair.shard(kind, depends, regime=regime, technique=chosen.key, explainer=explainer, **where)

    behaves = arrangement.compared and regime in CONTEXT_KINDS
    for chosen in arrangement.all if INSTANCES in kinds else ():
        for kind in (INSTANCES, BEHAVIOUR.name) if behaves else (INSTANCES,):
            yield shard(kind, kind, chosen)
    explained = {key: pair.identity_of(catalogue.find("explainer", key)) for key in grid.explainers if key in kinds}
    if not explained:
        return
    for key, what in explained.items():
        yield shard(ATTRIBUTION.name, what, explainer=key)
    for key, what in explained.items() if grid.target == "context" else ():
        yield shard(CONTEXT_ATTRIBUTION.name, f"context {what}", explainer=key)
    controls = {key: pair.identity_of(control) for key, control in catalogue.explainers(control=True).items()}
    for kind, before in grid.measured.items():
        for key, what in (explained | controls).items() if before is None or indices[0] < before else ():
            first = "" if before is None else f" first {before}"
            yield shard(kind, f"{what} {MEASURED[kind]!r}{first}", explainer=key)
    beside = {
        ANSWER.name: (
            f"answer {[*explained.values()]}, all questions",
            grid.answers and regime in FOLLOWED and main.key == TECHNIQUE,
        ),
        "head_attention": (f"heads {grid.keep_heads}", indices[0] < grid.keep_heads),
        "head_need": ("need of heads", grid.head_need),
        SOURCE.name: (RULES, grid.sources),
    }
    yield from (shard(kind, what) for kind, (what, wanted) in beside.items() if wanted)


class Highlights:
    """What is left to do for a pair, as far as it is known."""

    def __init__(self, pair: Pair, store: ShardStore):
        self.pair, self.store, self.questions = pair, store, pair.questions
        self.searches, self.timings = search_tasks(pair), timing_tasks(pair)
        self.closer = [*randomised_tasks(pair), *bounds_tasks(pair)]

    def tasks(self) -> list[Task]:
        """List all tasks that are known now and complete an instance."""
        return [*self.jobs(), *self.closer, *self.timings]

    def planned(self) -> list[Task]:
        """List these and the answers that follow from searches, as if each found a setting and every technique applied."""
        return [
            *self.jobs(settings=self._settings() | dict.fromkeys(self.unsearched(), Setting())),
            *self.closer,
            *self.timings,
        ]

    def unsearched(self) -> frozenset[str]:
        """Return the techniques whose search is to be done."""
        return frozenset(shard.technique for task in unfinished(self.searches, self.store) for shard in task.shards)

    def shards(self) -> Iterator[Shard]:
        """List the shards of these tasks."""
        return (shard for task in self.tasks() for shard in task.shards)

    def ready(self, tried: Collection[str]) -> Sequence[Task]:
        """Return the first stage that is not done, without what was tried; nothing where memory could not be made."""
        stages = (lambda: self.searches, lambda: self.jobs(choose=True), lambda: self.closer, lambda: self.timings)
        tasks = next((left for stage in stages if (left := unfinished(stage(), self.store, tried))), [])
        asking = any(isinstance(task, AskingTask) for task in tasks)
        memory = unfinished(memory_tasks(self.pair), self.store) if asking else []
        return unfinished(memory, self.store, tried) if memory else tasks

    def jobs(self, choose: bool = False, settings: Mapping[str, Setting] | None = None) -> Iterator[JobTask | QuotedTask]:
        """Yield the jobs that are known now: all of them, unless a regime has more questions than its cap.

        In such a regime the groups of the answers decide which instances are explained; until all answers are there, only the
        jobs that answer are known. choose: write down the sample, for publishing. settings: of techniques; by default those
        that are found.
        """
        if PEOPLE in self.pair.grid.regimes:  # answers that people wrote are read, and not asked for
            yield from quoted_tasks(self.pair)
            return
        for arrangement in arrangements(self.pair.grid.techniques, self._settings() if settings is None else settings):
            for regime in self.pair.grid.regimes:
                yield from self._in(regime, arrangement, choose)

    def _in(self, regime: str, arrangement: Arrangement, choose: bool) -> Iterator[JobTask]:
        explainers, cap, indices = self.pair.grid.explainers, self.pair.cap, [*range(len(self.questions.facts))]
        if arrangement.main.key != TECHNIQUE:  # one with passes of its own is asked test questions only
            indices = [index for index in indices if split_of(self.questions.facts[index].question) == TEST]
        if cap is None or len(indices) <= cap or not explainers:
            yield from job_tasks(self.pair, regime, indices, (INSTANCES, *explainers), arrangement)
            return
        answering = list(job_tasks(self.pair, regime, indices, (INSTANCES,), arrangement))
        yield from answering
        entries = self.store.entries()
        if all(job.shards[0].key in entries for job in answering):
            yield from job_tasks(self.pair, regime, self._sampled(cap, answering, choose), explainers, arrangement)

    def _settings(self) -> dict[str, Setting]:
        """Return the settings that searches have chosen, by technique; one that is unavailable has none."""
        entries, settings = self.store.entries(), dict[str, Setting]()
        for shard in (shard for task in self.searches for shard in task.shards):
            if shard.key in entries and self.store.intact(entries[shard.key]):
                setting = setting_in(self.store.read(entries[shard.key]).to_pylist())
                settings |= {} if setting is None else {shard.technique: setting}
        return settings

    def _sampled(self, cap: int, answering: list[JobTask], choose: bool) -> list[int]:
        """Sample the instances to explain, by the groups of a regime's answers. Returns their indices."""
        entries, groups = self.store.entries(), dict[int, str]()
        for job in answering:
            for row in self.store.read(entries[job.shards[0].key], ["place", "group", "dropped_because"]).to_pylist():
                if row["dropped_because"] is None:
                    groups[row["place"]] = row["group"]
        answered = sorted(groups)
        chosen = [answered[index] for index in sample([groups[index] for index in answered], cap)]
        depends = "|".join([f"sample {cap}", *(job.shards[0].key for job in answering)])
        key = hashlib.sha256(depends.encode()).hexdigest()[:24]
        if choose and len(chosen) < len(answered) and key not in entries:
            first, last = answering[0].shards[0], answering[-1].shards[0]
            shard = dataclasses.replace(first, kind=SAMPLE.name, key=key, start=0, stop=last.stop)
            facts = [{"fact_id": self.questions.facts[index].id} for index in chosen]
            self.store.write(shard, facts)
        return chosen

    def equipped(self, task: Task) -> Task:
        """Give a task what it needs of the store: the model's memory of its questions, and scores that are to be measured."""
        if not isinstance(task, AskingTask):
            return task
        memories = self._memories.only({self.questions.facts[index].question for index in task.indices})
        if not isinstance(task, JobTask) or not any(shard.kind in MEASURED for shard in task.shards):
            return dataclasses.replace(task, memories=memories)
        entries = self.store.entries()
        scored = [shard.key for shard in task.every if shard.kind == ATTRIBUTION.name and shard.key not in task.keys]
        return dataclasses.replace(
            task, memories=memories, stored={key: self.store.read(entries[key]).to_pylist() for key in scored}
        )

    @cached_property
    def _memories(self) -> Memories:
        entries = self.store.entries()
        rows = (row for task in memory_tasks(self.pair) for row in self.store.read(entries[task.keys[0]]).to_pylist())
        return Memories({row["question"]: tuple(row["ids"]) for row in rows}, self.pair.grid.memory)

    def note(self, noted: set[str]) -> int:
        """Note what a run has to know before it begins.

        noted: the datasets that are. Returns how many records were malformed.
        """
        note_origins(self.store, self.pair.origins)
        journal.note_training(self.store, self.pair.model.identity, self.questions)
        journal.note_state(self.store, self.pair, PLAIN.main)
        if self.questions.dataset in noted:
            return 0
        noted.add(self.questions.dataset)
        return journal.note_dataset(self.store, self.questions)

    def note_end(self) -> None:
        """Note which settings stand, now that all searches are done: of a technique with two, publishing takes the newest."""
        for arrangement in arrangements(self.pair.grid.techniques, self._settings()):
            for chosen in arrangement.all:
                journal.note_state(self.store, self.pair, chosen)
