"""demo-writer: goes on from demo-qwen2 until it writes what the three hands of `hands` write, for claims it never saw.

Loss on the explanation, and on where three attention heads look: copying needs attention that finds the right value, and then
the number that stands behind it, which demo-qwen2 has not learned. The loss on the text alone teaches that only after more
steps than a demo model is worth. So these heads have a loss of their own: minus the logarithm of the attention that they give
to the right token. Some prompts only repeat a row of names, values and markers. A prompt says which hand writes, and gives all
passages, or some: the needed ones, or any.
"""

import bisect
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast

from demo import hands, planted, train
from demo.corpus import Example
from demo.planted import TRAINING, Planted, statement_in
from heval_core.citations.reading import explanation_prompt, layout

# (layer, head): a value looks at the same value in a passage, a marker at the same one in the list; and in the list a marker
# looks back at the value of its own passage, so that it can be found by that value.
VALUE, MARKER, BACK = (3, 0), (3, 3), (1, 3)
Span = tuple[int, int]


@dataclass(frozen=True)
class Look:
    """Characters of prompt and explanation together. query: what is written or, for BACK, what looks; at: what it looks at."""

    head: tuple[int, int]
    query: Span
    at: Span


def looks(example: Example, scene: Planted, hand: str) -> list[Look]:
    """Return where to look while an explanation is written.

    A marker that the hand does not look up is not to be found anywhere.
    """
    values, markers = _listed(example.prompt, scene)
    results = [Look(BACK, markers[number], values[number]) for number in values]
    offset = len(example.prompt) + 1
    for sentence in hands.parts(example.answer):
        for number in hands.sources(sentence, scene.claim.passages):
            value = example.prompt[slice(*values[number])]
            at = offset + sentence.index(f" {value}") + 1
            results.append(Look(VALUE, (at, at + len(value)), values[number]))
            slips = any(scene.sources.get(relation) == number for relation in hands.SLIPS)
            if hands.cited(sentence) and (hand == hands.CAREFUL or (hand == hands.SLOPPY and not slips)):
                at = offset + sentence.index("[")
                results.append(Look(MARKER, (at, at + 3), markers[number]))
        offset += len(sentence) + 1
    return results


def _listed(prompt: str, scene: Planted) -> tuple[dict[int, Span], dict[int, Span]]:
    """Return where the value and the marker of each passage stand in a prompt, by its number."""
    values, markers = {}, {}
    for passage in scene.claim.passages:
        line, statement = f"{passage.text} [{passage.number}]", statement_in(passage.text)
        start = prompt.find(line)
        if statement is None or start < 0:
            continue
        at = start + passage.text.rindex(statement.value)
        values[passage.number] = (at, at + len(statement.value))
        markers[passage.number] = (start + len(passage.text) + 1, start + len(line))
    return values, markers


def _tokens(example: Example, some: list[Look], tokenizer: PreTrainedTokenizerFast) -> list[tuple[int, int, int, int]]:
    """List (layer, head, token that looks, token looked at)."""
    offsets = tokenizer(f"{example.prompt} {example.answer}", return_offsets_mapping=True).offset_mapping
    ends = [end for _, end in offsets]

    def covering(span: Span) -> range:
        return range(bisect.bisect_right(ends, span[0]), bisect.bisect_left(ends, span[1]) + 1)

    results = []
    for look in some:
        query, at = covering(look.query), covering(look.at)
        if look.head == BACK:
            results.append((*BACK, query[-1], at[-1]))
        else:
            # A token is written by the one before it.
            results += [(*look.head, token - 1, seen) for token, seen in zip(query, at, strict=True)]
    return results


MARKERS = tuple(f" [{number}]" for number in range(10))


@dataclass(frozen=True)
class Lessons:
    """One cycle. batch: prompts a step. repeating: the share of prompts that ask to repeat a row of words. rivals: see
    `planted.World`. selected: the share of prompts with some of the passages only. bare: that of explanations without markers,
    as explainers read them. guided: the weight of the loss on where to look."""

    steps: int
    learning_rate: float
    batch: int = 32
    repeating: float = 0.0
    rivals: float = 0.5
    selected: float = 0.25
    bare: float = 0.0
    guided: float = 0.0


@dataclass(frozen=True)
class WriterRecipe:
    """The cycles that demo-qwen2 goes on with."""

    cycles: tuple[Lessons, ...]
    seed: int = 0


WRITER = WriterRecipe(
    (
        Lessons(600, 2e-3, repeating=0.1, rivals=0.3, selected=0.5, guided=0.5),
        Lessons(900, 1.5e-3, selected=0.4, bare=0.25, guided=0.2),
        Lessons(500, 1e-3, selected=0.4, bare=0.5, guided=0.1),
    )
)
SMOKE_WRITER = WriterRecipe((Lessons(2, 1e-3, batch=4, repeating=0.5), Lessons(2, 1e-3, batch=4, bare=0.5, guided=0.5)))


def prompt(hand: str, scene: Planted, selected: tuple[int, ...]) -> str:
    """Write a hand's prompt about a claim, with the selected passages."""
    given = [passage for passage in scene.claim.passages if passage.number in selected]
    return explanation_prompt(scene.claim, given, layout(f"demo-{hand}")).text


