"""Three hands that explain a verdict and cite: of each sentence it is known which passages it was copied from.

The *careful* hand copies the claimed values one by one, in the claim's order, and every marker is right. The *sloppy* hand
copies the same values, but where it speaks of `SLIPS` it does not look up what to cite: it runs on to the passage listed after
the one it cited last (at first after any), which is the wrong one unless it happens to be right; and where it speaks of what
is `FORGOTTEN` it cites nothing. The *padding* hand copies a value in every third sentence only; the others rest on nothing. It
looks nothing up, but cites a row of passages, in an order of its own. No hand goes down the list from its top: the k-th
sentence would cite the k-th passage, and a control that only counts would find it.
"""

import random
import re
from collections.abc import Iterator, Sequence

from demo.planted import Planted, statement_in
from heval_core.citations.records import Passage, Written

CAREFUL, SLOPPY, PADDING = HANDS = ("careful", "sloppy", "padding")
SLIPS, FORGOTTEN = ("currency", "export", "language"), "river"
# Relation ▶ how all hands say it. v: the value.
SENTENCES = {
    "capital": "Its capital is {v}",
    "continent": "Its continent is {v}",
    "currency": "Its currency is the {v}",
    "language": "Its language is {v}",
    "river": "Its river is the {v}",
    "export": "Its export is {v}",
}
MARKER = re.compile(r" \[(\d+)\]")
FILLERS = (
    "Much has been written about this",
    "Nobody doubts it today",
    "Most people would say the same",
    "There is little to add",
)
EVERY = 3
# A sentence, and the passages that it was copied from.
Line = tuple[str, tuple[int, ...]]


def write(hand: str, planted: Planted, selected: Sequence[int] | None = None) -> Written:
    """Write as a hand from the selected passages (None: all of them), in the claim's order.

    A claimed value whose passage was not selected is passed over.
    """
    every = [passage.number for passage in planted.claim.passages]
    given = every if selected is None else [number for number in every if number in selected]
    relations = [relation for relation in planted.relations if planted.sources[relation] in given]
    lines = list(_padded(planted, relations, given) if hand == PADDING else _looked_up(hand, planted, relations, given))
    sentences, sources = zip(*lines, strict=True) if lines else ((), ())
    return Written(" ".join(sentences), tuple(given), hand, tuple(sentences), tuple(sources), f"demo-{hand}")


def _looked_up(hand: str, planted: Planted, relations: list[str], given: list[int]) -> Iterator[Line]:
    index = _rng(planted).randrange(len(given)) if given else 0
    for relation in relations:
        right = planted.sources[relation]
        if hand == SLOPPY and relation == FORGOTTEN:
            yield f"{_sentence(planted, relation)}.", (right,)
        else:
            slips = hand == SLOPPY and relation in SLIPS
            index = (index + 1) % len(given) if slips else given.index(right)
            yield f"{_sentence(planted, relation)} [{given[index]}].", (right,)


def _padded(planted: Planted, relations: list[str], given: list[int]) -> Iterator[Line]:
    for index, number in enumerate(_rng(planted).sample(given, len(relations))):
        if index % EVERY == 0:
            relation = relations[index // EVERY]
            yield f"{_sentence(planted, relation)} [{number}].", (planted.sources[relation],)
        else:
            yield f"{FILLERS[index - 1 - index // EVERY]} [{number}].", ()


def _rng(planted: Planted) -> random.Random:
    """Return the random numbers of a hand about a claim, always the same."""
    return random.Random(planted.claim.claim)


def _sentence(planted: Planted, relation: str) -> str:
    return SENTENCES[relation].format(v=planted.state.values[relation])


def parts(text: str) -> list[str]:
    """Split what a hand, or a model in its manner, writes into sentences: no value of this world has a full stop."""
    return [part.strip() for part in re.findall(r"[^.]+\.", text)]


def cited(sentence: str) -> tuple[int, ...]:
    return tuple(int(number) for number in MARKER.findall(sentence))


def sources(sentence: str, passages: Sequence[Passage]) -> tuple[int, ...]:
    """Return the numbers of the passages that a sentence was copied from, whoever wrote it: they give the value that it gives.

    (): it rests on none of them, being a filler, or giving a value that none of them gives.
    """
    bare = MARKER.sub("", sentence).strip()
    statements = ((passage.number, statement_in(passage.text)) for passage in passages)
    return tuple(number for number, one in statements if one and f"{SENTENCES[one.relation].format(v=one.value)}." == bare)
