"""The hours that the paper's grid takes on this machine's GPU; and those of CUB's, by counting the tokens that go through each
model.

Work = tokens x 2 x the parameters of the layers: without embeddings and unembedding, and without attention to earlier tokens.
A reply's tokens count like a prompt's, though a GPU writes them more slowly. Not counted: fine-tuning, loading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM

from benchmarks.shortcuts import agreement
from benchmarks.timing import CUB_SHAPES, REAL, best, explain, matrix_rate, parameters_of_layers, prompts_of, random_model
from heval_core import catalogue, protocols
from heval_core.behaviour import MEMORY_TOKENS
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.records import REGIMES
from heval_core.techniques.multi_agent import REPLY_TOKENS
from heval_core.techniques.ph3 import COUNTS, MOST
from precompute.task import QUESTION_SHARE
from precompute.techniques import DEVELOPMENT_SHARE

REAL_TOKENS = (40, 150, 300)
# The paper's grid (methods.md, section 1 and 5): explained instances per regime, and about how long their prompts are.
PAPER = {"world_capital": (2000, 40), "counterfact": (802, 40), "fakepedia": (1000, 300), "conflictqa": (1000, 300)}


def on_gpu(say: Callable[[str], None]) -> dict[str, Any]:
    if not torch.cuda.is_available():
        say("no NVIDIA GPU here: the real sizes were not run")
        return {"gpu": None, "cub_hours": say_hours(ASSUMED_RATE, "assumed", say)}
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
    cub_hours = say_hours(rate, "the least that fa reached here on prompts of more than 40 tokens", say)
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


# Floating-point operations per second in bfloat16 that a data-centre GPU may sustain. An assumption, not a measurement.
ASSUMED_RATE = 1e14


class Asked(NamedTuple):
    """Prompts of a dataset, in all kinds of context together, and how long they are with their document."""

    prompts: int
    tokens: int


# The numbers of prompts are CUB's, test and development together; their lengths are assumed.
DATASETS = {"counterfact": Asked(2_697, 25), "nq": Asked(5_143, 130), "druid": Asked(4_500, 300)}
# CUB's nine models: the shape of each, and whether its tokenizer has a chat template; without one it follows no instructions.
MODELS = {
    "gpt2-xl": ("gpt2-xl", False),
    "pythia-6.9b": ("pythia-6.9b", False),
    **{f"Qwen2.5-{size}{kind}": (f"qwen2.5-{size}", True) for size in ("1.5B", "7B", "32B") for kind in ("", "-Instruct")},
    "Command A": ("command-a", True),
}
# The tokens of an instruction, and the sets of heads that ph3 tries for each number of them.
INSTRUCTION, SETS, PROMPTS_TRIED = 25, 5, 12


def tokens_of(asked: Asked, layers: int, heads: int, instructed: bool) -> dict[str, float]:
    """Step ▶ tokens that go through a model for one dataset. Both modes of ph3 share their search."""
    prompts, n = asked
    question = QUESTION_SHARE * n
    tried = prompts / DEVELOPMENT_SHARE
    answered = prompts - tried
    found = {
        "memory": prompts * (question + MEMORY_TOKENS),
        "regular, coiecd, acd": prompts * (n + question),
        "search of coiecd": tried * (n + question),
        # Each answer under a changed model also asks the unchanged one what it remembers.
        "ph3, both modes": 2 * answered * (n + 2 * question),
        "search of ph3": (1 + SETS * len(COUNTS)) * tried * n + MOST * (2 * n + layers * heads),
    }
    if instructed:
        found |= {
            "prompting": answered * (n + 2 * question + 2 * INSTRUCTION),
            "search of prompting": PROMPTS_TRIED * tried * (n + INSTRUCTION),
            "agents": answered * (4 * n + 2 * question + 3 * (INSTRUCTION + REPLY_TOKENS)),
        }
    return found


@cache
def shape_of(shape: str) -> tuple[int, int, int]:
    """Layers, query heads in each, and parameters of all layers; no weights are made."""
    config = CUB_SHAPES[shape]()
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config)
    return config.num_hidden_layers, config.num_attention_heads, parameters_of_layers(model)


def hours(rate: float = ASSUMED_RATE) -> dict[str, float]:
    """Model ▶ hours at `rate` floating-point operations a second."""
    return {model: sum(steps.values()) for model, steps in hours_by_step(rate).items()}


def hours_by_step(rate: float = ASSUMED_RATE) -> dict[str, dict[str, float]]:
    """Model ▶ step ▶ hours, of all datasets."""
    found: dict[str, dict[str, float]] = {}
    for model, (shape, instructed) in MODELS.items():
        layers, heads, parameters = shape_of(shape)
        steps = found.setdefault(model, {})
        for asked in DATASETS.values():
            for step, tokens in tokens_of(asked, layers, heads, instructed).items():
                steps[step] = steps.get(step, 0.0) + tokens * 2 * parameters / rate / 3600
    return found


def say_hours(rate: float, how: str, say: Callable[[str], None]) -> dict[str, float]:
    """how: where the rate comes from."""
    found = hours(rate)
    by_model = ", ".join(f"{model} {value:.1f} h" for model, value in found.items())
    say(f"CUB's grid without fine-tuning, by arithmetic at {rate / 1e12:.0f} TFLOP/s ({how}): {by_model}")
    return found
