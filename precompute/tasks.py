"""Tasks: pieces of work that a worker can do by itself. A task is frozen and picklable, and its result is rows of shards.

A task contains everything but the model and the dataset's questions, which the worker has or gets. Doing it twice gives the
same rows; only the driver writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heval_core.lm.model import LanguageModel
from heval_core.records import RegimeKey
from precompute.citations.explaining import ExplainTask
from precompute.citations.recovering import RecoverTask
from precompute.compute import compute
from precompute.grid import Job, Shard
from precompute.memories import Memories
from precompute.models import Model
from precompute.outcome import Result
from precompute.preparation import MemoryTask
from precompute.questions import Questions
from precompute.search_task import SearchTask
from precompute.timing import TimingTask


@dataclass(frozen=True)
class JobTask:
    """Make the missing shards of a job.

    memories: of the job's questions. stored: rows of the job's existing attributions, by shard key, whose scores
    faithfulness needs.
    """

    model: Model
    job: Job
    wanted: tuple[Shard, ...]
    memories: Memories
    stored: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def dataset(self) -> str:
        return self.job.dataset

    @property
    def regime(self) -> str:
        return self.job.regime

    @property
    def technique(self) -> str:
        return self.job.arrangement.main.key

    @property
    def whose(self) -> RegimeKey:
        return RegimeKey(self.model.key, self.dataset, self.regime, self.technique)

    @property
    def size(self) -> int:
        return len(self.job.places)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(shard.key for shard in self.wanted)

    def do(self, lm: LanguageModel, questions: Questions, progress: Callable[[], None]) -> Result:
        return compute(lm, self.job, self.wanted, questions, self.memories, progress, self.stored)

    def entries(self, result: Result) -> Iterator[dict[str, Any]]:
        for shard in self.wanted:
            # An instance that failed before any explainer saw it is missing from every shard of the job.
            failed = sum(failure.explainer in ("", shard.explainer) for failure in result.failures)
            yield self.job.entry(shard, failed)


Task = MemoryTask | SearchTask | JobTask | TimingTask | ExplainTask | RecoverTask
