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


def explanations(lm: LanguageModel, hand: str, planted_claims: list[Planted]) -> list[str]:
    """Generate an explanation of each claim from all its passages, greedily."""
    every = [tuple(passage.number for passage in scene.claim.passages) for scene in planted_claims]
    prompts = [writer.prompt(hand, scene, selected) for scene, selected in zip(planted_claims, every, strict=True)]
    return replies_to(lm, prompts, REPLY_TOKENS)


def rates(texts: list[str], hand: str, planted_claims: list[Planted]) -> dict[str, Share]:
    """Count in explanations by one writer each of `RATES`, where it applies to any sentence."""
    shares = {name: Share() for name in RATES}
    for text, scene in zip(texts, planted_claims, strict=True):
        key, passages = scene.claim.id, scene.claim.passages
        shares[RATES[0]].count(text == hands.write(hand, scene).text, 0.0, key)
        for sentence in hands.parts(text):
            for name, right, chance in _judged(sentence, scene, passages):
                shares[name].count(right, chance, key)
    return {name: share for name, share in shares.items() if share.n}


def _judged(sentence: str, scene: Planted, passages: tuple[Passage, ...]) -> Iterator[tuple[str, bool, float]]:
    """Yield (rate, whether it holds, its chance) of one sentence. Chance: copied from, or citing, a passage at random."""
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


def reading(lm: LanguageModel, hand: str, planted_claims: list[Planted]) -> Share:
    """Count the sentences that a hand's rule copies which lose most probability when the passage they were copied from, of
    all, is left out. The explanations are read without markers. Chance: any passage of the claim.
    """
    shares = Share()
    for scene in planted_claims:
        written, numbers = hands.write(hand, scene), [passage.number for passage in scene.claim.passages]
        lost = left_one_out(lm, explained(scene.claim, hand, "all", numbers, written.sentences, written.prompt)).phi
        for most, sources in zip(lost.argmax(0), written.sources or (), strict=True):
            if sources:
                shares.count(numbers[most] in sources, 1 / len(numbers), scene.claim.id)
    return shares


def writer_card(folder: Path, count: int) -> dict[str, object]:
    """Measure the values of demo-writer's card on so many claims: each hand's rates, the model's beside the rule's."""
    lm, planted_claims, rows = load(str(folder), device="cpu"), scenes(count), []
    for hand in hands.HANDS:
        model = rates(explanations(lm, hand, planted_claims), hand, planted_claims)
        rule = rates([hands.write(hand, scene).text for scene in planted_claims], hand, planted_claims)
        model["reads its passage"] = reading(lm, hand, planted_claims)
        for name, share in model.items():
            planted = f"{rule[name].share:.2f}" if name in rule else "–"
            chance = f"{share.chance / share.n:.2f}" if share.chance else "–"
            rows.append((hand, name, share.written(), planted, chance, share.n))
    lines = markdown(("hand", "rate", "demo-writer", "the rule", "chance", "n"), *rows)
    slips = f"{', '.join(hands.SLIPS[:-1])} or {hands.SLIPS[-1]}"
    return {"slips": slips, "forgotten": hands.FORGOTTEN, "count": count, "table": "\n".join(lines)}


def nli_card(folder: Path, count: int) -> dict[str, object]:
    """Measure the values of demo-nli's card on so many pairs: of each label, what the model says."""
    counted = entailment.confusion(*entailment.load(folder), count)
    right = [Share(counts[index], sum(counts)) for index, counts in enumerate(counted)]
    rows = [(label, one.written(3), *counts) for label, one, counts in zip(entailment.LABELS, right, counted, strict=True)]
    every = Share(sum(one.right for one in right), sum(one.n for one in right))
    lines = markdown(("label", "right", *(f"says {answer}" for answer in entailment.LABELS)), *rows)
    return {"count": count, "table": "\n".join([*lines, f"| all | {every.written(3)} | | | |"])}
