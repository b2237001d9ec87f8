"""Only one run at a time writes to a store: the lock that it holds, and how others see which process holds it.

The operating system keeps the lock (`filelock` uses flock), so a killed process, even by kill -9, no longer holds it. The
lock file names the process that took it last.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout, lock_descriptor

from heval_core.records import HEvalError

FILE = "writer.lock"
# `holder` takes the lock for a moment. A process that finds it taken tries again, so often and after so many seconds.
TRIES, PAUSE = 5, 0.05


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a store for one run.

    Raises HEvalError if another process holds it (naming that process), or if its file system has no locks.
    """
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
    """The process that holds the store, found by trying the lock; None if no process does, or can."""
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
