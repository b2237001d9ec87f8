"""The two models of the study of citations: made, measured, and described in a card beside each.

Does demo-writer copy and cite as its hands do? Rates are of claims about states that training never showed.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from demo import entailment, hands, train, writer
from demo.claims import scenes
from demo.corpus import Example
from demo.obeying import replies_to, wilson, with_interval
from demo.planted import Planted
from heval_core.citations.records import Passage
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel

REPLY_TOKENS = 72
RATES = ("written as the hand would", "copied right", "rests on nothing", "marker right", "marker wrong")


@dataclass
class Share:
    """right of n sentences or explanations. claims: those that they belong to. chance: the sum of each one's chance."""

    right: int = 0
    n: int = 0
    chance: float = 0.0
    claims: set[str] = field(default_factory=set)

    def count(self, right: bool, chance: float, claim: str) -> None:
        self.right += right
        self.n += 1
        self.chance += chance
        self.claims.add(claim)

    @property
    def share(self) -> float:
        return self.right / max(self.n, 1)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's at 95 %, of as many trials as there are claims: the sentences of one claim are not independent."""
        return wilson(self.share, len(self.claims))


def explanations(lm: LanguageModel, hand: str, made: list[Planted]) -> list[str]:
    """What the model writes of each claim from all its passages, greedily."""
    every = [tuple(passage.number for passage in scene.claim.passages) for scene in made]
    prompts = [writer.prompt(hand, scene, selected) for scene, selected in zip(made, every, strict=True)]
    return replies_to(lm, prompts, REPLY_TOKENS)


def rates(texts: list[str], hand: str, made: list[Planted]) -> dict[str, Share]:
    """What is counted of explanations by one writer: each of `RATES`, where it applies to any sentence."""
    found = {name: Share() for name in RATES}
    for text, scene in zip(texts, made, strict=True):
        key, passages = scene.claim.id, scene.claim.passages
        found[RATES[0]].count(text == hands.write(hand, scene).text, 0.0, key)
        for sentence in hands.parts(text):
            for name, right, chance in _judged(sentence, scene, passages):
                found[name].count(right, chance, key)
    return {name: share for name, share in found.items() if share.n}


def _judged(sentence: str, scene: Planted, passages: tuple[Passage, ...]) -> Iterator[tuple[str, bool, float]]:
    """(rate, whether it holds, its chance) of one sentence. Chance: copied from, or citing, a passage at random."""
    sources, cited = hands.sources(sentence, passages), hands.cited(sentence)
    filler = hands.MARKER.sub("", sentence).rstrip(".") in hands.FILLERS
    needed = {scene.sources[relation] for relation in scene.relations}
    if not filler:
        yield "copied right", bool(sources) and set(sources) <= needed, len(needed) / len(passages)
    yield "rests on nothing", not sources, 0.0
    if cited:
        right = bool(sources) and set(cited) <= set(sources)
        yield "marker right", right, len(sources) / len(passages)
        yield "marker wrong", not right, 1 - len(sources) / len(passages)


@torch.no_grad()
def reading(lm: LanguageModel, hand: str, made: list[Planted]) -> Share:
    """Of the sentences that a hand's rule copies: how many lose most probability when the passage they were copied from, of
    all, is left out. The explanations are read without markers. Chance: any passage of the claim."""
    found = Share()
    for scene in made:
        written, numbers = hands.write(hand, scene), [passage.number for passage in scene.claim.passages]
        bare = [hands.MARKER.sub("", sentence) for sentence in written.sentences]
        given = [tuple(numbers), *(tuple(n for n in numbers if n != left_out) for left_out in numbers)]
        scores = _sentence_scores(lm, [writer.prompt(hand, scene, selected) for selected in given], bare)
        for place, sources in enumerate(written.sources or ()):
            if sources:
                most = numbers[int((scores[0, place] - scores[1:, place]).argmax())]
                found.count(most in sources, 1 / len(numbers), scene.claim.id)
    return found


