"""Who does tasks: a worker holds one model at a time, in this process or in another, and has no access to the store.

Executors hand tasks to workers: `Local`, here, one task after the other; `OnRay`, wherever Ray has room.

With Ray, workers are actors. They need the models (hub ids, or folders at the same path) and nothing else: questions and rows
go through Ray's object store, so that no folder has to be shared. An actor that dies is restarted and its task done again; a
task that kills its actor every time ends as an error.
"""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from heval_core.lm.fits import Fit
from heval_core.lm.loading import Identity, choose_device, load
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError
from precompute.custom_file import CustomFile
from precompute.questions import Questions
from precompute.task import Result, Task, named

# How often Ray tries a task again whose worker died.
RETRIES = 3


@dataclass(frozen=True)
class Loading:
    """How models are loaded; see `load`. threads: of torch; None leaves them as they are.

    answers: where answers of servers are kept, by a worker in the driver's own process; None elsewhere. custom: explainers
    from files outside the package. fits: of explainers that have parameters.
    """

    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None
    answers: Path | None = None
    custom: tuple[CustomFile, ...] = ()
    fits: tuple[Fit, ...] = ()


@dataclass(frozen=True)
class NoModel:
    """The model of a task that reads nothing but its own data. A worker keeps what it has loaded."""

    name = ""
    key = ""
    revision = ""
    # Whether a worker keeps it loaded for the next task, in place of what it held.
    stays = False

    def depends(self, dtype: str) -> list[str]:
        """Return what tells it from every other. Raises HEvalError for a model that does not exist."""
        return []

    def load(self, loading: Loading) -> Any:
        return None

    def ready(self, loaded: Any) -> Any:
        """Return what the task is given. loaded: as `load` gave it."""
        return loaded

    def facts(self, loaded: Any) -> dict[str, Any]:
        """Return a row of the table `model`; empty if it has none."""
        return {}


@dataclass(frozen=True)
class Model:
    """A language model. name: as `load` reads it. identity: with the grid's template, if the grid has one."""

    name: str
    identity: Identity
    stays = True

    @property
    def key(self) -> str:
        return self.identity.key

    @property
    def revision(self) -> str:
        return self.identity.revision

    def depends(self, dtype: str) -> list[str]:
        return [type(self).__name__, self.key, self.revision, self.identity.template, dtype]

    def load(self, loading: Loading) -> LanguageModel:
        lm = load(self.name, loading.device, loading.dtype, loading.batch_tokens)
        lm.fits.give(loading.fits)
        return lm

    def ready(self, loaded: LanguageModel) -> Any:
        loaded.template = self.identity.template
        return loaded

    def facts(self, loaded: LanguageModel) -> dict[str, Any]:
        tokenizer = loaded.tokenizer
        encoded = tokenizer("x").input_ids
        bos = tokenizer.bos_token_id
        return {
            "model": loaded.key,
            **{name: getattr(loaded, name) for name in ("revision", "layers", "kv_heads", "width", "positions")},
            "architecture": loaded.model.config.model_type,
            "heads": loaded.heads_per_layer,
            "parameters": sum(p.numel() for p in loaded.model.parameters()),
            "bos_id": bos,
            "adds_bos": bool(encoded) and bos is not None and encoded[0] == bos,
            "pad_id": tokenizer.pad_token_id,
            "baseline_id": loaded.baseline(),
            "prompt_style": loaded.style,
            "float32_logits": loaded.read_out.is_float32,
        }


@dataclass
class Done:
    """The outcome of a task.

    result: None if the task failed, and `error` says why. model_failed: whether the model could not be loaded, so that none of
    its tasks can be done. model: a row of the table `model`, empty if the model has none; None if it is not known whether the
    model was loaded. held: the name of the model that the worker holds now.
    """

    result: Result | None
    seconds: float = 0.0
    error: str = ""
    model_failed: bool = False
    model: dict[str, Any] | None = None
    held: str | None = None


