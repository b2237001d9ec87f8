"""demo-nli: does a sentence of an explanation follow from a passage? A classifier on the first layers of demo-writer.

Premise: a passage. Hypothesis: a sentence without markers. *entailment*: the passage gives the value that the sentence gives;
*contradiction*: it gives another value of the same relation; *neutral*: it speaks of something else, or the sentence is a
filler. A sentence says "its", so that the passage's state does not matter.
"""

import random
from dataclasses import dataclass
from pathlib import Path

import torch
from sklearn.metrics import confusion_matrix
from tokenizers import processors
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast, Qwen2ForSequenceClassification

from demo import hands, planted, train
from demo.planted import EVALUATION, TRAINING, VALUES, WORDINGS, World

LABELS = ("entailment", "neutral", "contradiction")
ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS


@dataclass(frozen=True)
class NliRecipe:
    """How demo-nli is trained.

    layers: how many of demo-writer's are kept.
    """

    layers: int = 3
    steps: int = 900
    batch: int = 64
    learning_rate: float = 1.5e-3
    seed: int = 0


SMOKE = NliRecipe(layers=1, steps=3, batch=4)


@dataclass(frozen=True)
class Pair:
    premise: str
    hypothesis: str
    label: str


def pair(rng: random.Random, world: World, label: str) -> Pair:
    """Sample a passage and a sentence that have this label."""
    about = planted.state(rng, world)
    relation = rng.choice(sorted(about.values))
    value = stated = about.values[relation]
    given = relation
    if label == CONTRADICTION:
        stated = rng.choice([other for other in VALUES[relation] if other != value])
    if label == NEUTRAL:
        given = rng.choice([other for other in sorted(about.values) if other != relation])
    hypothesis = hands.SENTENCES[relation].format(v=stated)
    if label == NEUTRAL and rng.random() < 0.5:
        hypothesis = rng.choice(hands.FILLERS)
    return Pair(rng.choice(WORDINGS[given]).format(x=about.name, v=about.values[given]), f"{hypothesis}.", label)


def pairs(rng: random.Random, world: World, count: int) -> list[Pair]:
    """Sample as many pairs of each label, as far as `count` allows."""
    return [pair(rng, world, LABELS[number % len(LABELS)]) for number in range(count)]


def _encoder(base: Path) -> PreTrainedTokenizerFast:
    """Make demo-writer's tokenizer one for pairs: a line break between them."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    line_break = tokenizer("\n").input_ids[-1]
    backend = tokenizer.backend_tokenizer
    symbol = backend.id_to_token(line_break)
    backend.post_processor = processors.TemplateProcessing(
        single="$A", pair=f"$A {symbol} $B", special_tokens=[(symbol, line_break)]
    )
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def train_nli(base: Path, recipe: NliRecipe) -> train.Trained:
    """Train a classifier on the first layers of the model in `base`. Raises HEvalError if the folder has no model."""
    tokenizer = _encoder(train.base_folder(base))
    torch.manual_seed(recipe.seed)
    config = AutoConfig.from_pretrained(base, num_labels=len(LABELS), pad_token_id=tokenizer.pad_token_id)
    config.num_hidden_layers, config.layer_types = recipe.layers, config.layer_types[: recipe.layers]
    config.id2label = dict(enumerate(LABELS))
    config.label2id = {label: number for number, label in enumerate(LABELS)}
    model = Qwen2ForSequenceClassification.from_pretrained(base, config=config, dtype=torch.float32)

    def backward(step: int, rng: random.Random) -> float:
        batch = pairs(rng, TRAINING, recipe.batch)
        loss = cross_entropy(logits(model, tokenizer, batch), torch.tensor([LABELS.index(one.label) for one in batch]))
        loss.backward()
        return loss.item()

    train.descend(model, "training nli", f"nli|{recipe.seed}", recipe.steps, recipe.learning_rate, backward)
    return model.eval(), tokenizer


def load(folder: Path) -> train.Trained:
    """Load a trained classifier in float32, and its tokenizer."""
    model = Qwen2ForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def logits(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast, batch: list[Pair]) -> torch.Tensor:
    """Compute logits, (pairs, labels)."""
    encoded = tokenizer([one.premise for one in batch], [one.hypothesis for one in batch], padding=True, return_tensors="pt")
    scores: torch.Tensor = model(**encoded).logits
    return scores


@torch.no_grad()
def confusion(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast, count: int) -> list[list[int]]:
    """Count (labels, answers) of `count` pairs about states that training never showed."""
    batch = pairs(random.Random("nli|0|evaluation"), EVALUATION, count)
    batches = (batch[start : start + 64] for start in range(0, len(batch), 64))
    answers = [LABELS[index] for batch in batches for index in logits(model, tokenizer, batch).argmax(-1).tolist()]
    matrix: list[list[int]] = confusion_matrix([one.label for one in batch], answers, labels=LABELS).tolist()
    return matrix
