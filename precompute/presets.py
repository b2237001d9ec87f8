"""Grids by name, for `--grid`; every other option replaces what the preset says."""

from __future__ import annotations

from pathlib import Path

from heval_core import catalogue
from heval_core.datasets.transparent_context_usage import PARTS
from heval_core.records import CONTEXT_KINDS
from precompute.grid import Grid

_DEMO_MODELS = Path(__file__).parent.parent / "cache" / "demo" / "models"

_CUB = ("regular", "prompting", "multi_agent", "ph3", "ph3(mode=memory)", "coiecd", "acd", "fine_tuning")

GRIDS = {
    # The bundled results, but for the heads that these keep.
    "demo": Grid(
        models=tuple(str(_DEMO_MODELS / name) for name in ("demo-gpt2", "demo-gpt_neox", "demo-qwen2")),
        datasets=("world_capital", "country_profiles"),
        limit=200,
    ),
    # Sun et al. 2025: all of it, in their layout. Their faithfulness (Table B.3) needs --faithfulness.
    "paper": Grid(
        models=("gpt2-xl", "EleutherAI/pythia-2.8b", "EleutherAI/pythia-6.9b", "Qwen/Qwen2.5-3B", "Qwen/Qwen2.5-7B"),
        datasets=tuple(f"transparent_context_usage/{part}" for part in PARTS),
        template="plain",
    ),
    # CUB (arXiv 2505.16518): its nine models, seven techniques and three datasets.
    "cub": Grid(
        models=(
            "gpt2-xl",
            "EleutherAI/pythia-6.9b",
            *(f"Qwen/Qwen2.5-{size}" for size in ("1.5B", "1.5B-Instruct", "7B", "7B-Instruct", "32B", "32B-Instruct")),
            "CohereForAI/c4ai-command-a-03-2025",
        ),
        datasets=("counterfact", "nq", "druid"),
        regimes=CONTEXT_KINDS,
        explainers=(),
        template="plain",
        techniques=tuple(key for key in _CUB if key.split("(")[0] in catalogue.techniques()),
    ),
    # Whether techniques work here: under two minutes.
    "cub-smoke": Grid(
        models=(str(_DEMO_MODELS / "demo-qwen2"),),
        datasets=("world_capital",),
        regimes=CONTEXT_KINDS,
        explainers=(),
        techniques=("regular", "cad", "adacad", "acd", "coiecd"),
        limit=60,
    ),
    # Whether everything works here: seconds.
    "smoke": Grid(
        models=(str(_DEMO_MODELS / "demo-qwen2"),), datasets=("world_capital",), regimes=("conflicting", "mixed"), limit=10
    ),
}
