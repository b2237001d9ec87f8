"""A worker does tasks, in this process or in another. It holds one model at a time, and has no access to the store."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from heval_core.records import HEvalError
from precompute.models import Loading
from precompute.task import Result, Task, named


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


def nothing() -> None:
    """Progress that nobody watches."""


class Worker:
    """One device with at most one loaded model."""

    def __init__(self, loading: Loading):
        self.loading = loading
        self.held: str | None = None
        self._loaded: Any = None
        if loading.threads:
            torch.set_num_threads(loading.threads)
        for own in loading.own:
            own.add()

    def do(self, task: Task, questions: Any, progress: Callable[[], None] = nothing) -> Done:
        """Do a task. Every error but an interruption comes back as data. questions: of the task's schedule."""
        done = self._do(task, questions, progress)
        done.held = self.held
        return done

    def _do(self, task: Task, questions: Any, progress: Callable[[], None]) -> Done:
        started = time.perf_counter()
        try:
            loaded = self._load(task)
            ready: Any = task.model.ready(loaded)
        except Exception as error:
            reason = str(error) if isinstance(error, HEvalError) else named(error)
            return Done(None, time.perf_counter() - started, reason, model_failed=True)
        facts = task.model.facts(loaded)
        try:
            result = task.do(ready, questions, progress)
        except Exception as error:
            return Done(None, time.perf_counter() - started, named(error), model=facts)
        return Done(result, time.perf_counter() - started, model=facts)

    def _load(self, task: Task) -> Any:
        """The task's model, which stays loaded for the next task."""
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
