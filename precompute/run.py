"""`run`: make what is missing of a grid, or of the study of citations.

Only the driver writes: it hands tasks to an executor, and writes and lists their shards as they come back. So a dead worker, a
killed run or a full disk costs the tasks that were running or being written, and nothing that was finished. One thread writes,
in the order in which tasks end, beside what is computed next; whatever reads the store waits for it.
"""

import dataclasses
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from heval_core.citations.speaker import FILE as ANSWERS
from heval_core.evaluation import usable
from heval_core.lm.loading import choose_dtype
from heval_core.records import TECHNIQUE, HEvalError, RegimeKey
from heval_core.store.kinds import INSTANCE
from heval_core.store.packing import MOST_LOOSE, loose, pack
from heval_core.store.progress import only_writer
from heval_core.store.shards import Shard, ShardStore
from precompute import journal
from precompute.citations.chunks import Citations, citations_of
from precompute.citations.study import Study
from precompute.grid import Grid
from precompute.highlights import Highlights
from precompute.memory import AskingTask
from precompute.messages import say, say_progress, shows_bars
from precompute.pair import Problems, pairs, with_fits
from precompute.task import Task, missing_from, now
from precompute.trace import TraceOptions, Traces
from precompute.worker import Done, Executor, Loading, Local

MakeExecutor = Callable[[Loading], Executor]
GridOrStudy = Grid | Study
# Tasks that belong together: of a model and a dataset, or of all citations.
StudyPart = Highlights | Citations | Traces  # of the last there is one


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


def run(request: GridOrStudy | TraceOptions, folder: Path, make_executor: MakeExecutor = Local, held: bool = False) -> Outcome:
    """Compute and store what is missing. held: whether the caller holds the store.

    Raises HEvalError for wrong options or a wrong store, before anything is loaded. A model that cannot load, a record, an
    instance or a question that fails is noted in the journal, and the rest goes on.
    """
    request.check()
    store = ShardStore(folder)
    store.create()
    with nullcontext() if held else only_writer(folder):
        store.remove_unfinished()
        return _Driver(with_fits(request, folder), store, make_executor).go()


def parts_of(request: GridOrStudy, store: ShardStore, problems: Problems) -> Iterator[Highlights | Citations]:
    """Yield what is planned together. problems: hears of what cannot be read or had."""
    if isinstance(request, Study):
        yield from citations_of(request, store, problems)
    else:
        yield from (Highlights(pair, store) for pair in pairs(request, store, problems))


def loading_of(request: GridOrStudy | TraceOptions, store: ShardStore) -> Loading:
    """Return how a request's models are loaded."""
    how = request.device, request.dtype, request.batch_tokens
    if isinstance(request, Study):
        return Loading(*how, answers=store.folder / ANSWERS)
    if isinstance(request, TraceOptions):
        return Loading(*how)
    return Loading(*how, custom=request.custom, fits=request.fits)


class Schedule:
    """The tasks of a part, and which can begin.

    waiting: those that can now; more follow when the last one of a model has ended.

    planned: the shards that are known so far, by key; missing: the keys of those that are to be made. all_written: returns
    when the store has all that was computed.
    """

    def __init__(self, part: StudyPart, store: ShardStore, all_written: Callable[[], None]):
        self.part, self._store, self._all_written = part, store, all_written
        self.waiting: list[Task] = []
        self.planned: dict[str, Shard] = {}
        self.missing: set[str] = set()
        # Keys of tasks that wait or are under way, and of those that have ended.
        self._begun, self._tried = set[str](), set[str]()
        self._unloadable = set[str]()
        self._look()

    def _look(self) -> None:
        """Take what can begin, and what is known of the rest."""
        self._all_written()
        able = (task for task in self.part.ready(self._tried) if task.model.name not in self._unloadable)
        added = [task for task in able if not self._begun & set(task.keys)]
        self.waiting += added
        self._begun.update(key for task in added for key in task.keys)
        is_missing = missing_from(self._store)
        known = [shard for shard in self.part.shards() if shard.key not in self.planned]
        self.planned |= {shard.key: shard for shard in known}
        self.missing |= {shard.key for shard in known if is_missing(shard)}
        self.missing |= {key for task in added if task.counts for key in task.keys}

    def ended(self, task: Task) -> None:
        """Note that a task is done and being written, or has failed; what depends on it can begin."""
        self._begun.difference_update(task.keys)
        self._tried.update(task.keys)
        if not any(other.model.name == task.model.name for other in self.waiting):
            self._look()

    def abandon(self, model: str) -> None:
        """Begin nothing more that needs a model which cannot be loaded."""
        self._unloadable.add(model)
        self.waiting = [task for task in self.waiting if task.model.name != model]


