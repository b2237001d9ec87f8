"""Grids by name, for `--grid`; every other option replaces what the preset says."""

from __future__ import annotations

from pathlib import Path

from heval_core.datasets.transparent_context_usage import PARTS
from precompute.grid import Grid

_DEMO_MODELS = Path(__file__).parent.parent / "cache" / "demo" / "models"

GRIDS = {
    # The bundled results, but for the heads that these keep.
    "demo": Grid(
        models=tuple(str(_DEMO_MODELS / name) for name in ("demo-gpt2", "demo-gpt_neox", "demo-qwen2")),
        datasets=("world_capital", "country_profiles"),
        limit=200,
    ),
    # Sun et al. 2025: all of it. Their faithfulness (Table B.3) needs --faithfulness.
    "paper": Grid(
        models=("gpt2-xl", "EleutherAI/pythia-2.8b", "EleutherAI/pythia-6.9b", "Qwen/Qwen2.5-3B", "Qwen/Qwen2.5-7B"),
        datasets=tuple(f"transparent_context_usage/{part}" for part in PARTS),
    ),
    # Whether everything works here: seconds.
    "smoke": Grid(
        models=(str(_DEMO_MODELS / "demo-qwen2"),), datasets=("world_capital",), regimes=("conflicting", "mixed"), limit=10
    ),
}
