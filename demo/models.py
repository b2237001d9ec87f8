"""Every demo model: what it goes on from, its recipe, and what its card tells. A card lies beside its model, as README.md."""

import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from demo import citation_models, entailment, examine, lengthened, train, writer
from demo.claims import COUNT
from demo.results import QUESTIONS


class Card(NamedTuple):
    """How a model's card is filled.

    text: a file's of `cards`. measure: (folder, questions) ▶ what it has places for, measured on so many questions. few: so
    many where a model was trained for seconds.
    """

    text: str
    measure: Callable[[Path, int], dict[str, object]]
    questions: int
    few: int


class DemoModel(NamedTuple):
    """How a model is made. trained: (the folder of `base`, if there is one, and a recipe) ▶ model and tokenizer. recipe: that
    of what is shipped; smoke: one that takes seconds. answers: whether questions are asked of it, in the style of the taught
    rule."""

    trained: Callable[..., train.Trained]
    recipe: Any
    smoke: Any
    card: Card
    base: str = ""
    answers: bool = True


TAUGHT, LONG = Card("taught", examine.card_values, QUESTIONS, 10), Card("long", lengthened.card_values, 100, 2)
WRITER, NLI = Card("writer", citation_models.writer_card, COUNT, 2), Card("nli", citation_models.nli_card, 900, 9)
# In the order of their training: a model stands behind the one that it goes on from.
MODELS = {
    **{
        name: DemoModel(functools.partial(train.train, name), recipe, train.SMOKE_RECIPE, TAUGHT)
        for name, recipe in train.SHIPPED_RECIPES.items()
    },
    "instruct": DemoModel(train.train_to_follow, train.INSTRUCT, train.SMOKE_INSTRUCT, TAUGHT, "qwen2"),
    "writer": DemoModel(writer.train_writer, writer.WRITER, writer.SMOKE_WRITER, WRITER, "qwen2", answers=False),
    "nli": DemoModel(entailment.train_nli, entailment.NliRecipe(), entailment.SMOKE, NLI, "writer", answers=False),
    **{
        f"{base}-long": DemoModel(lengthened.lengthen, lengthened.Lengthening(), lengthened.SMOKE, LONG, base)
        for base in ("qwen2", "gpt_neox")
    },
}


def make(name: str, out: Path, smoke: bool, seed: int) -> str:
    """Trains a model into a folder of `out`, float16 on disk, and measures it. Returns its card."""
    demo_model, folder = MODELS[name], out / f"demo-{name}"
    recipe = replace(demo_model.smoke if smoke else demo_model.recipe, seed=seed)
    model, tokenizer = demo_model.trained(*([out / f"demo-{demo_model.base}"] if demo_model.base else []), recipe)
    model.half().save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    if demo_model.answers:
        (folder / "heval.json").write_text(json.dumps({"prompt_style": "taught_sources"}) + "\n")
    values = demo_model.card.measure(folder, demo_model.card.few if smoke else demo_model.card.questions)
    parameters = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    head = f"---\nlicense: apache-2.0\nlanguage: en\n---\n\n# A demo model of HEval: {name}"
    text = f"{head}\n\n{examine.card(demo_model.card.text).format(parameters=parameters, recipe=recipe, **values)}"
    (folder / "README.md").write_text(text, encoding="utf-8")
    return text