class _Driver:
    def __init__(self, request: GridOrStudy | TraceOptions, store: ShardStore, make_executor: MakeExecutor):
        self.request, self.store, self.make_executor = request, store, make_executor
        self.outcome = Outcome()
        self.bar = tqdm(total=0, unit="shard", disable=not shows_bars())
        self.schedules: list[Schedule] = []
        self.loaded: set[str] = set()
        # Whether what is under way measures time.
        self._measuring = False
        self._writer, self._written = ThreadPoolExecutor(1, "writer"), Future[None]()
        self._written.set_result(None)

    def go(self) -> Outcome:
        workers, run_id = self.make_executor(loading_of(self.request, self.store)), ""
        try:
            self._device = workers.device()
            run_id = self._start(self._device)
            self.store.event("run", run_id=run_id, pid=os.getpid())
            self._plan()
            say_progress(workers.expect(self._rows()))
            self._drive(workers)
        except KeyboardInterrupt:
            self.outcome.interrupted = True
        except OSError as error:
            self.outcome.stopped = f"the store {self.store.folder} cannot be written: {error.strerror or error}"
        finally:
            self._writer.shutdown()
            self.bar.close()
            workers.close()
        self._end(run_id)
        self._pack()
        return self.outcome

    def _start(self, device: str) -> str:
        """Note the row of the table `run`. device: of the workers. Returns the run's id."""
        dtype = str(choose_dtype(self.request.dtype, torch.device(device))).removeprefix("torch.")
        self.request = dataclasses.replace(self.request, dtype=dtype)
        return journal.note_start(self.store, self.request.noted(), device, dtype, self.request.seed)

    def _plan(self) -> None:
        noted: set[str] = set()
        for part in self._parts():
            self.outcome.failed += part.note(noted)
            schedule = Schedule(part, self.store, self._wait)
            self.schedules.append(schedule)
            self.outcome.already_done += len(schedule.planned) - len(schedule.missing)
            self._note_plan(schedule)

    def _rows(self) -> dict[Any, int]:
        """Count the rows that are to be made with each model, as far as they are known."""
        rows: dict[Any, int] = defaultdict(int)
        for schedule in self.schedules:
            missing = (shard for key, shard in schedule.planned.items() if key in schedule.missing)
            count = sum(shard.stop - shard.start for shard in missing)
            for model in {task.model for task in schedule.waiting}:
                rows[model] += count
        return rows

    def _parts(self) -> Iterable[StudyPart]:
        if isinstance(self.request, TraceOptions):
            return [Traces(self.request, self.store)]
        return parts_of(self.request, self.store, self)

    def _note_plan(self, schedule: Schedule) -> None:
        """Write the events that `status` reads: what is planned, by model, dataset, regime and technique; and note its
        plug-ins.
        """
        journal.note_plugins(self.store, schedule.planned.values())
        planned: dict[RegimeKey, list[str]] = defaultdict(list)
        for shard in schedule.planned.values():
            planned[shard.cell.of_regime].append(shard.key)
        for regime_key, keys in planned.items():
            self.store.event("plan", **regime_key._asdict(), keys=keys)

    def _drive(self, workers: Executor) -> None:
        under_way: dict[tuple[str, ...], Schedule] = {}
        while True:
            while workers.free() and (begun := self._next(workers.held(), list(under_way))):
                schedule, task = begun
                under_way[task.keys] = schedule
                self.store.event("began", name=task.name, keys=list(task.keys))
                self.bar.total = sum(len(one.missing) for one in self.schedules)
                self.bar.set_description(task.name)
                workers.submit(task, schedule.part.questions)
            if not under_way:
                self._wait()
                return
            task, done = workers.next_done()
            self._take(task, done, under_way.pop(task.keys))

    def _next(self, held: frozenset[str], under_way: Collection[Any]) -> tuple[Schedule, Task] | None:
        """Return the first task that waits, of a model that a free worker holds if there is one, with all that it needs; and
        whose it is. It is under way from now on.
        """
        waiting = [
            (schedule, task)
            for schedule in self.schedules
            for task in schedule.waiting
            if not (under_way and (task.alone or self._measuring))
        ]
        if not waiting:
            return None
        schedule, task = next((one for one in waiting if one[1].model.name in held), waiting[0])
        schedule.waiting.remove(task)
        self._measuring = task.alone
        if not isinstance(task, AskingTask):  # which are given nothing of what other tasks of the same round have made
            self._wait()
        return schedule, schedule.part.equipped(task)

    def _wait(self) -> None:
        """Wait until the last task is written. Raises what its writing did."""
        self._written.result()

    def _take(self, task: Task, done: Done, schedule: Schedule) -> None:
        self._wait()  # so that the rows of one task at most wait to be written
        if done.model is not None and task.model.name not in self.loaded:
            self.loaded.add(task.model.name)
            if done.model and done.model not in self.store.journal("model"):
                self.store.note("model", done.model)
            journal.note_loaded(self.store, task.model.name)
        if done.model_failed:
            self.failed(HEvalError(done.error), model=task.model.name, at_loading=True)
            for other in self.schedules:
                other.abandon(task.model.name)
        elif done.result is None:
            self.outcome.failed += len(task.keys)
            self._note_failures(task, {"place": task.name, "error": done.error, "keys": list(task.keys)})
            self.store.event("failed", keys=list(task.keys), error=done.error)
            say(f"{task.name}: {done.error}")
        else:
            self._written = self._writer.submit(self._write, task, done)
        planned = len(schedule.planned)
        schedule.ended(task)
        if len(schedule.planned) != planned:
            self._note_plan(schedule)

    def _write(self, task: Task, done: Done) -> None:
        assert done.result is not None
        self._note_failures(task, *map(asdict, done.result.failures))
        for written in task.finished(done.result):
            entry = self.store.write(*written)
            if entry.kind == INSTANCE.name and entry.technique == TECHNIQUE and not entry.start:
                say_progress(usable.first_answers(entry, written[1]))
            self.store.event("shard", key=entry.key, rows=entry.rows, failed=entry.failed)
            self.outcome.computed += task.counts
            self.outcome.failed += bool(entry.failed)
            self.bar.update(int(task.counts))
        self.store.event("ended", keys=list(task.keys), seconds=done.seconds, device=self._device)
        if self.bar.disable:
            say_progress(f"{self.outcome.computed}/{self.bar.total} {task.name} ({done.seconds:.1f} s)")

    def _note_failures(self, task: Task, *failures: dict[str, Any]) -> None:
        journal.note_failures(self.store, [task.regime_key._asdict() | failure for failure in failures])

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

    def _pack(self) -> None:
        """Pack the store where very many shards have files of their own."""
        if self.outcome.interrupted or self.outcome.stopped or (count := len(loose(self.store))) <= MOST_LOOSE:
            return
        say_progress(f"packing {count:,} shards")
        try:
            pack(self.store)
        except KeyboardInterrupt:
            self.outcome.interrupted = True
        except OSError as error:
            self.outcome.stopped = f"the store {self.store.folder} cannot be packed: {error.strerror or error}"
