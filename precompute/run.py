"""`run`: make what is missing of a grid, or of the study of citations.

Only the driver writes: it hands tasks to an executor, and writes and lists their shards as they come back. So a dead worker, a
killed run or a full disk costs the tasks that were running, and nothing that was finished.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from heval_core.lm.loading import choose_dtype
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.store.lock import only_writer
from heval_core.store.shards import ShardStore
from precompute import journal
from precompute.journal import say
from precompute.schedule import Asked, Schedule, loading_of, parts_of, with_stored
from precompute.task import Task, now
from precompute.worker import Done, Executor, Loading, Local

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


def run(asked: Asked, folder: Path, make_executor: MakeExecutor = Local) -> Outcome:
    """Compute and store what is missing.

    Raises HEvalError for wrong options or a wrong store, before anything is loaded. A model that cannot load, a record, an
    instance or a question that fails is noted in the journal, and the rest goes on.
    """
    asked.check()
    store = ShardStore(folder)
    store.create()
    with only_writer(folder):
        store.remove_unfinished()
        return _Driver(with_stored(asked, folder), store, make_executor).go()


class _Driver:
    """One invocation, which holds the store."""

    def __init__(self, asked: Asked, store: ShardStore, make_executor: MakeExecutor):
        self.asked, self.store, self.make_executor = asked, store, make_executor
        self.outcome = Outcome()
        self.bars = ProgressBars()
        self.schedules: list[Schedule] = []
        self.loaded: set[str] = set()

    def go(self) -> Outcome:
        workers = self.make_executor(loading_of(self.asked, self.store), self.bars.instance)
        run_id = ""
        try:
            run_id = self._start(workers.device())
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

    def _start(self, device: str) -> str:
        """Note the row of the table `run`. device: of the workers. Returns the run's id."""
        dtype = str(choose_dtype(self.asked.dtype, torch.device(device))).removeprefix("torch.")
        self.asked = dataclasses.replace(self.asked, dtype=dtype)
        return journal.note_start(self.store, self.asked.noted(), device, dtype, self.asked.seed)

    def _plan(self) -> None:
        """Make all schedules, and write down for `status` what each plans."""
        noted: set[str] = set()
        for part in parts_of(self.asked, self.store, self):
            self.outcome.failed += part.note(noted)
            schedule = Schedule(part, self.store)
            self.schedules.append(schedule)
            self.outcome.already_done += len(schedule.planned) - len(schedule.missing)
            self.bars.more(len(schedule.missing), schedule.instances)
            self._note_plan(schedule)

    def _note_plan(self, schedule: Schedule) -> None:
        for planned in schedule.plans():
            self.store.event("plan", **planned)

    def _drive(self, workers: Executor) -> None:
        under_way: dict[tuple[str, ...], Schedule] = {}
        while True:
            while workers.free() and (schedule := self._next(workers.held())) is not None:
                task = schedule.begin(workers.held())
                under_way[task.keys] = schedule
                self.store.event("began", name=task.name, keys=list(task.keys))
                self.bars.began(task.name)
                workers.submit(task, schedule.part.questions)
            if not under_way:
                return
            task, done = workers.next_done()
            self._take(task, done, under_way.pop(task.keys))

    def _next(self, held: frozenset[str]) -> Schedule | None:
        """The first schedule with something to do, of a model that a free worker holds if there is one."""
        able = [schedule for schedule in self.schedules if schedule.waiting]
        return next((schedule for schedule in able if schedule.prefers(held)), able[0] if able else None)

    def _take(self, task: Task, done: Done, schedule: Schedule) -> None:
        if done.model is not None and task.model.name not in self.loaded:
            self.loaded.add(task.model.name)
            if done.model:
                journal.note_model(self.store, done.model)
            journal.note_loaded(self.store, task.model.name)
        if done.model_failed:
            self.failed(HEvalError(done.error), model=task.model.name, at_loading=True)
            for other in self.schedules:
                other.abandon(task.model.name)
        elif done.result is None:
            self._task_failed(task, done.error)
        else:
            self._write(task, done)
        missing, planned, instances = len(schedule.missing), len(schedule.planned), schedule.instances
        schedule.ended(task)
        if len(schedule.planned) != planned:
            self._note_plan(schedule)
        self.bars.more(len(schedule.missing) - missing, schedule.instances - instances)

    def _write(self, task: Task, done: Done) -> None:
        assert done.result is not None
        self._note_failures(task, *map(asdict, done.result.failures))
        for entry in task.entries(done.result):
            listed = self.store.write(entry, done.result.rows[entry["key"]])
            self.store.event("shard", key=listed.key, rows=listed.rows, failed=listed.failed)
            self.outcome.computed += bool(task.size)
            self.outcome.failed += bool(listed.failed)
            sharing = listed.technique not in ("", task.whose.technique, TECHNIQUE)
            what = " · ".join([*([listed.technique] if sharing else []), listed.explainer or listed.kind])
            name = f"{task.name} · {what}" if task.size else task.name
            self.bars.shard(name, listed.rows, done.seconds, counts=bool(task.size))
        self.bars.ended(task.size)

    def _task_failed(self, task: Task, error: str) -> None:
        self.outcome.failed += len(task.keys)
        self._note_failures(task, {"place": task.name, "error": error, "keys": list(task.keys)})
        self.store.event("failed", keys=list(task.keys), error=error)
        say(f"{task.name}: {error}")

    def _note_failures(self, task: Task, *failures: dict[str, Any]) -> None:
        journal.note_failures(self.store, [task.whose._asdict() | failure for failure in failures])

    def say(self, text: str) -> None:
        say(text)

    def failed(self, error: HEvalError, **where: Any) -> None:
        """Note and say what cannot be done; the rest goes on. where: see `pair.Problems`."""
        self.outcome.failed += 1
        journal.note_failures(self.store, [where | {"error": f"HEvalError: {error}"}])
        say(f"{' · '.join(where[name] for name in ('model', 'dataset') if name in where)}: {error}")

    def _end(self, run_id: str) -> None:
        entries = self.store.entries()
        self.outcome.left = sum(key not in entries for schedule in self.schedules for key in schedule.planned)
        try:
            for schedule in self.schedules:
                schedule.part.note_end()
            if run_id and not self.outcome.interrupted and not self.outcome.stopped:
                self.store.note("run", {"run_id": run_id, "finished": now()})
            ended = asdict(self.outcome)
            ended.pop("already_done")
            self.store.event("end", **ended)
        except OSError as error:
            self.outcome.stopped = self.outcome.stopped or str(error)


