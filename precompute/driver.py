"""What the runs of all studies have in common: the driver, which hands out tasks and writes what comes back.

Only the driver writes: it hands tasks to an executor, and writes and lists their shards as they come back. So a dead worker, a
killed run or a full disk costs the tasks that were running, and nothing that was finished.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from heval_core.records import TECHNIQUE, HEvalError
from heval_core.store.shards import ShardStore
from precompute import journal
from precompute.executors import Executor
from precompute.journal import say
from precompute.models import Loading
from precompute.progress_bars import ProgressBars
from precompute.questions import Questions
from precompute.tasks import Task
from precompute.worker import Done

MakeExecutor = Callable[[Loading, Callable[[], None]], Executor]


@dataclass
class Outcome:
    """The outcome of a run.

    failed: shards with failures, tasks without a result, models that did not load, and malformed records. left: shards that
    were still missing at the end. interrupted: by the user. stopped: the reason why the store could not be written.
    """

    computed: int = 0
    already_done: int = 0
    failed: int = 0
    left: int = 0
    interrupted: bool = False
    stopped: str = ""


class Waiting(Protocol):
    """Tasks that belong together, with what is known of their order.

    questions: what all of its tasks are given beside the model. waiting: what can begin now; more may follow when a task ends.
    planned, missing: keys of the shards that are known so far.
    """

    @property
    def questions(self) -> Questions | None: ...
    @property
    def waiting(self) -> Collection[Any]: ...
    @property
    def planned(self) -> set[str]: ...
    @property
    def missing(self) -> set[str]: ...
    def prefers(self, held: frozenset[str]) -> bool:
        """Whether something that waits needs one of the models that are loaded."""

    def begin(self, held: frozenset[str]) -> Task:
        """The next task, which is under way from now on. held: the models that free workers hold."""

    def ended(self, task: Task) -> None:
        """A task is done and written, or has failed; what depends on it can begin."""

    def abandon(self, model: str) -> None:
        """Begin nothing more that needs a model which cannot be loaded."""

    def plans(self) -> Iterator[dict[str, Any]]:
        """What is planned, for the events that `status` reads: model, dataset, regime, technique and keys."""


class Drive:
    """One invocation, which holds the store. A study says what it plans, and what it notes at the start and at the end."""

    def __init__(self, store: ShardStore, make_executor: MakeExecutor, loading: Loading):
        self.store, self.make_executor, self.loading = store, make_executor, loading
        self.outcome = Outcome()
        self.bars = ProgressBars()
        self.schedules: list[Any] = []
        self.loaded: set[str] = set()

    def start(self, device: str) -> str:
        """Note the row of the table `run`. device: of the workers. Returns the run's id."""
        raise NotImplementedError

    def plan(self) -> None:
        """Add all schedules."""
        raise NotImplementedError

    def note_end(self) -> None:
        """Note what is known only after all tasks."""

    def go(self) -> Outcome:
        workers = self.make_executor(self.loading, self.bars.instance)
        run_id = ""
        try:
            run_id = self.start(workers.device())
            self.store.event("run", run_id=run_id, pid=os.getpid())
            self.plan()
            self._drive(workers)
        except KeyboardInterrupt:
            self.outcome.interrupted = True
        except OSError as error:
            self.outcome.stopped = f"the store {self.store.folder} cannot be written: {error.strerror or error}"
        finally:
            self.bars.close()
            workers.close()
        self._end(run_id)
        return self.outcome

    def add(self, schedule: Waiting, instances: int) -> None:
        """instances: how many its tasks complete, as far as that is known."""
        self.schedules.append(schedule)
        self.outcome.already_done += len(schedule.planned - schedule.missing)
        self.bars.more(len(schedule.missing), instances)
        self._note_plan(schedule)

    def _note_plan(self, schedule: Waiting) -> None:
        for planned in schedule.plans():
            self.store.event("plan", **planned)

    def _drive(self, workers: Executor) -> None:
        under_way: dict[tuple[str, ...], Waiting] = {}
        while True:
            while workers.free() and (schedule := self._next(workers.held())) is not None:
                task = schedule.begin(workers.held())
                under_way[task.keys] = schedule
                self.store.event("began", name=task.name, keys=list(task.keys))
                self.bars.began(task.name)
                workers.submit(task, schedule.questions)
            if not under_way:
                return
            task, done = workers.next_done()
            self._take(task, done, under_way.pop(task.keys))

    def _next(self, held: frozenset[str]) -> Waiting | None:
        """The first schedule with something to do, of a model that a free worker holds if there is one."""
        able = [schedule for schedule in self.schedules if schedule.waiting]
        return next((schedule for schedule in able if schedule.prefers(held)), able[0] if able else None)

    def _take(self, task: Task, done: Done, schedule: Waiting) -> None:
        if done.model is not None and task.model.name not in self.loaded:
            self.loaded.add(task.model.name)
            if done.model:
                journal.note_model(self.store, done.model)
            journal.note_loaded(self.store, task.model.name)
        if done.model_failed:
            self.model_failed(task.model.name, done.error)
            for other in self.schedules:
                other.abandon(task.model.name)
        elif done.result is None:
            self._task_failed(task, done.error)
        else:
            self._write(task, done)
        before = len(schedule.missing), len(schedule.planned)
        schedule.ended(task)
        if len(schedule.planned) != before[1]:
            self._note_plan(schedule)
        self.bars.more(len(schedule.missing) - before[0], 0)

    def _write(self, task: Task, done: Done) -> None:
        assert done.result is not None
        for failure in done.result.failures:
            self._note_failure(task, **asdict(failure))
        for entry in task.entries(done.result):
            listed = self.store.write(entry, done.result.rows[entry["key"]])
            self.store.event("shard", key=listed.key, rows=listed.rows, failed=listed.failed)
            self.outcome.computed += bool(task.size)
            self.outcome.failed += bool(listed.failed)
            sharing = listed.technique not in ("", task.technique, TECHNIQUE)
            what = " · ".join([*([listed.technique] if sharing else []), listed.explainer or listed.kind])
            name = f"{task.name} · {what}" if task.size else task.name
            self.bars.shard(name, listed.rows, done.seconds, counts=bool(task.size))
        self.bars.ended(task.size)

    def _task_failed(self, task: Task, error: str) -> None:
        self.outcome.failed += len(task.keys)
        self._note_failure(task, place=task.name, error=error, keys=list(task.keys))
        self.store.event("failed", keys=list(task.keys), error=error)
        say(f"{task.name}: {error}")

    def _note_failure(self, task: Task, **failure: Any) -> None:
        journal.note_failures(self.store, [task.whose._asdict() | failure])

    def model_failed(self, name: str, error: str) -> None:
        """Note that a model cannot be loaded."""
        self.outcome.failed += 1
        journal.note_failures(self.store, [{"model": name, "error": f"HEvalError: {error}", "at_loading": True}])
        say(f"{name}: {error}")

    def explainer_failed(self, model: str, dataset: str, explainer: str, error: HEvalError) -> None:
        """Note that an explainer cannot be used with a model on a dataset; the others go on."""
        self.outcome.failed += 1
        where = {"model": model, "dataset": dataset, "explainer": explainer}
        journal.note_failures(self.store, [where | {"error": f"HEvalError: {error}"}])
        say(f"{model} · {dataset}: {error}")

    def data_failed(self, dataset: str, error: HEvalError) -> None:
        """Note that data cannot be read."""
        self.outcome.failed += 1
        journal.note_failures(self.store, [{"dataset": dataset, "error": f"HEvalError: {error}"}])
        say(f"{dataset}: {error}")

    def _end(self, run_id: str) -> None:
        entries = self.store.entries()
        self.outcome.left = sum(key not in entries for schedule in self.schedules for key in schedule.planned)
        try:
            self.note_end()
            if run_id and not self.outcome.interrupted and not self.outcome.stopped:
                self.store.note("run", {"run_id": run_id, "finished": journal.now()})
            ended = asdict(self.outcome)
            ended.pop("already_done")
            self.store.event("end", **ended)
        except OSError as error:
            self.outcome.stopped = self.outcome.stopped or str(error)
