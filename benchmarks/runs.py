"""Runs of small grids: instances a minute by several processes and by one, and what `plan` said; alone and beside loops.

Each run is a process of the command line with a store of its own, as a user types it; its start is in the time.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.threads import beside
from benchmarks.timing import Figure
from heval_core.lm.installed import PACKAGED

BESIDE = (0, 2)
# Grids by name: models, options, and how many instances there are.
GRIDS = {
    "tiny": ("demo-gpt2 demo-qwen2", "--regimes conflicting mixed --limit 200", 800),
    "real": ("smollm2", "--regimes conflicting mixed --limit 8 --template chat --match within --explainers fa,attn,cgim", 16),
    "long": ("demo-qwen2-long", "--regimes mixed.256-first --limit 40 --explainers fa,attn,cgim", 40),
    "techniques": ("demo-qwen2", "--regimes gold conflicting irrelevant --limit 300 --techniques cad,acd", 900),
    "answers": ("demo-qwen2", "--regimes gold conflicting --limit 12 --answers --explainers attn,cgim", 24),
}


def run_figures() -> Iterator[Figure]:
    """Yield for each grid the ratio of both speeds, and of both times: the plan's and the run's."""
    for name, (models, options, instances) in GRIDS.items():
        if models in PACKAGED and PACKAGED[models].problem():
            continue
        grid = ["--models", *models.split(), "--datasets", "world_capital", *options.split()]
        for busy in BESIDE:
            with beside(busy), tempfile.TemporaryDirectory() as folder:
                planned = json.loads(_typed("plan", *grid, "--json", "--store", f"{folder}/plan"))["seconds"]
                taken = {workers: _seconds(grid, workers, Path(folder) / workers) for workers in ("auto", "1")}
            where = f"{name}, {'idle' if not busy else f'beside {busy} busy'}"
            speeds = ", ".join(f"{workers} {60 * instances / seconds:.0f}" for workers, seconds in taken.items())
            ratio = taken["1"] / taken["auto"]
            yield Figure(models, instances, f"{where}: --workers auto / 1", ratio, detail=f"instances a minute: {speeds}")
            detail = f"said {planned:.0f} s, took {taken['auto']:.0f} s"
            yield Figure(models, instances, f"{where}: plan / run", planned / taken["auto"], detail=detail)


def _seconds(grid: Sequence[str], workers: str, store: Path) -> float:
    began = time.perf_counter()
    _typed("run", *grid, "--quiet", "--workers", workers, "--store", str(store))
    return time.perf_counter() - began


def _typed(*words: str) -> str:
    command = [sys.executable, "-m", "precompute", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
