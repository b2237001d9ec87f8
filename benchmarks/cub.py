"""The hours of CUB's grid on one GPU, by counting the tokens that go through each model.

Work = tokens x 2 x the parameters of the layers: without embeddings and unembedding, and without attention to earlier tokens.
A reply's tokens count like a prompt's, though a GPU writes them more slowly. Not counted: fine-tuning, loading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM

from benchmarks.models import CUB_SHAPES, parameters_of_layers
from heval_core.behaviour import MEMORY_TOKENS
from heval_core.techniques.multi_agent import REPLY_TOKENS
from heval_core.techniques.ph3 import COUNTS, MOST
from precompute.costs import QUESTION_SHARE
from precompute.techniques import DEVELOPMENT_SHARE

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
