"""A demo model with rotary positions, trained on for prompts of up to 2,048 tokens.

Its documents stand among passages about other states, first, in the middle or last. Each step has prompts of about one length;
every fourth asks short ones, so that the taught rule stays.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from heval_core.records import HEvalError
from precompute.demo import corpus, train

POSITIONS = 2048
# Passages beside the documents, and prompts of a step: some 6,000 tokens each.
FILLERS = ((2, 20), (5, 11), (10, 6), (20, 3))
# Of a filler and of the rest of a prompt, in tokens: the most that were seen.
FILLER_TOKENS, REST = 92, 260


@dataclass(frozen=True)
class Lengthening:
    """steps: of each cycle, one after another."""

    steps: tuple[int, ...] = (700, 700)
    learning_rate: float = 1e-3
    short: int = 96
    seed: int = 0


SMOKE = Lengthening((2,), short=8)


def examples(step: int, rng: random.Random, recipe: Lengthening) -> list[corpus.Example]:
    if step % 4 == 0:
        return train.short_examples(recipe.short, rng)
    fillers, prompts = FILLERS[rng.randrange(len(FILLERS))]
    kept = rng.choice((0, 0.5, 1, 1))
    return [corpus.padded_question(rng, kept, fillers) for _ in range(prompts)]


def lengthen(base: Path, recipe: Lengthening) -> tuple[torch.nn.Module, PreTrainedTokenizerFast]:
    """The model of a folder, trained on for long prompts, and its tokenizer.

    Raises HEvalError if the folder has no model.
    """
    if not (base / "config.json").is_file():
        raise HEvalError(f"There is no model in {base} to go on from; train {base.name.removeprefix('demo-')} first.")
    torch.manual_seed(recipe.seed)
    tokenizer = AutoTokenizer.from_pretrained(base, model_max_length=POSITIONS)
    model = AutoModelForCausalLM.from_pretrained(
        base, dtype=torch.float32, attn_implementation="sdpa", max_position_embeddings=POSITIONS
    )
    for number, steps in enumerate(recipe.steps, start=1):
        name, seed = f"lengthening {base.name}, cycle {number}", f"{base.name}|{recipe.seed}|{number}"
        draw = functools.partial(examples, recipe=recipe)
        train.run_cycle(model, train.Cycle(name, steps, recipe.learning_rate, draw, seed), tokenizer)
        model.half().float()  # as if saved and loaded, so that a cycle may also be run by itself
    return model.eval(), tokenizer