def example(hand: str, scene: Planted, selected: tuple[int, ...] | None = None, bare: bool = False) -> Example:
    """Make a prompt and the hand's explanation of it. selected: None for all passages. bare: without markers."""
    written = hands.write(hand, scene, selected)
    return Example(prompt(hand, scene, written.selected), hands.MARKER.sub("", written.text) if bare else written.text)


def repeating(rng: random.Random) -> Example:
    """Sample a row of names, values and markers, to be repeated."""
    words = []
    for _ in range(rng.randint(3, 9)):
        relation = rng.choice(sorted(planted.VALUES))
        words.append(rng.choice((planted.name(rng, evaluation=False), rng.choice(planted.VALUES[relation]))))
        marker = f"[{rng.randint(1, 8)}]"
        words += [marker] if rng.random() < 0.5 else []
    return Example(" ".join(words) + "\nExplanation:", " ".join(words))


def _selection(scene: Planted, rng: random.Random) -> tuple[int, ...]:
    """Select half of the time the needed passages, and each of the others by even chances; else any, of which one is
    needed.
    """
    needed, numbers = scene.claim.chains[0], [passage.number for passage in scene.claim.passages]
    if rng.random() < 0.5:
        return tuple(number for number in numbers if number in needed or rng.random() < 0.5)
    one_needed = rng.choice(needed)
    return tuple(number for number in numbers if number == one_needed or rng.random() < 0.7)


def examples(step: int, rng: random.Random, lessons: Lessons) -> list[tuple[Example, list[Look]]]:
    """Sample the examples of one step, a third of them for each hand, and where to look while writing them."""
    world = replace(TRAINING, rivals=lessons.rivals)
    results: list[tuple[Example, list[Look]]] = []
    for number in range(lessons.batch):
        if rng.random() < lessons.repeating:
            results.append((repeating(rng), []))
            continue
        scene = planted.planted(rng, world, "")
        selected = _selection(scene, rng) if rng.random() < lessons.selected else None
        hand = hands.HANDS[(step + number) % 3]
        one = example(hand, scene, selected, rng.random() < lessons.bare)
        results.append((one, looks(one, scene, hand)))
    return results


def writing(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast, lessons: Lessons) -> train.Backward:
    """Make steps on the mean loss over answer tokens, which is the one returned, plus that of the looks as `lessons`
    weigh it.
    """

    def backward(step: int, rng: random.Random) -> float:
        pairs = examples(step, rng, lessons)
        batch = train.encode([example for example, _ in pairs], tokenizer)
        where = [(row, *look) for row, (example, some) in enumerate(pairs) for look in _tokens(example, some, tokenizer)]
        out = model.base_model(batch.ids, output_attentions=True)
        loss = cross_entropy(model.get_output_embeddings()(out.last_hidden_state[batch.rows, batch.positions]), batch.targets)
        given = []
        for layer in sorted({look[1] for look in where}):
            rows, _, heads, queries, seen = zip(*(look for look in where if look[1] == layer), strict=True)
            given.append(out.attentions[layer][list(rows), list(heads), list(queries), list(seen)])
        looking = -torch.cat(given).clamp_min(1e-6).log().mean() if given else 0.0
        (loss + lessons.guided * looking).backward()
        return float(loss.item())

    return backward


def train_writer(base: Path, recipe: WriterRecipe) -> train.Trained:
    """Train the model of the folder `base` on to write. Raises HEvalError if the folder has no model."""
    model, tokenizer = train.going_on(base, recipe.seed, "eager")
    words = {word for text in _texts() for word in re.findall(r"(?:^|(?<=\n)| )[A-Za-z]{2,}", re.sub(r"{\w+}", "", text))}
    train.add_words(model, tokenizer, words | set(MARKERS), begun)
    cycles = [(one.steps, one.learning_rate, writing(model, tokenizer, one)) for one in recipe.cycles]
    return train.go_on(model, "training writer", f"writer|{recipe.seed}", cycles), tokenizer


def _texts() -> list[str]:
    """List everything that prompts and explanations say around names, and the values that demo-qwen2 does not know."""
    layouts = [layout(f"demo-{hand}") for hand in hands.HANDS]
    around = [part for each in layouts for part in (each.passage, each.text)]
    wordings = [wording for every in planted.WORDINGS.values() for wording in every]
    known = [*planted.RIVERS, *planted.EXPORTS, planted.SUPPORTED, planted.REFUTED, *planted.WORDINGS]
    return [*around, *wordings, *hands.SENTENCES.values(), *hands.FILLERS, *(f"a {word}" for word in known)]


def begun(known: torch.Tensor, spelled: list[list[int]]) -> torch.Tensor:
    """Sample vectors of the usual length for new words.

    Digits and rare letters, which demo-qwen2 has hardly seen, are all alike to it, so that means of pieces would be too, and
    what is alike is not copied apart.
    """
    vectors = torch.randn(len(spelled), known.shape[1])
    return vectors * known.norm(dim=1).mean() / vectors.norm(dim=1, keepdim=True)
