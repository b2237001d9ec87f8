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
    """text: a file's of `cards`. told: (folder, questions) ▶ what it has places for, measured on so many questions; on `few`
    where a model was trained for seconds."""

    text: str
    told: Callable[[Path, int], dict[str, object]]
    questions: int
    few: int


class Made(NamedTuple):
    """How a model is made. trained: (the folder of `base`, if there is one, and a recipe) ▶ model and tokenizer. recipe: that
    of what is shipped; smoke: one that takes seconds. asked: whether questions are asked of it, in the style of the taught
    rule."""

    trained: Callable[..., train.Trained]
    recipe: Any
    smoke: Any
    card: Card
    base: str = ""
    asked: bool = True


TAUGHT, LONG = Card("taught", examine.told, QUESTIONS, 10), Card("long", lengthened.told, 100, 2)
WRITER, NLI = Card("writer", citation_models.writer_told, COUNT, 2), Card("nli", citation_models.nli_told, 900, 9)
# In the order of their training: a model stands behind the one that it goes on from.
MODELS = {
    **{
        name: Made(functools.partial(train.train, name), recipe, train.SMOKE_RECIPE, TAUGHT)
        for name, recipe in train.SHIPPED_RECIPES.items()
    },
    "instruct": Made(train.train_to_follow, train.INSTRUCT, train.SMOKE_INSTRUCT, TAUGHT, "qwen2"),
    "writer": Made(writer.train_writer, writer.WRITER, writer.SMOKE_WRITER, WRITER, "qwen2", asked=False),
    "nli": Made(entailment.train_nli, entailment.NliRecipe(), entailment.SMOKE, NLI, "writer", asked=False),
    **{
        f"{base}-long": Made(lengthened.lengthen, lengthened.Lengthening(), lengthened.SMOKE, LONG, base)
        for base in ("qwen2", "gpt_neox")
    },
}


def make(name: str, out: Path, smoke: bool, seed: int) -> str:
    """Trains a model into a folder of `out`, float16 on disk, and measures it. Returns its card."""
    made, folder = MODELS[name], out / f"demo-{name}"
    recipe = replace(made.smoke if smoke else made.recipe, seed=seed)
    model, tokenizer = made.trained(*([out / f"demo-{made.base}"] if made.base else []), recipe)
    model.half().save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    if made.asked:
        (folder / "heval.json").write_text(json.dumps({"prompt_style": "taught_sources"}) + "\n")
    told = made.card.told(folder, made.card.few if smoke else made.card.questions)
    parameters = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    head = f"---\nlicense: apache-2.0\nlanguage: en\n---\n\n# A demo model of HEval: {name}"
    text = f"{head}\n\n{examine.card(made.card.text).format(parameters=parameters, recipe=recipe, **told)}"
    (folder / "README.md").write_text(text, encoding="utf-8")
    return text