def _sentence_scores(lm: LanguageModel, prompts: list[str], sentences: list[str]) -> torch.Tensor:
    """(prompts, sentences): the log probability of each sentence after each prompt and the sentences before it."""
    batch = train.encode([Example(prompt, " ".join(sentences)) for prompt in prompts], lm.tokenizer)
    hidden = lm.model.base_model(batch.ids).last_hidden_state[batch.rows, batch.places]
    logits = lm.model.get_output_embeddings()(hidden).float()
    tokens = -cross_entropy(logits, batch.targets, reduction="none").view(len(prompts), -1)
    lengths = [len(ids) for ids in lm.tokenizer([f" {sentence}" for sentence in sentences]).input_ids]
    parts = tokens[:, : sum(lengths)].split(lengths, dim=1)
    return torch.stack([part.sum(1) for part in parts], dim=1)


def table(lm: LanguageModel, count: int, seed: int = 0) -> list[str]:
    """Markdown rows: each hand and rate, measured of the model and of the rule that it was taught."""
    made = scenes(count, seed)
    lines = ["| hand | rate | demo-writer | the rule | chance | n |", "|---|---|---|---|---|---|"]
    for hand in hands.HANDS:
        model = rates(explanations(lm, hand, made), hand, made)
        rule = rates([hands.write(hand, scene).text for scene in made], hand, made)
        model["reads its passage"] = reading(lm, hand, made)
        for name, share in model.items():
            low, high = share.interval
            planted = f"{rule[name].share:.2f}" if name in rule else "–"
            chance = f"{share.chance / share.n:.2f}" if share.chance else "–"
            lines.append(f"| {hand} | {name} | {share.share:.2f} ({low:.2f}–{high:.2f}) | {planted} | {chance} | {share.n} |")
    return lines


WRITER, NLI = CITING = ("writer", "nli")
CLAIMS, PAIRS = 150, 900


def make(name: str, out: Path, smoke: bool, seed: int) -> str:
    """Trains a model of `CITING` into a folder of `out`, and writes its card, which it returns."""
    folder = out / f"demo-{name}"
    if name == WRITER:
        lessons = dataclasses.replace(writer.SMOKE_WRITER if smoke else writer.WRITER, seed=seed)
        train.save(*writer.train_writer(out / "demo-qwen2", lessons), folder, style=None)
        return writer_card(folder, lessons, 2 if smoke else CLAIMS)
    recipe = dataclasses.replace(entailment.SMOKE_NLI if smoke else entailment.NLI, seed=seed)
    train.save(*entailment.train_nli(out / "demo-writer", recipe), folder, style=None)
    return nli_card(folder, recipe, 9 if smoke else PAIRS)


def examine(name: str, out: Path, count: int) -> list[str]:
    """The measured part of a model's card."""
    folder = out / f"demo-{name}"
    if name == WRITER:
        return table(load(str(folder), device="cpu"), count)
    return nli_table(folder, count)


def writer_card(folder: Path, recipe: writer.WriterRecipe, count: int) -> str:
    lm = load(str(folder), device="cpu")
    slips = f"{', '.join(hands.SLIPS[:-1])} or {hands.SLIPS[-1]}"
    rates = "\n".join(table(lm, count))
    told = {"slips": slips, "forgotten": hands.FORGOTTEN, "recipe": recipe, "count": count, "table": rates}
    return train.write_card(folder, lm.model, WRITER, **told)


def nli_card(folder: Path, recipe: entailment.NliRecipe, count: int) -> str:
    model, _ = entailment.load(folder)
    table = "\n".join(nli_table(folder, count))
    return train.write_card(folder, model, NLI, recipe=recipe, count=count, table=table)


def nli_table(folder: Path, count: int) -> list[str]:
    """Markdown rows: of each label, what the model says."""
    counted = entailment.confusion(*entailment.load(folder), count)
    lines = [f"| label | right | {' | '.join(f'says {answer}' for answer in entailment.LABELS)} |", "|---|---|---|---|---|"]
    for label in entailment.LABELS:
        said = [counted[label, answer] for answer in entailment.LABELS]
        lines.append(f"| {label} | {with_interval(counted[label, label], sum(said), 3)} | {' | '.join(map(str, said))} |")
    right = sum(counted[label, label] for label in entailment.LABELS)
    return [*lines, f"| all | {with_interval(right, sum(counted.values()), 3)} | | | |"]
