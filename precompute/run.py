"""`run`: compute what is missing of a grid.

Only the driver writes: it hands tasks to an executor, and writes and lists their shards as they come back. So a dead worker, a
killed run or a full disk costs the tasks that were running, and nothing that was finished.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from heval_core.lm.loading import choose_dtype, identify
from heval_core.prompt_styles import style_of
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.regimes import PromptStyle
from heval_core.store.lock import only_writer
from heval_core.store.shards import ShardStore
from precompute import journal
from precompute.costs import shard_size
from precompute.executors import Executor
from precompute.executors.local import Local
from precompute.grid import Grid, asked_as, check, dtype_of
from precompute.journal import say
from precompute.preparation import Model
from precompute.progress_bars import ProgressBars
from precompute.questions import Questions, load_questions
from precompute.schedule import Schedule
from precompute.tasks import Task
from precompute.worker import Done, Loading

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


def run(grid: Grid, folder: Path, make_executor: MakeExecutor = Local) -> Outcome:
    """Compute and store what is missing of a grid.

    Raises HEvalError for a wrong grid or store, before anything is loaded. A model that cannot load, a record or an
    instance that fails is noted in the journal, and the rest goes on.
    """
    check(grid)
    store = ShardStore(folder)
    store.create()
    with only_writer(folder):
        store.remove_unfinished()
        return _Run(grid, store, make_executor).go()


class _Run:
    """One invocation, which holds the store."""

    def __init__(self, grid: Grid, store: ShardStore, make_executor: MakeExecutor):
        self.store, self.make_executor = store, make_executor
        self.asked, self.grid = grid, grid
        self.outcome = Outcome()
        self.bars = ProgressBars()
        self.schedules: list[Schedule] = []
        self.loaded: set[str] = set()

    def go(self) -> Outcome:
        loading = Loading(self.asked.device, self.asked.dtype, self.asked.batch_tokens)
        workers = self.make_executor(loading, self.bars.instance)
        run_id = ""
        try:
            device = workers.device()
            dtype = str(choose_dtype(self.asked.dtype, torch.device(device))).removeprefix("torch.")
            self.grid = dataclasses.replace(self.asked, dtype=dtype)
            run_id = journal.note_start(self.store, self.grid, device)
            self.store.event("run", run_id=run_id, pid=os.getpid())
            self._plan()
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

    def _plan(self) -> None:
        """Make the schedules of all models and datasets, and write down for `status` what each plans."""
        noted: set[str] = set()
        read: dict[tuple[str, str], Questions | None] = {}
        for name in self.grid.models:
            try:
                identity = asked_as(self.grid, identify(name))
                style = style_of(identity)
            except HEvalError as error:
                self._model_failed(name, str(error))
                continue
            for dataset in self.grid.datasets:
                key = (dataset, identity.style)
                if key not in read:
                    read[key] = self._read(dataset, style)
                questions = read[key]
                if questions is None:
                    continue
                if questions.seen:
                    left = questions.usable - questions.seen
                    whose = f"{identity.key} · {questions.dataset}"
                    say(f"{whose}: {left:,} of {questions.usable:,} questions were not in the model's training")
                if questions.dataset not in noted:
                    noted.add(questions.dataset)
                    self.outcome.failed += journal.note_dataset(self.store, questions)
                try:
                    self._add_schedule(Model(name, identity), questions)
                except HEvalError as error:
                    self._model_failed(name, str(error))
                    break

    def _read(self, dataset: str, style: PromptStyle) -> Questions | None:
        """The questions that may be put to a model; None if the dataset cannot be read, which is then noted."""
        try:
            return load_questions(dataset, self.grid.limit, self.grid.seed, style)
        except HEvalError as error:
            self.outcome.failed += 1
            journal.note_failures(self.store, [{"dataset": dataset, "error": f"HEvalError: {error}"}])
            say(f"{dataset}: {error}")
            return None

    def _add_schedule(self, model: Model, questions: Questions) -> None:
        size = shard_size(self.grid, model.identity, questions, self.store)
        grid = dataclasses.replace(self.grid, shard_size=size)
        journal.note_state(self.store, grid, model.identity, questions, size)
        schedule = Schedule(grid, model, questions, dtype_of(grid), self.store)
        self.schedules.append(schedule)
        self.outcome.already_done += len(schedule.planned - schedule.missing)
        self.bars.more(len(schedule.missing), schedule.instances)
        self._note_plan(schedule)

    def _note_plan(self, schedule: Schedule) -> None:
        planned: dict[tuple[str, str], list[str]] = {}
        for job in schedule.jobs:
            for shard in job.shards:
                planned.setdefault((job.regime, shard.technique), []).append(shard.key)
        model, dataset = schedule.model.key, schedule.questions.dataset
        for (regime, technique), keys in planned.items():
            self.store.event("plan", model=model, dataset=dataset, regime=regime, technique=technique, keys=keys)

    def _drive(self, workers: Executor) -> None:
        under_way: dict[tuple[str, ...], Schedule] = {}
        while True:
            while workers.free() and (schedule := self._next(workers.held())) is not None:
                task = schedule.begin()
                under_way[task.keys] = schedule
                self.store.event("began", name=task.name, keys=list(task.keys))
                self.bars.began(task.name)
                workers.submit(task, schedule.questions)
            if not under_way:
                return
            task, done = workers.next_done()
            self._take(task, done, under_way.pop(task.keys))

    def _next(self, held: frozenset[str]) -> Schedule | None:
        """The first schedule with something to do, of a model that a free worker holds if there is one."""
        able = [schedule for schedule in self.schedules if schedule.waiting]
        return next((schedule for schedule in able if schedule.model.name in held), able[0] if able else None)

    def _take(self, task: Task, done: Done, schedule: Schedule) -> None:
        if done.model is not None and task.model.name not in self.loaded:
            self.loaded.add(task.model.name)
            journal.note_model(self.store, done.model)
            journal.note_loaded(self.store, task.model.name)
        if done.model_failed:
            self._model_failed(task.model.name, done.error)
            for other in self.schedules:
                if other.model.name == task.model.name:
                    other.abandon()
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
        cell = {"model": task.model.key, "dataset": task.dataset, "regime": task.regime, "technique": task.technique}
        journal.note_failures(self.store, [cell | failure])

    def _model_failed(self, name: str, error: str) -> None:
        self.outcome.failed += 1
        journal.note_failures(self.store, [{"model": name, "error": f"HEvalError: {error}", "at_loading": True}])
        say(f"{name}: {error}")

    def _note_settings(self) -> None:
        """Which settings stand, now that all searches are done: of a technique with two, publishing takes the newest."""
        for one in self.schedules:
            for chosen in one.standing():
                size = one.grid.shard_size or 0
                journal.note_state(self.store, one.grid, one.model.identity, one.questions, size, chosen)

    def _end(self, run_id: str) -> None:
        entries = self.store.entries()
        self.outcome.left = sum(key not in entries for schedule in self.schedules for key in schedule.planned)
        try:
            self._note_settings()
            if run_id and not self.outcome.interrupted and not self.outcome.stopped:
                self.store.note("run", {"run_id": run_id, "finished": journal.now()})
            ended = asdict(self.outcome)
            ended.pop("already_done")
            self.store.event("end", **ended)
        except OSError as error:
            self.outcome.stopped = self.outcome.stopped or str(error)
