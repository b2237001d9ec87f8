"""Ray Core actors, one per GPU (or per some CPUs), each holding one loaded model and doing one task at a time.

Workers need the models (hub ids, or folders at the same path) and nothing else: a dataset's questions reach them through
Ray's object store, and rows come back through it, so that no folder has to be shared and the driver alone writes. An actor
that dies is restarted and its task done again; a task that kills its actor every time ends as an error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from heval_core.records import HEvalError
from precompute.questions import Questions
from precompute.task import Task
from precompute.worker import Done, Loading, Worker

RETRIES = 3


class RemoteWorker(Worker):
    """A worker that can name its device."""

    def device(self) -> str:
        from heval_core.lm.loading import choose_device

        return choose_device(self.loading.device).type

    def process(self) -> int:
        return os.getpid()


def on_ray(
    address: str | None = None, workers: int | None = None, cpus_per_worker: int = 2
) -> Callable[[Loading, Callable[[], None]], OnRay]:
    """An executor for `run`. address: of a cluster to join, or `auto`; None starts one here.

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
    return lambda loading, progress: OnRay(loading, workers, cpus_per_worker)


class OnRay:
    """Actors in a cluster that was joined or started by `on_ray`."""

    def __init__(self, loading: Loading, workers: int | None, cpus_per_worker: int):
        import ray

        self._ray = ray
        room = ray.cluster_resources()
        gpus, cpus = int(room.get("GPU", 0)), int(room.get("CPU", 0))
        number = workers or gpus or cpus // cpus_per_worker
        if number < 1 or (gpus and number > gpus) or (not gpus and number * cpus_per_worker > cpus):
            raise HEvalError(
                f"The Ray cluster has {gpus} GPUs and {cpus} CPUs, no room for {number or 'any'} workers"
                f"{'' if gpus else f' of {cpus_per_worker} CPUs'}; set --workers or --cpus-per-worker."
            )
        needs = {"num_gpus": 1, "num_cpus": 0} if gpus else {"num_cpus": cpus_per_worker}
        loading = replace(loading, threads=cpus_per_worker, answers=None)
        # Ray's own defaults are no restart and no retry.
        actor = ray.remote(max_restarts=-1, max_task_retries=RETRIES, **needs)(RemoteWorker)
        self._make = lambda: actor.remote(loading)
        self._idle: list[tuple[Any, str | None]] = [(self._make(), None) for _ in range(number)]
        self._busy: dict[Any, tuple[Any, Task]] = {}
        self._asked: dict[int, tuple[Questions | None, Any]] = {}

    def device(self) -> str:
        return str(self._ray.get(self._idle[0][0].device.remote()))

    def free(self) -> bool:
        return bool(self._idle)

    def held(self) -> frozenset[str]:
        return frozenset(held for _, held in self._idle if held)

    def submit(self, task: Task, questions: Questions | None) -> None:
        place = next((i for i, (_, held) in enumerate(self._idle) if held == task.model.name), self._blank())
        actor, _ = self._idle.pop(place)
        if id(questions) not in self._asked:  # kept alive beside its reference, so that its id stays its own
            self._asked[id(questions)] = (questions, self._ray.put(questions))
        self._busy[actor.do.remote(task, self._asked[id(questions)][1])] = (actor, task)

    def _blank(self) -> int:
        """A worker without a model, before one that would have to give up its own."""
        return next((i for i, (_, held) in enumerate(self._idle) if held is None), 0)

    def next_done(self) -> tuple[Task, Done]:
        (first, *_), _ = self._ray.wait(list(self._busy), num_returns=1)
        actor, task = self._busy.pop(first)
        try:
            done = self._ray.get(first)
        except self._ray.exceptions.RayError as error:
            self._ray.kill(actor)
            self._idle.append((self._make(), None))
            lines = [line for line in str(error).splitlines() if line.strip()]
            return task, Done(None, error=f"{type(error).__name__}: {lines[0] if lines else 'a worker died'}"[:1000])
        self._idle.append((actor, done.held))
        return task, done

    def close(self) -> None:
        self._ray.shutdown()
