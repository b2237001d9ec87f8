"""Which run holds a store, since only one at a time writes to it; and how far its batch job is, also while it runs.

The operating system keeps the lock (`filelock` uses flock), so a killed process, even by kill -9, no longer holds it. The
lock file names the process that took it last.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout, lock_descriptor

from heval_core.records import HEvalError, RegimeKey
from heval_core.store.kinds import KINDS
from heval_core.store.shards import ShardStore

FILE = "writer.lock"
# `holder` takes the lock for a moment. A process that finds it taken tries again, so often and after so many seconds.
TRIES, PAUSE = 5, 0.05


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a store for one run. Raises HEvalError if another process (which is named) holds it, or no file can be locked."""
    file = folder / FILE
    # Never a soft lock, whose file would outlive a killed run.
    lock = FileLock(file, timeout=TRIES * PAUSE, poll_interval=PAUSE, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise HEvalError(
            f"Another run (process {_last(file)}) is writing to the store {folder}; wait for it, or use another --store."
        ) from None
    except OSError as error:
        raise HEvalError(
            f"The store {folder} cannot be locked ({error.strerror or error}). Some network file systems have no locks; "
            "use a --store on another disk."
        ) from error
    try:
        file.write_text(str(os.getpid()), encoding="utf-8")
        yield
    finally:
        lock.release()


def holder(folder: Path) -> str | None:
    """Return the process that holds the store, found by trying the lock; None if no process does, or can."""
    file = folder / FILE
    if not file.is_file():
        return None
    with file.open("r+" if os.access(file, os.W_OK) else "r") as stream:
        for _ in range(TRIES):
            try:
                if lock_descriptor(stream.fileno(), blocking=False):
                    return None  # closing the file releases it
            except OSError:
                return None  # without locks no run can be active
            time.sleep(PAUSE)
    return _last(file)


def _last(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip() or "unknown"


@dataclass(frozen=True)
class CellProgress:
    """shards: how many are `done`, `running`, `failed` (made with failures in them, or given up) or `missing` (planned by the
    newest run, and not made yet). rows: explainer or kind ▶ rows made so far."""

    key: RegimeKey
    shards: Counter[str]
    rows: Counter[str]


@dataclass(frozen=True)
class Progress:
    """process: the run that holds the store; None if there is none. seconds_left: at the rate of that run so far."""

    cells: tuple[CellProgress, ...]
    failures: tuple[dict[str, Any], ...]
    process: str | None
    seconds_left: float | None

    @property
    def done(self) -> int:
        return sum(cell.shards["done"] for cell in self.cells)

    @property
    def missing(self) -> int:
        return sum(cell.shards["missing"] + cell.shards["running"] for cell in self.cells)


def progress(folder: Path) -> Progress:
    """Read the progress. Raises HEvalError for a store of a newer version."""
    store = ShardStore(folder)
    entries, failures, events = store.entries(), store.failures(), store.events()
    # Of the newest run.
    events = events[max((index for index, line in enumerate(events) if line["event"] == "run"), default=len(events)) :]
    process = holder(folder)

    def keys(event: str) -> set[str]:
        return {key for line in events if line["event"] == event for key in line["keys"]}

    planned: dict[str, RegimeKey] = {
        key: RegimeKey(*(line[name] for name in RegimeKey._fields))
        for line in events
        if line["event"] == "plan"
        for key in line["keys"]
    }
    ended = {line["key"] for line in events if line["event"] == "shard"}
    given_up = {key for line in failures for key in line.get("keys", ()) if key not in entries}
    running = (keys("began") - ended - given_up - keys("failed")) if process else set()
    counts, rows = defaultdict[RegimeKey, Counter[str]](Counter), defaultdict[RegimeKey, Counter[str]](Counter)
    for entry in entries.values():
        if entry.regime:
            cell = entry.cell.of_regime
            counts[cell]["failed" if entry.failed else "done"] += 1
            name = f"{entry.kind}: {entry.explainer}" if KINDS[entry.kind].beside else entry.explainer or entry.kind
            rows[cell][name] += entry.rows
    for key, cell in planned.items():
        if key not in entries:
            counts[cell]["running" if key in running else "failed" if key in given_up else "missing"] += 1
    cells = tuple(CellProgress(cell, counts[cell], rows[cell]) for cell in sorted(counts))
    left = sum(key not in entries for key in planned)
    return Progress(cells, tuple(failures), process, _seconds_left(events, left) if process else None)


def _seconds_left(events: list[dict[str, Any]], left: int) -> float | None:
    """Estimate the seconds left; None before the first shard is done."""
    done = sum(line["event"] == "shard" for line in events)
    began = next((line["at"] for line in events if line["event"] == "began"), None)
    if not done or began is None:
        return None
    taken = (datetime.now(UTC).replace(tzinfo=None) - datetime.fromisoformat(began)).total_seconds()
    return taken / done * left
