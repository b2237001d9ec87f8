"""Who does tasks: a worker holds one model at a time, in this process or in another, and has no access to the store.

Executors hand tasks to workers: `Local`, here, one task after the other; `Processes`, to several on this machine; `OnRay`,
wherever Ray has room.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from heval_core.lm.batches import last_logits
from heval_core.lm.fits import Fit
from heval_core.lm.loading import Identity, choose_device, load
from heval_core.lm.model import LanguageModel
from heval_core.prompting.prompts import memory_prompt
from heval_core.records import HEvalError
from precompute.custom_file import CustomFile
from precompute.questions import Questions
from precompute.task import Result, Task, named

# As many threads as are fastest on a model's first batch, which is its first questions.
FASTEST, FIRST = 0, 32


@dataclass(frozen=True)
class Loading:
    """How models are loaded; see `load`. threads: of torch, or FASTEST, of at most `cores`; None leaves them as they are.

    answers: where answers of servers are kept, by a worker in the driver's own process; None elsewhere. custom: explainers
    from files outside the package. fits: of explainers that have parameters.
    """

    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None
    cores: int = 1
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

    result: None if the task failed, and `error` says why. seconds: without loading the model. model_failed: whether the model
    could not be loaded, so that none of its tasks can be done. model: a row of the table `model`, empty if the model has none;
    None if it is not known whether the model was loaded. held: the name of the model that the worker holds now.
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
            loaded = self._load(task, questions)
            started = time.perf_counter()
            ready: Any = task.model.ready(loaded)
            facts, model_failed = task.model.facts(loaded), False
            result = task.do(ready, questions)
        except Exception as raised:
            error = str(raised) if model_failed and isinstance(raised, HEvalError) else named(raised)
        return Done(result, time.perf_counter() - started, error, model_failed, facts, self.held)

    def device(self) -> str:
        return choose_device(self.loading.device).type

    def _load(self, task: Task, questions: Any) -> Any:
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
            if self.loading.threads == FASTEST:
                self._choose_threads(self._loaded, questions)
        return self._loaded

    def _choose_threads(self, lm: LanguageModel, questions: Any) -> None:
        first = [fact.question for fact in getattr(questions, "facts", ())[:FIRST]] or ["What is it?"]
        prompts = [lm.tokenise(memory_prompt(question, lm.template), check_length=False) for question in first]
        torch.set_num_threads(fastest(lambda: last_logits(lm, prompts), self.loading.cores))


def fastest(passes: Callable[[], Any], most: int, now: Callable[[], float] = time.perf_counter) -> int:
    """Time some passes under 1, 2, 4, … threads. Returns the number of the fastest, the smallest of equal ones.

    most: threads at most. The first time of each number does not count: its threads begin then.
    """
    taken = {}
    for threads in sorted({*(1 << power for power in range(most.bit_length())), most}):
        torch.set_num_threads(threads)
        passes()
        began = now()
        passes()
        taken[threads] = now() - began
    return min(taken, key=lambda threads: (taken[threads], threads))


def in_words(workers: int, threads: int) -> str:
    """Say who works."""
    one = "thread" if threads == 1 else "threads"
    many = f"as many {one}s as are fastest" if threads == FASTEST else f"{threads} {one}"
    return f"one process of {many}" if workers == 1 else f"{workers} processes of {many} each"


class Executor(Protocol):
    """Takes tasks while a worker is free, and returns their outcomes in the order in which they end.

    device: what its workers compute on: cpu, cuda or mps. expect: hears how many rows are to be made with each model, before
    the first task; returns who works, in words. held: the names of the models that free workers hold, whose tasks
    begin without loading. submit: on a free worker, one that holds the task's model if there is one. next_done: waits for any
    running task; a worker's death is returned as an error, not raised. close: running tasks are dropped.
    """

    def device(self) -> str: ...
    def expect(self, rows: Mapping[Any, int]) -> str: ...
    def free(self) -> bool: ...
    def held(self) -> frozenset[str]: ...
    def submit(self, task: Task, questions: Questions | None) -> None: ...
    def next_done(self) -> tuple[Task, Done]: ...
    def close(self) -> None: ...


class Local:
    """One process, one device: tasks one after the other, in order."""

    def __init__(self, loading: Loading):
        self._threads = torch.get_num_threads()
        self._worker = Worker(loading)
        self._begun: tuple[Task, Questions | None] | None = None

    def device(self) -> str:
        return self._worker.device()

    def expect(self, rows: Mapping[Any, int]) -> str:
        threads = self._worker.loading.threads
        return in_words(1, torch.get_num_threads() if threads is None else threads)

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
        torch.set_num_threads(self._threads)  # whoever works in this process next has its own