class Worker:
    """One device with at most one loaded model."""

    def __init__(self, loading: Loading):
        self.loading = loading
        self.held: str | None = None
        self._loaded: Any = None
        if loading.threads:
            torch.set_num_threads(loading.threads)
        for file in loading.custom:
            file.add()

    def do(self, task: Task, questions: Any) -> Done:
        """Do a task. Every error but an interruption comes back as data. questions: of the task's schedule."""
        started, facts = time.perf_counter(), None
        result: Result | None = None
        error, model_failed = "", True
        try:
            loaded = self._load(task)
            ready: Any = task.model.ready(loaded)
            facts, model_failed = task.model.facts(loaded), False
            result = task.do(ready, questions)
        except Exception as raised:
            error = str(raised) if model_failed and isinstance(raised, HEvalError) else named(raised)
        return Done(result, time.perf_counter() - started, error, model_failed, facts, self.held)

    def device(self) -> str:
        return choose_device(self.loading.device).type

    def _load(self, task: Task) -> Any:
        model: Any = task.model
        if not model.stays:
            return model.load(self.loading)
        if self._loaded is None or self.held != model.name:
            self.held, self._loaded = None, None
            gc.collect()  # two models at once may be more than the device holds
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            self._loaded = model.load(self.loading)
            self.held = model.name
        return self._loaded


class Executor(Protocol):
    """Takes tasks while a worker is free, and returns their outcomes in the order in which they end.

    device: what its workers compute on: cpu, cuda or mps. held: the names of the models that free workers hold, whose tasks
    begin without loading. submit: on a free worker, one that holds the task's model if there is one. next_done: waits for any
    running task; a worker's death is returned as an error, not raised. close: running tasks are dropped.
    """

    def device(self) -> str: ...
    def free(self) -> bool: ...
    def held(self) -> frozenset[str]: ...
    def submit(self, task: Task, questions: Questions | None) -> None: ...
    def next_done(self) -> tuple[Task, Done]: ...
    def close(self) -> None: ...


class Local:
    """One process, one device: tasks one after the other, in order."""

    def __init__(self, loading: Loading):
        self._worker = Worker(loading)
        self._begun: tuple[Task, Questions | None] | None = None

    def device(self) -> str:
        return self._worker.device()

    def free(self) -> bool:
        return self._begun is None

    def held(self) -> frozenset[str]:
        return frozenset({self._worker.held} if self._worker.held else ())

    def submit(self, task: Task, questions: Questions | None) -> None:
        self._begun = (task, questions)

    def next_done(self) -> tuple[Task, Done]:
        assert self._begun is not None
        task, questions = self._begun
        done = self._worker.do(task, questions)
        self._begun = None
        return task, done

    def close(self) -> None:
        self._begun = None


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
        actor = ray.remote(max_restarts=-1, max_task_retries=RETRIES, **needs)(Worker)
        self._make = lambda: actor.remote(loading)
        self._idle: list[tuple[Any, str | None]] = [(self._make(), None) for _ in range(number)]
        self._busy: dict[Any, tuple[Any, Task]] = {}
        self._sent: dict[int, tuple[Questions | None, Any]] = {}

    def device(self) -> str:
        return str(self._ray.get(self._idle[0][0].device.remote()))

    def free(self) -> bool:
        return bool(self._idle)

    def held(self) -> frozenset[str]:
        return frozenset(held for _, held in self._idle if held)

    def submit(self, task: Task, questions: Questions | None) -> None:
        held = [name for _, name in self._idle]
        # A worker without a model comes before one that would have to give up its own.
        wanted = next((name for name in (task.model.name, None) if name in held), held[0])
        actor, _ = self._idle.pop(held.index(wanted))
        if id(questions) not in self._sent:  # kept alive beside its reference, so that its id stays its own
            self._sent[id(questions)] = (questions, self._ray.put(questions))
        self._busy[actor.do.remote(task, self._sent[id(questions)][1])] = (actor, task)

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