class ProgressBars:
    """Shards and instances, with rate and time left: two bars on a terminal, one line per shard elsewhere."""

    def __init__(self) -> None:
        self._quiet = not sys.stderr.isatty()
        self._shards = tqdm(total=0, unit="shard", desc="shards", position=0, disable=self._quiet)
        self._instances = tqdm(total=0, unit="instance", desc="instances", position=1, disable=self._quiet, leave=False)
        self._counted = 0
        self._done = self._total = 0

    def more(self, shards: int, instances: int) -> None:
        """Add to the totals of the bars."""
        self._total += shards
        for bar, count in ((self._shards, shards), (self._instances, instances)):
            bar.total = (bar.total or 0) + count
            bar.refresh()

    def began(self, name: str) -> None:
        self._instances.set_description(name)

    def instance(self) -> None:
        """One instance of the current task is done. Nobody calls this for a task on a remote worker."""
        self._counted += 1
        self._instances.update()

    def ended(self, size: int) -> None:
        """A task of `size` instances is done, whether or not they were counted one by one."""
        self._instances.update(max(0, size - self._counted))
        self._counted = 0

    def shard(self, name: str, rows: int, seconds: float, counts: bool) -> None:
        """counts: whether `more` announced this shard; shards of memory answers are not announced."""
        self._done += counts
        self._shards.update(int(counts))
        if self._quiet:
            place = f"{self._done}/{self._total} " if counts else ""
            say(f"{place}{name}: {rows} rows ({seconds:.1f} s)")

    def close(self) -> None:
        self._instances.close()
        self._shards.close()
