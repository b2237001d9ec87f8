"""What steps need in memory, each in a process of its own, whose peak no other step has raised."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.models import SMALL, prompts_of, random_model
from benchmarks.timing import explain
from heval_core import catalogue
from heval_core.lm.model import LanguageModel


def in_a_process(function: Callable[..., Any], *given: Any) -> Any:
    """What a function gives there. given, and what it gives: what JSON can hold."""
    code = f"import json; from {function.__module__} import {function.__name__} as f; print(json.dumps(f(*{given!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def memory_above_forward(name: str, tokens: int, explainers: list[str], logits: int = 0) -> float:
    """MiB that explainers add together to the peak of a plain forward pass. logits: of so many last tokens; 0 for all."""
    lm, methods = long_model(name, tokens), [catalogue.method(key) for key in explainers]
    explain(prompts_of(lm, 8, 1), *methods)
    clean = prompts_of(lm, tokens, 1)
    with torch.no_grad():
        lm.model(clean.ids, logits_to_keep=logits)
    before = peak()
    explain(clean, *methods)
    return peak() - before


def long_model(name: str, tokens: int) -> LanguageModel:
    """A small one that reads so many."""
    config = SMALL[name]()
    config.max_position_embeddings = max(tokens, config.max_position_embeddings)
    return random_model(name, config, torch.device("cpu"), torch.float32)


def peak() -> float:
    """MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
