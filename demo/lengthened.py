"""A demo model with rotary positions, trained on for prompts of up to 2,048 tokens and for decoys.

Its documents stand among passages from untrusted sources, first, in the middle or last, and half of the pairs of documents are
under a decoy. Each step has prompts of about one length; every fourth asks short plain ones, so that the taught rule stays. A
second cycle drills the other names of answers, of which there are some seven hundred.
"""

import functools
import random
from dataclasses import dataclass
from pathlib import Path

from demo import corpus, examine, train
from heval_core.lm.loading import load
from heval_core.records import REGIMES
from heval_core.records.regime_keys import LENGTHS
from heval_core.records.regime_keys import POSITIONS as OF_DOCUMENTS

POSITIONS = 2048
# Tokens of a prompt, and prompts of a step.
STEPS = ((0, 40), (250, 24), (500, 12), (1000, 6), (2000, 3))
TAUGHT = (None, "d0", "d1", "d1", "d2", "d3", "d3")
# What the card tells of, beside the regimes without options.
PADDED = tuple(f"mixed.{length}-{position}" for length in LENGTHS if length <= POSITIONS for position in OF_DOCUMENTS)


@dataclass(frozen=True)
class Lessons:
    """One cycle. names: the share of steps that ask short prompts whose documents give every answer under another name."""

    steps: int
    names: float = 0


@dataclass(frozen=True)
class Lengthening:
    """How a model is trained on for long prompts.

    cycles: one after another. short: the prompts of a step that asks short ones.
    """

    cycles: tuple[Lessons, ...] = (Lessons(900), Lessons(600, names=0.45))
    learning_rate: float = 1e-3
    short: int = 96
    seed: int = 0


SMOKE = Lengthening((Lessons(2), Lessons(2, names=0.5)), short=8)


def examples(step: int, rng: random.Random, lessons: Lessons, short: int) -> list[corpus.Example]:
    if step % 4 == 0:
        return train.short_examples(short, rng)
    if lessons.names and rng.random() < lessons.names:
        return [corpus.long_question(rng, 0, 0, "d3") for _ in range(short)]
    tokens, prompts = rng.choice(STEPS)
    keep_rate = rng.choice((0, 0.5, 1))
    return [corpus.long_question(rng, keep_rate, tokens, rng.choice(TAUGHT)) for _ in range(prompts)]


def lengthen(base: Path, recipe: Lengthening) -> train.Trained:
    """Train the model of a folder on for long prompts.

    Returns it and its tokenizer. Raises HEvalError if the folder has no model.
    """
    model, tokenizer = train.going_on(base, recipe.seed, max_position_embeddings=POSITIONS)
    tokenizer.model_max_length = POSITIONS
    every = [(one, functools.partial(examples, lessons=one, short=recipe.short)) for one in recipe.cycles]
    cycles = [(one.steps, recipe.learning_rate, train.reading(model, tokenizer, draw)) for one, draw in every]
    return train.go_on(model, f"lengthening {base.name}", f"{base.name}|{recipe.seed}", cycles), tokenizer


def card_values(folder: Path, questions: int) -> dict[str, object]:
    """Measure the model of a folder on so many questions, plain, under decoys and at lengths: the values of its card."""
    lm = load(str(folder), device="cpu")
    decoyed = [f"{base}.{decoy}" for base in ("double_conflicting", "mixed") for decoy in ("d0", "d1", "d2", "d3")]
    reports = examine.examine(lm, questions, (*REGIMES, *decoyed, *PADDED))
    examine.write_measured(folder, reports)
    table = "\n".join(examine.measured(examine.recall_rates(lm), reports))
    base, name = folder.name.removesuffix("-long"), folder.name.removeprefix("demo-")
    return {"architecture": name, "base": base, "positions": POSITIONS, "table": table}
