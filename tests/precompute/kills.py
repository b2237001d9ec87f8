"""Kill the batch job and the publisher at random moments, and see whether anything is lost or wrong.

`python -m tests.precompute.kills --grid demo --kills 20 --store FOLDER` does it to a grid of any size; the tests do it to a
small one a few times, and look at every other moment in `states_at_every_moment`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock

from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore

ROOT = Path(__file__).parent.parent.parent
FINISH = 3600
# Processes of their own, to be killed, which do not have to import torch each.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["precompute.cli", "precompute.run", "heval_core.evaluation.publishing"])


def started(*arguments: str, printed: Path = Path(os.devnull)) -> BaseProcess:
    """A process of the command line. printed: the file for what it prints."""
    process = PROCESSES.Process(target=_command, args=(arguments, printed))
    # A page that ran before in this process has left itself as the main module, which the new process would run again.
    main, sys.modules["__main__"] = sys.modules["__main__"], sys.modules[__name__]
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process


def _command(arguments: Sequence[str], printed: Path) -> None:
    from precompute.cli import main

    os.chdir(ROOT)
    # Whoever runs the tests in the background has SIGINT ignored, and so would this process.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    file = os.open(printed, os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(file, stream)
    sys.exit(main(arguments))


@contextmanager
def states_at_every_moment(store: Path, into: Path, look: Callable[[], object] = bool) -> Iterator[list[Path]]:
    """Copies of a store as a kill would leave it before each `fsync` and each `os.replace` of this process.

    Before an `fsync` the end of the file may be missing too: that is another copy. look: is called at each moment.
    """
    left: list[Path] = []
    sync, replace = os.fsync, os.replace

    def keep() -> None:
        look()
        left.append(shutil.copytree(store, into / f"{len(left)}"))

    def kept_and_synced(file: int) -> None:
        keep()
        number, size = os.fstat(file).st_ino, os.fstat(file).st_size
        (torn,) = (path for path in store.rglob("*") if path.stat().st_ino == number)
        keep()
        os.truncate(left[-1] / torn.relative_to(store), max(0, size - 9))
        sync(file)

    def kept_and_replaced(source: Path, target: Path) -> None:
        keep()
        replace(source, target)

    with mock.patch.multiple(os, fsync=kept_and_synced, replace=kept_and_replaced):
        yield left


def run_under_fire(arguments: Sequence[str], store: Path, kills: int, rng: random.Random) -> dict[str, str]:
    """Start `run`, kill it with SIGKILL, and again, until it was killed often enough; then let it finish.

    Most kills fall after a shard or two of the new process, some while it is still starting, or between two shards of a job.
    Returns key ▶ content of shards. Raises RuntimeError where all was done before it was killed that often.
    """
    command = ["run", *arguments, "--store", str(store)]
    killed = 0
    while killed < kills:
        process = started(*command)
        wanted, waited = _lines(store) + rng.choice([0, 1, 2, 7, 13]), rng.uniform(0, 0.05)
        while process.is_alive() and _lines(store) < wanted:
            time.sleep(0.005)
        time.sleep(waited)
        if process.is_alive():
            process.kill()
            killed += 1
        elif process.exitcode == 0:
            raise RuntimeError(f"all was done after {killed} kills; take a larger grid")
        process.join()
    last = started(*command)
    last.join(FINISH)
    assert last.exitcode == 0
    print(f"killed {killed} times")
    return contents(store)


def _lines(store: Path) -> int:
    events = store / "events.jsonl"
    return events.read_bytes().count(b'"event": "shard"') if events.is_file() else 0


def contents(store: Path) -> dict[str, str]:
    """Key ▶ hash of the rows, of every shard."""
    return {key: entry.content for key, entry in ShardStore(store).entries().items()}


def publish_under_fire(store: Path, kills: int, rng: random.Random) -> tuple[int, int]:
    """Publish one changed state after another, killed at random moments, while this process reads.

    Each state lacks some of the shards, so that each has a file of its own. A read must find a whole results file whose
    rows are those of the state it says it is. Returns how many reads there were, and how many were of finished publishings.
    """
    manifest = store / "manifest.jsonl"
    lines = manifest.read_text(encoding="utf-8").splitlines(keepends=True)
    attributions = [index for index, line in enumerate(lines) if json.loads(line)["kind"] == "attribution"]
    known, reads, finished = {}, 0, 0
    for number in range(kills + 1):
        left_out = attributions[number % len(attributions)]
        manifest.write_text("".join(line for index, line in enumerate(lines) if index != left_out), encoding="utf-8")
        process = started("publish", "--store", str(store))
        last, ends = number == kills, time.monotonic() + rng.uniform(0, 2.0)
        while process.is_alive() and (last or time.monotonic() < ends):
            reads += read(store, known)
        process.kill()
        process.join()
        finished += process.exitcode == 0
        reads += read(store, known)
    manifest.write_text("".join(lines), encoding="utf-8")
    assert finished >= 1
    return reads, finished


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grid", default="demo")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--store", type=Path, required=True, help="two folders below it are written")
    parser.add_argument("--seed", type=int, default=0)
    options, more = parser.parse_known_args()
    arguments = ["--grid", options.grid, *more]
    rng = random.Random(options.seed)
    quiet, shot = options.store / "quiet", options.store / "shot"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "precompute", "run", *arguments, "--store", str(quiet)], cwd=ROOT, check=True)
    print(f"uninterrupted: {time.perf_counter() - began:.0f} s")
    same = run_under_fire(arguments, shot, options.kills, rng) == contents(quiet)
    print(f"the same shards as the uninterrupted run: {same}")
    for store in (quiet, shot):
        subprocess.run([sys.executable, "-m", "precompute", "publish", "--store", str(store)], cwd=ROOT, check=True)
    print(f"published: {current_file(quiet).name} and {current_file(shot).name}")
    other = shutil.copytree(quiet, options.store / "published")
    print("publisher killed, reads and finished publishings:", publish_under_fire(other, options.kills, rng))


if __name__ == "__main__":
    main()
