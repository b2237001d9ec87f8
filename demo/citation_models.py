"""The two models of the study of citations, measured for their cards.

Does demo-writer copy and cite as its hands do? Rates are of claims about states that training never showed.
"""

from collections.abc import Iterator
from pathlib import Path

from demo import entailment, hands, writer
from demo.claims import scenes
from demo.obeying import replies_to
from demo.planted import Planted
from demo.shares import Share, markdown
from heval_core.citations.annotators.shared.weights import left_one_out
from heval_core.citations.questions import explained
from heval_core.citations.records import Passage
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel

REPLY_TOKENS = 72
RATES = ("written as the hand would", "copied right", "rests on nothing", "marker right", "marker wrong")


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


def reading(lm: LanguageModel, hand: str, made: list[Planted]) -> Share:
    """Of the sentences that a hand's rule copies: how many lose most probability when the passage they were copied from, of
    all, is left out. The explanations are read without markers. Chance: any passage of the claim."""
    found = Share()
    for scene in made:
        written, numbers = hands.write(hand, scene), [passage.number for passage in scene.claim.passages]
        lost = left_one_out(lm, explained(scene.claim, hand, "all", numbers, written.sentences, written.prompt)).phi
        for most, sources in zip(lost.argmax(0), written.sources or (), strict=True):
            if sources:
                found.count(numbers[most] in sources, 1 / len(numbers), scene.claim.id)
    return found


def writer_told(folder: Path, count: int) -> dict[str, object]:
    """What the card of demo-writer tells, measured on so many claims: each hand's rates, the model's beside the rule's."""
    lm, made, rows = load(str(folder), device="cpu"), scenes(count), []
    for hand in hands.HANDS:
        model = rates(explanations(lm, hand, made), hand, made)
        rule = rates([hands.write(hand, scene).text for scene in made], hand, made)
        model["reads its passage"] = reading(lm, hand, made)
        for name, share in model.items():
            planted = f"{rule[name].share:.2f}" if name in rule else "–"
            chance = f"{share.chance / share.n:.2f}" if share.chance else "–"
            rows.append((hand, name, share.written(), planted, chance, share.n))
    lines = markdown(("hand", "rate", "demo-writer", "the rule", "chance", "n"), *rows)
    slips = f"{', '.join(hands.SLIPS[:-1])} or {hands.SLIPS[-1]}"
    return {"slips": slips, "forgotten": hands.FORGOTTEN, "count": count, "table": "\n".join(lines)}


def nli_told(folder: Path, count: int) -> dict[str, object]:
    """What the card of demo-nli tells, measured on so many pairs: of each label, what the model says."""
    counted = entailment.confusion(*entailment.load(folder), count)
    right = [Share(own[place], sum(own)) for place, own in enumerate(counted)]
    rows = [(label, one.written(3), *own) for label, one, own in zip(entailment.LABELS, right, counted, strict=True)]
    every = Share(sum(one.right for one in right), sum(one.n for one in right))
    lines = markdown(("label", "right", *(f"says {answer}" for answer in entailment.LABELS)), *rows)
    return {"count": count, "table": "\n".join([*lines, f"| all | {every.written(3)} | | | |"])}
