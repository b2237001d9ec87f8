"""The hours that the paper's grid, and CUB's, take on this machine's GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from benchmarks import cub
from benchmarks.agreement import agreement
from benchmarks.models import REAL, parameters_of_layers, prompts_of, random_model
from benchmarks.timing import best, explain, matrix_rate
from heval_core import catalogue, protocols
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.records import REGIMES

REAL_TOKENS = (40, 150, 300)
# The paper's grid (methods.md, section 1 and 5): explained instances per regime, and about how long their prompts are.
PAPER = {"world_capital": (2000, 40), "counterfact": (802, 40), "fakepedia": (1000, 300), "conflictqa": (1000, 300)}


def on_gpu(say: Callable[[str], None]) -> dict[str, Any]:
    if not torch.cuda.is_available():
        say("no NVIDIA GPU here: the real sizes were not run")
        return {"gpu": None, "cub_hours": cub.say_hours(cub.ASSUMED_RATE, "assumed", say)}
    rows = []
    for name, config in REAL.items():
        lm = random_model(name, config(), torch.device("cuda"), torch.bfloat16)
        for tokens in REAL_TOKENS:
            rows.append(throughput(name, lm, tokens))
            speeds = ", ".join(f"{what} {speed:.1f}" for what, speed in rows[-1]["instances_per_second"].items())
            say(f"{name:14} {tokens:4} tokens: instances/s {speeds}; fa at {rows[-1]['share_of_matrix_rate']:.0%}")
        del lm
        torch.cuda.empty_cache()
    hours = paper_hours(rows)
    say("the paper's grid: " + ", ".join(f"{model} {value:.1f} h" for model, value in hours.items()))
    rate = min(row["share_of_matrix_rate"] * row["matrix_rate"] for row in rows if row["tokens"] != min(REAL_TOKENS))
    cub_hours = cub.say_hours(rate, "the least that fa reached here on prompts of more than 40 tokens", say)
    return {"gpu": torch.cuda.get_device_name(), "throughput": rows, "paper_hours": hours, "cub_hours": cub_hours}


def throughput(name: str, lm: LanguageModel, tokens: int) -> dict[str, Any]:
    """Instances a second of each explainer on a GPU, as the batch job asks, and fa's share of the matrix-product rate."""
    size = min(64, lm.budget.holds(tokens))
    clean = prompts_of(lm, tokens, size)
    rate = matrix_rate(lm.device, lm.model.dtype, rows=8192, width=lm.width)
    methods = [catalogue.method(key) for key in catalogue.default_methods()]
    looking = [method for method in methods if "heads" in method.needs]  # these share one pass
    steps: dict[str, tuple[protocols.Method, ...]] = {method.key: (method,) for method in methods if method not in looking}
    steps[" + ".join(method.key for method in reversed(looking))] = tuple(looking)
    speeds = {what: size / best(partial(explain, clean, *used), rounds=2)[0] for what, used in steps.items()}
    work = tokens * (tokens + 1) / 2 * 2 * parameters_of_layers(lm.model)
    return {
        "model": name,
        "tokens": tokens,
        "batch": size,
        "instances_per_second": speeds,
        "share_of_matrix_rate": speeds["fa"] * work / rate,
        "matrix_rate": rate,
        "spearman_batch_alone": agreement(lm, CleanPass(lm, clean.prompts[:4])),
    }


def paper_hours(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Per model, the hours of the paper's four datasets under six regimes with all explainers."""
    hours: dict[str, float] = {}
    for model in dict.fromkeys(row["model"] for row in rows):
        at = {row["tokens"]: row["instances_per_second"] for row in rows if row["model"] == model}
        seconds = sum(count * len(REGIMES) * sum(1 / s for s in at[tokens].values()) for count, tokens in PAPER.values())
        hours[model] = seconds / 3600
    return hours
