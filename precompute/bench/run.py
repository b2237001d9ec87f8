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

from heval_core.records import HEvalError
from precompute.bench import precision
from precompute.bench.agreement import rounding_figures
from precompute.bench.models import SMALL, random_model
from precompute.bench.paper import on_gpu
from precompute.bench.ratios import figures, memory_figure, short_figure
from precompute.bench.timing import Figure, as_line


def run(names: list[str], tokens: list[int], out: Path | None, say: Callable[[str], None]) -> dict[str, Any]:
    """The whole benchmark; also as JSON where `out` says. names: of SMALL, or local folders and hub ids."""
    cpu = torch.device("cpu")
    rows: list[Figure] = []
    for name in names or list(SMALL):
        if name in SMALL:
            lm = random_model(name, SMALL[name](), cpu, torch.float32)
        else:
            config = AutoConfig.from_pretrained(name, trust_remote_code=False)
            lm = random_model(name, config, cpu, torch.float32)
        for length in tokens:
            if length > lm.positions:
                raise HEvalError(f"{name} reads at most {lm.positions} tokens; --tokens asks for {length}.")
            for figure in figures(name, lm, length):
                rows.append(figure)
                say(as_line(figure))
        rows.append(short_figure(name, lm))
        say(as_line(rows[-1]))
        if name in SMALL:
            for figure in (memory_figure(name), *rounding_figures(name)):
                rows.append(figure)
                say(as_line(figure))
    compared = list(precisions(say))
    result = {
        "machine": machine(),
        "figures": [asdict(f) | {"reached": f.reached} for f in rows],
        "precision": compared,
    } | on_gpu(say)
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def precisions(say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A bfloat16 run beside a float32 run of the same weights: the demo models, whose answers and documents are known."""
    for folder in sorted(path for path in precision.DEMO.iterdir() if path.is_dir()):
        for found in precision.compare(str(folder)):
            say(precision.as_line(found))
            yield precision.as_row(found)


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
