"""Workers in a cluster: actors of Ray, which need the models (hub ids, or folders at the same path) and nothing else.

Questions and rows go through Ray's object store, so that no folder has to be shared: only the driver writes. The task of an
actor that dies, or whose node does, is done again by another one, on whatever node has room; a task that kills its actor every
time ends as an error. Where the driver or the head dies, all actors end with it, and the same command goes on from the store.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from heval_core.records import HEvalError
from precompute.messages import say_progress
from precompute.questions import Questions
from precompute.task import Task
from precompute.worker import Done, Loading, Worker, in_words

# How often a task is done again whose worker died.
RETRIES = 3
# Seconds after which it is looked again whether a node has joined.
LOOK = 5.0


def on_ray(address: str | None = None, workers: int | None = None, cpus_per_worker: int = 2) -> Callable[[Loading], OnRay]:
    """Make an executor for `run`.

    address: of a cluster to join, or `auto`; None starts one here.
    workers: one per GPU by default, or one per `cpus_per_worker` CPUs where there is no GPU.
    Raises HEvalError where Ray is not installed, there is no such cluster, or it has no room for a worker.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when Ray is imported: nothing is sent anywhere
    try:
        import ray
    except ImportError as error:
        raise HEvalError("Ray is not installed; run: pip install -r requirements-ray.txt") from error
    try:
        ray.init(
            address=address, include_dashboard=None if address else False, logging_level=logging.ERROR, log_to_driver=False
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise HEvalError(f"There is no Ray cluster at {address}: {str(error).splitlines()[0]}") from error
    return lambda loading: OnRay(loading, workers, cpus_per_worker)


class OnRay:
    """Actors in a cluster that was joined or started by `on_ray`."""

    def __init__(self, loading: Loading, workers: int | None, cpus_per_worker: int):
        import ray

        self._ray, self._cpus = ray, cpus_per_worker
        gpus, cpus = self._room()
        number = workers or gpus or cpus // cpus_per_worker
        if number < 1 or (gpus and number > gpus) or (not gpus and number * cpus_per_worker > cpus):
            raise HEvalError(
                f"The Ray cluster has {gpus} GPUs and {cpus} CPUs, no room for {number or 'any'} workers"
                f"{'' if gpus else f' of {cpus_per_worker} CPUs'}; set --workers or --cpus-per-worker."
            )
        self._number, self._on_gpus = number, bool(gpus)
        needs = {"num_gpus": 1, "num_cpus": 0} if gpus else {"num_cpus": cpus_per_worker}
        loading = replace(loading, threads=cpus_per_worker, answers=None)
        # Ray would start an actor again where it was, and wait for a node that is gone: the driver starts another one.
        actor = ray.remote(max_restarts=0, max_task_retries=0, **needs)(Worker)
        self._make = lambda: actor.remote(loading)
        self._idle: list[tuple[Any, str | None]] = [(self._make(), None) for _ in range(number)]
        self._busy: dict[Any, tuple[Any, Task, Questions | None]] = {}
        # Workers that were started since, by what says that they are there: a node may be counted that is gone.
        self._coming: dict[Any, Any] = {}
        self._again: list[tuple[Task, Questions | None]] = []
        self._deaths: Counter[tuple[str, ...]] = Counter()
        self._sent: dict[int, tuple[Questions | None, Any]] = {}

    def _room(self) -> tuple[int, int]:
        """Return how many GPUs and CPUs the cluster has now."""
        room = self._ray.cluster_resources()
        return int(room.get("GPU", 0)), int(room.get("CPU", 0))

    def device(self) -> str:
        return str(self._ray.get(self._idle[0][0].device.remote()))

    def expect(self, rows: Mapping[Any, int]) -> str:
        return f"on Ray: {in_words(self._number, self._cpus)}"

    def free(self) -> bool:
        return bool(self._idle) and not self._again

    def held(self) -> frozenset[str]:
        return frozenset(held for _, held in self._idle if held)

    def submit(self, task: Task, questions: Questions | None) -> None:
        self._send(task, questions)

    def _send(self, task: Task, questions: Questions | None) -> None:
        held = [name for _, name in self._idle]
        # A worker without a model comes before one that would have to give up its own.
        wanted = next((name for name in (task.model.name, None) if name in held), held[0])
        actor, _ = self._idle.pop(held.index(wanted))
        if id(questions) not in self._sent:  # kept alive beside its reference, so that its id stays its own
            self._sent[id(questions)] = (questions, self._ray.put(questions))
        self._busy[actor.do.remote(task, self._sent[id(questions)][1])] = (actor, task, questions)

    def next_done(self) -> tuple[Task, Done]:
        while True:
            self._start_again()
            if not self._busy and not self._coming:
                say_progress("no worker is left in the cluster; waiting for a node")
                time.sleep(LOOK)
                continue
            ready, _ = self._ray.wait([*self._busy, *self._coming], num_returns=1, timeout=LOOK)
            for first in (one for one in ready if one in self._busy):
                actor, task, questions = self._busy.pop(first)
                try:
                    done = self._ray.get(first)
                except self._ray.exceptions.RayError as error:
                    self._ray.kill(actor)
                    self._deaths[task.keys] += 1
                    if self._deaths[task.keys] > RETRIES:
                        return task, Done(None, error=_death(error))
                    self._again.append((task, questions))
                else:
                    self._idle.append((actor, done.held))
                    return task, done

    def _start_again(self) -> None:
        """Start workers in place of dead ones, as far as the cluster has room; tasks whose worker died come first."""
        gpus, cpus = self._room()
        room = gpus if self._on_gpus else cpus // self._cpus
        there, _ = self._ray.wait(list(self._coming), num_returns=len(self._coming), timeout=0) if self._coming else ([], [])
        self._idle += [(self._coming.pop(one), None) for one in there]
        missing = min(self._number, room) - len(self._idle) - len(self._busy) - len(self._coming)
        for _ in range(missing):
            actor = self._make()
            self._coming[actor.device.remote()] = actor
        for _ in range(min(-missing, len(self._coming))):
            self._ray.kill(self._coming.popitem()[1])
        while self._again and self._idle:
            self._send(*self._again.pop())

    def close(self) -> None:
        self._ray.shutdown()


def _death(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'a worker died'}"[:1000]
