"""What a kill would leave of a store, at every moment at which that could matter; and whether anything of it is wrong."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest import mock

from heval_core.lm.loading import identify
from heval_core.prompting.styles import style_of
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute.grid import Grid
from precompute.on_ray import OnRay
from precompute.pair import Pair
from precompute.questions import load_questions
from precompute.task import Result, Task
from precompute.worker import Done, Model, Worker

ROOT = Path(__file__).parent.parent.parent
# Processes of their own, to be killed, which do not have to import torch each.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["precompute.cli", "precompute.run", "heval_core.evaluation.publishing"])


def started(*arguments: str, printed: Path, shards: int) -> BaseProcess:
    """A process of the command line. printed: the file for what it prints. shards: once there are so many it begins no task
    any more, but waits for a signal."""
    process = PROCESSES.Process(target=_command, args=(arguments, printed, shards))
    # A page that ran before in this process has left itself as the main module, which the new process would run again.
    main, sys.modules["__main__"] = sys.modules["__main__"], sys.modules[__name__]
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process


def _command(arguments: Sequence[str], printed: Path, shards: int) -> None:
    from precompute.cli import main

    do, store = Worker.do, ShardStore(Path(arguments[arguments.index("--store") + 1]))

    def held(*asked: Any) -> Done:
        while len(store.entries()) >= shards:
            time.sleep(0.01)
        return do(*asked)

    Worker.do = held  # type: ignore[method-assign]
    os.chdir(ROOT)
    # Whoever runs the tests in the background has SIGINT ignored, and so would this process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    file = os.open(printed, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(file, stream)
    sys.exit(main(arguments))


@contextmanager
def states_at_every_moment(store: Path, into: Path, look: Callable[[], object] = bool) -> Iterator[list[Path]]:
    """Copies of a store as a kill would leave it before each `fsync` and each `os.replace` of this process. Before an `fsync`
    the end of the file may be missing too: that is another copy. look: is called at each moment. Where two threads write, one
    waits while the other's moment is copied."""
    left: list[Path] = []
    sync, replace, one_by_one = os.fsync, os.replace, threading.Lock()

    def keep() -> None:
        look()
        left.append(shutil.copytree(store, into / f"{len(left)}"))

    def kept_and_synced(file: int) -> None:
        with one_by_one:
            keep()
            number, size = os.fstat(file).st_ino, os.fstat(file).st_size
            (torn,) = (path for path in store.rglob("*") if path.stat().st_ino == number)
            keep()
            os.truncate(left[-1] / torn.relative_to(store), max(0, size - 9))
        sync(file)

    def kept_and_replaced(source: Path, target: Path) -> None:
        with one_by_one:
            keep()
            replace(source, target)

    with mock.patch.multiple(os, fsync=kept_and_synced, replace=kept_and_replaced):
        yield left


@dataclass(frozen=True)
class Deadly:
    """A task that kills its worker in the middle of it, but for the first time only. killed: a file that tells the times."""

    task: Task
    killed: Path

    @property
    def model(self) -> Any:
        return self.task.model

    @property
    def keys(self) -> tuple[str, ...]:
        return self.task.keys

    def do(self, ready: Any, questions: Any) -> Result:
        if not self.killed.exists():
            self.killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.task.do(ready, questions)


class Deathbed(OnRay):
    """In a cluster; what explains is deadly. killed: see there."""

    killed: Path

    def submit(self, task: Task, questions: Any) -> None:
        super().submit(Deadly(task, self.killed) if task.counts else task, questions)  # type: ignore[arg-type]

    def next_done(self) -> tuple[Task, Done]:
        task, done = super().next_done()
        return (task.task if isinstance(task, Deadly) else task), done


def pair_of(grid: Grid) -> Pair:
    """The grid's first model, without loading it, with World Capital."""
    model = Model(grid.models[0], identify(grid.models[0]))
    return Pair(grid, model, load_questions("world_capital", grid.limit, grid.seed, style_of(model.identity)))


def contents(store: Path) -> dict[str, str]:
    """Key ▶ hash of the rows, of every shard."""
    return {key: entry.content for key, entry in ShardStore(store).entries().items()}


def rows(store: Path, kind: str, **where: str) -> list[dict[str, Any]]:
    """All of one kind. where: what the manifest says of their shards."""
    shards = ShardStore(store)
    entries = [entry for entry in shards.entries().values() if vars(entry).items() >= ({"kind": kind} | where).items()]
    return [row for entry in entries for row in shards.read(entry).to_pylist()]


def read(store: Path, known: dict[str, tuple[int, float]]) -> int:
    """1 where there is a whole results file, whose rows are those that were `known` of its state; 0 where there is none."""
    path = current_file(store)
    if path is None:
        return 0
    results = Reader(path)
    assert path.name == f"results-{results.snapshot_id}.duckdb"
    row = results.query("SELECT count(*) AS n, sum(list_sum(scores)) AS total FROM attribution").iloc[0]
    found = (int(row["n"]), float(row["total"]))
    assert known.setdefault(results.snapshot_id, found) == found
    results.close()
    return 1
