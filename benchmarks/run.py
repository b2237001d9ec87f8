"""The whole benchmark, and the machine it ran on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig

from benchmarks import shortcuts
from benchmarks.citations import citation_figures
from benchmarks.paper import on_gpu
from benchmarks.ratios import figures, memory_figure, method_figures, short_figure
from benchmarks.relevance import relevance_figures
from benchmarks.techniques import technique_figures
from benchmarks.timing import SMALL, Figure, as_line, random_model
from heval_core import installed
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError

PARTS = ("explainers", "relevance", "techniques", "citations", "shortcuts", "gpu")
PROMPTS = 20


def run(
    names: list[str],
    tokens: list[int],
    out: Path | None,
    say: Callable[[str], None],
    only: str | None = None,
    prompts: int = PROMPTS,
) -> dict[str, Any]:
    """The benchmark; also as JSON where `out` says. names: of SMALL, of installed models, local folders, hub ids.

    only: one of PARTS; without it all but `shortcuts`, which asks `prompts` prompts of real models.
    """
    rows: list[dict[str, Any]] = []
    for name in [] if only == "shortcuts" else names or list(SMALL):
        for figure in figures_of(name, tokens, only):
            rows.append(asdict(figure) | {"reached": figure.reached})
            say(as_line(figure))
    result: dict[str, Any] = {"machine": machine(), "figures": rows}
    if only == "shortcuts":  # on real models, and long
        found = installed.places()
        paths = [str(found[name].path) if name in found else name for name in names or list(found)]
        result["shortcuts"] = list(shortcuts.figures(paths, tokens, prompts, say))
    if only in (None, "gpu"):
        result |= on_gpu(say)
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def figures_of(name: str, tokens: list[int], only: str | None = None) -> Iterator[Figure]:
    """The figures of one model. Raises HEvalError for a length that the model cannot read."""
    if only == "gpu":
        return
    config = SMALL[name]() if name in SMALL else AutoConfig.from_pretrained(name, trust_remote_code=False)
    lm = random_model(name, config, torch.device("cpu"), torch.float32)
    if only in (None, "explainers"):
        yield from _explainers(name, lm, tokens)
    if only in (None, "explainers", "relevance"):
        yield from relevance_figures(name, lm)
    if only in (None, "techniques"):
        yield from technique_figures(name, lm)
    if only in (None, "citations"):
        yield from citation_figures(name, lm)


def _explainers(name: str, lm: LanguageModel, tokens: list[int]) -> Iterator[Figure]:
    for length in tokens:
        if length > lm.positions:
            raise HEvalError(f"{name} reads at most {lm.positions} tokens; --tokens asks for {length}.")
        yield from figures(name, lm, length)
        yield from method_figures(name, lm, length)
    yield short_figure(name, lm)
    if name in SMALL:
        yield memory_figure(name)
        yield from shortcuts.rounding_figures(name)


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
