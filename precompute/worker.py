"""A worker does tasks, in this process or in another. It holds one model at a time, and has no access to the store."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError
from precompute.outcome import Result, named
from precompute.preparation import Model
from precompute.questions import Questions
from precompute.tasks import Task


@dataclass(frozen=True)
class Loading:
    """How models are loaded; see `load`. threads: of torch; None leaves them as they are."""

    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None


@dataclass
class Done:
    """The outcome of a task.

    result: None if the task failed, and `error` says why. model_failed: whether the model could not be loaded, so that none of
    its tasks can be done. model: a row of the table `model`.
    """

    result: Result | None
    seconds: float = 0.0
    error: str = ""
    model_failed: bool = False
    model: dict[str, Any] | None = None


def nothing() -> None:
    """Progress that nobody watches."""


class Worker:
    """One device with at most one loaded model."""

    def __init__(self, loading: Loading):
        self.loading = loading
        self.held: str | None = None
        self._lm: LanguageModel | None = None
        if loading.threads:
            torch.set_num_threads(loading.threads)

    def do(self, task: Task, questions: Questions, progress: Callable[[], None] = nothing) -> Done:
        """Do a task. Every error but an interruption comes back as data."""
        started = time.perf_counter()
        try:
            lm = self._model(task.model)
        except Exception as error:
            reason = str(error) if isinstance(error, HEvalError) else named(error)
            return Done(None, time.perf_counter() - started, reason, model_failed=True)
        try:
            result = task.do(lm, questions, progress)
        except Exception as error:
            return Done(None, time.perf_counter() - started, named(error), model=facts_of(lm))
        return Done(result, time.perf_counter() - started, model=facts_of(lm))

    def _model(self, model: Model) -> LanguageModel:
        if self._lm is None or self.held != model.name:
            self.held, self._lm = None, None
            gc.collect()  # two models at once may be more than the device holds
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            self._lm = load(model.name, self.loading.device, self.loading.dtype, self.loading.batch_tokens)
            self.held = model.name
        self._lm.template = model.identity.template
        return self._lm


def facts_of(lm: LanguageModel) -> dict[str, Any]:
    """A row of the table `model`."""
    tokenizer = lm.tokenizer
    encoded = tokenizer("x").input_ids
    bos = tokenizer.bos_token_id
    return {
        "model": lm.key,
        "revision": lm.revision,
        "architecture": lm.model.config.model_type,
        "layers": lm.layers,
        "heads": lm.heads_per_layer,
        "kv_heads": lm.kv_heads,
        "width": lm.width,
        "parameters": sum(p.numel() for p in lm.model.parameters()),
        "positions": lm.positions,
        "bos_id": bos,
        "adds_bos": bool(encoded) and bos is not None and encoded[0] == bos,
        "pad_id": tokenizer.pad_token_id,
        "baseline_id": lm.baseline_id,
        "prompt_style": lm.style,
        "float32_logits": lm.read_out.is_float32,
    }
