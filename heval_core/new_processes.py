"""Starts processes that import once, and share it: they are forked from a server that holds no thread, where there is one."""

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

# What a container may take and has taken, in either version of control groups.
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def cores() -> int:
    """Return how many processes of one thread this process may keep busy; `OMP_NUM_THREADS` may say fewer than its cores."""
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    named = os.environ.get("OMP_NUM_THREADS", "")
    return min(able, int(named)) if named.isdecimal() and int(named) else able


def free_memory(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes of memory that are free, also within the limits of a container."""
    free = [psutil.virtual_memory().available]
    for limit, used in _LIMITS:
        try:
            free.append(int((groups / limit).read_text()) - int((groups / used).read_text()))
        except (OSError, ValueError):
            continue  # no container, or one without a limit
    return max(0, min(free))


def processes_after(module: str) -> Any:
    """Return the context of `multiprocessing` whose processes have imported a module; Windows has none that share it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


@contextmanager
def without_main() -> Iterator[None]:
    """Start processes that do not run the main module again, which may be a user's script, or a page."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
