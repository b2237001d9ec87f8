"""Several processes on one processor, each a worker with a model of its own.

A small model's passes are too short for threads: two processes of one thread each do nearly twice the work of one process of
two. So `--workers auto` fills the cores with processes, where there is work for them and memory for a model in each. Where
memory holds fewer models than there are cores, each process has the number of threads that is fastest on its first batch.
Scores are the same bit for bit with the same number of threads, however many processes there are.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from heval_core.lm.loading import choose_device, choose_dtype, weights_of
from heval_core.new_processes import cores, free_memory, processes_after, without_main
from heval_core.records import HEvalError
from precompute.questions import Questions
from precompute.task import Task
from precompute.worker import FASTEST, Done, Executor, Loading, Local, Worker, in_words

# What a worker takes: so many bytes, and so many times its weights (SmolLM2 2.0 GB, Gemma 2.8 and more).
BESIDE, TIMES = 700_000_000, 2.5
# The share of the free memory that workers may take.
SHARE = 0.8
# A process takes five to ten seconds to start. In this time a core reads about so many bytes of weights, once for each row.
WORTH = 5_000_000_000


def on_processes(number: int | None = None) -> Callable[[Loading], Executor]:
    """Make an executor for `run`. number: of processes; by default as many as pay (`processes_for`).

    On a GPU there is one by default; and where servers are asked, whose answers one process has to keep.
    """

    def executor(loading: Loading) -> Executor:
        if loading.answers and number not in (None, 1):
            raise HEvalError(f"--workers {number} does not go with citations: one process keeps what servers have answered.")
        one = number == 1 or (number is None and (loading.answers or choose_device(loading.device).type != "cpu"))
        return Local(loading) if one else Processes(loading, number)

    return executor


def processes_for(rows: Mapping[Any, int], dtype: torch.dtype, cores: int, free: int) -> tuple[int, int]:
    """Return how many processes work, and of how many threads each; FASTEST where a measurement decides.

    rows: model ▶ how many rows are to be made with it. free: bytes of memory.
    """
    sizes = {model: _weights(model, dtype) for model in rows}
    if any(size is None for size in sizes.values()):
        return 1, FASTEST
    known = {model: size or 0 for model, size in sizes.items()}
    room = int(SHARE * free // (BESIDE + TIMES * max(known.values(), default=0)))
    work = int(sum(size * rows[model] for model, size in known.items()) // WORTH)
    number = max(1, min(cores, room, work))
    return number, 1 if number > 1 and room >= cores else FASTEST


def _weights(model: Any, dtype: torch.dtype) -> float | None:
    """Return the bytes of a model's weights; 0 where a task needs none, None where they are not here yet."""
    return weights_of(model.identity, dtype) if model.stays else 0.0


@dataclass
class _Process:
    """A worker in a process of its own. held: its model. sent: numbers of the questions that it has."""

    process: BaseProcess
    connection: Connection
    held: str | None = None
    sent: frozenset[int] = frozenset()

    @classmethod
    def start(cls, loading: Loading) -> _Process:
        context = processes_after("precompute.run")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, loading), daemon=True)
        with without_main():
            process.start()
        theirs.close()  # so that the death of the process closes the pipe
        return cls(process, ours)


def _work(connection: Connection, loading: Loading) -> None:
    """Do the tasks that come through the pipe, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the driver ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    worker, known = Worker(loading), dict[int, Any]()
    try:
        while True:
            task, number, questions = connection.recv()
            known.setdefault(number, questions)
            connection.send(worker.do(task, known[number]))
    except (EOFError, OSError):
        return  # the driver has ended


class Processes:
    """Workers in processes of their own; one that is enough works in this process."""

    def __init__(self, loading: Loading, number: int | None = None):
        self._loading, self._number = loading, number
        self._local: Local | None = None
        self._idle: list[_Process] = []
        self._busy: dict[Any, tuple[_Process, Task]] = {}
        self._questions: list[Questions | None] = []

    def device(self) -> str:
        return choose_device(self._loading.device).type

    def expect(self, rows: Mapping[Any, int]) -> str:
        number, able = self._number, cores()
        if number is None:
            dtype = choose_dtype(self._loading.dtype, torch.device("cpu"))
            number, threads = processes_for(rows, dtype, able, free_memory())
        else:
            threads = max(1, able // number)
        self._loading = replace(self._loading, threads=threads, cores=max(1, able // number), answers=None)
        if number == 1:
            self._local = Local(self._loading)
        else:
            self._idle = [_Process.start(self._loading) for _ in range(number)]
        return in_words(number, threads)

    def free(self) -> bool:
        return self._local.free() if self._local else bool(self._idle)

    def held(self) -> frozenset[str]:
        return self._local.held() if self._local else frozenset(one.held for one in self._idle if one.held)

    def submit(self, task: Task, questions: Questions | None) -> None:
        if self._local:
            self._local.submit(task, questions)
            return
        # One that holds the model, or else none, before one that would have to give up its own.
        ranks = {task.model.name: 0, None: 1}
        one = min(self._idle, key=lambda process: ranks.get(process.held, 2))
        self._idle.remove(one)
        if not one.process.is_alive():
            one = _Process.start(self._loading)
        number = self._number_of(questions)
        try:
            one.connection.send((task, number, None if number in one.sent else questions))
        except OSError:  # it has died since, perhaps while it began
            one = _Process.start(self._loading)
            one.connection.send((task, number, questions))
        one.sent |= {number}
        self._busy[one.connection] = (one, task)

    def _number_of(self, questions: Questions | None) -> int:
        for number, known in enumerate(self._questions):
            if known is questions:
                return number
        self._questions.append(questions)
        return len(self._questions) - 1

    def next_done(self) -> tuple[Task, Done]:
        if self._local:
            return self._local.next_done()
        first, *_ = wait(list(self._busy))
        one, task = self._busy.pop(first)
        try:
            done: Done = one.connection.recv()
        except (EOFError, OSError):
            one.process.join()
            self._idle.append(_Process.start(self._loading))
            return task, Done(None, error=f"HEvalError: {_death(one.process.exitcode)}")
        one.held = done.held
        self._idle.append(one)
        return task, done

    def close(self) -> None:
        if self._local:
            self._local.close()
        for one in [*self._idle, *(one for one, _ in self._busy.values())]:
            one.connection.close()
            one.process.kill()
            one.process.join()
        self._idle, self._busy = [], {}


def _death(code: int | None) -> str:
    """Say how a process ended. code: as the operating system gives it."""
    name = signal.Signals(-code).name if code and -code in {*signal.Signals} else f"code {code}"
    why = ", as it does where memory is short; fewer --workers take less" if name == "SIGKILL" else ""
    return f"A worker's process ended ({name}){why}."
