"""People as annotators: the items of a study, who is asked which, and whose answers count.

The practice round comes first. Then each person is asked the question that fewest others have answered or hold, so that all
items stay within one answer of each other as long as anybody may be asked any. In each stretch of 1 / s turns, s being the
share of explanations that are control items, one turn is a control item's; which one differs from person to person. Ties are
broken by a hash of person and item: people see items in different orders, and the same person the same order again. Nobody is
asked about one explanation twice, for the second time would show what the first had masked.

A control item's answer is plain: one sentence alone cites the passage, and holds at least twice as many of its own words
(those that no other passage has) as any other; where it is known what sentences were made from, that agrees. A positive item
asks for this sentence. A negative one has it removed, and the right answer is none. Answers count of people who name exactly
the sentences of at least 70 % of their control items; somebody who was asked none yet is not left out.
Nothing here reads or writes a file: `heval_core/citations/people/annotations.py` keeps a study, the page *Annotate* asks.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645). Departure: they do not say how control items were found, nor whether an
answer with a sentence too many is right; here it is not.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from heval_core.citations.questions import questions, sampled
from heval_core.citations.records import Explained, Passage, Question
from heval_core.citations.speaker import storable
from heval_core.records import HEvalError

# A question of the study; a control item whose answer is plain, with one sentence or with none; an item of the practice round.
QUESTION, POSITIVE, NEGATIVE, PRACTICE = "question", "positive", "negative", "practice"
CONTROLS = (POSITIVE, NEGATIVE)
_PRACTICE = Path(__file__).with_name("practice.json")


def name_of(text: str) -> str:
    """Normalise a name or code: 1 to 60 visible characters, single spaces. Raises HEvalError for another."""
    name = " ".join(storable(text).split())
    if not 1 <= len(name) <= 60 or not all(character.isprintable() for character in name):
        raise HEvalError("A name or code has 1 to 60 characters, none of them invisible")
    return name


@dataclass(frozen=True)
class Item:
    """One masked citation as a person sees it.

    kind: one of the four above. explanation_id: whose explanation it shows. passages: those that the writer was given.
    passage: the number of the one at hand. sentences: without its markers. gold: places, from 0, of the sentences that cited
    it. wanted: how many people are to answer; None: as many as come. feedback: said after the answer, in the practice round.
    """

    kind: str
    explanation_id: str
    claim: str
    verdict: str
    passages: tuple[Passage, ...]
    passage: int
    sentences: tuple[str, ...]
    gold: frozenset[int]
    wanted: int | None = None
    feedback: str = ""

    @property
    def item_id(self) -> str:
        """Of all that a person sees and of the answer, so that the same item is the same in every study."""
        passages = list(map(astuple, self.passages))
        seen = [self.kind, self.explanation_id, self.claim, self.verdict, passages, self.passage, self.sentences]
        return hashlib.sha256(json.dumps([*seen, sorted(self.gold)]).encode()).hexdigest()[:16]

    def as_json(self) -> str:
        """Write the item as the study stores it."""
        plain = {"passages": list(map(astuple, self.passages)), "gold": sorted(self.gold)}
        return json.dumps(vars(self) | plain, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> Item:
        """Read an item that the study has stored."""
        fields = json.loads(text)
        passages = tuple(Passage(*values) for values in fields["passages"])
        sentences, gold = tuple(fields["sentences"]), frozenset(fields["gold"])
        return cls(**fields | {"passages": passages, "sentences": sentences, "gold": gold})


def practice() -> list[Item]:
    """Return the practice round: three items of our own words, with the answer and its reason after each."""
    return [Item.of_json(json.dumps(item)) for item in json.loads(_PRACTICE.read_text(encoding="utf-8"))]


# Of all explanations.
MOST_CONTROLS = 0.5
_WORD = re.compile(r"\w{3,}|\d+")


def make_study(explanations: Mapping[str, Explained], per_item: int = 3, controls: float = 0.1, seed: int = 0) -> list[Item]:
    """Make the items of a study: the practice round, and the rest in a random order that the seed fixes.

    explanations: by their ids; one cited passage of each is asked about. per_item: how many people are to answer each
    question. controls: the share of explanations that become control items, as many positive as negative; or all plain ones.

    Raises HEvalError for numbers that make no sense, and where no explanation can be asked about.
    """
    if per_item < 1:
        raise HEvalError(f"{per_item} people for each item make no study; ask for at least 1.")
    if not 0 <= controls <= MOST_CONTROLS:
        raise HEvalError(f"The share of control items is {controls:g}; it should be from 0 to {MOST_CONTROLS:g}.")
    rng = random.Random(seed)
    order = sorted(explanations)
    rng.shuffle(order)
    items: list[Item] = []
    kinds = cycle((POSITIVE, NEGATIVE))
    kind, left = next(kinds), round(controls * len(order))
    for name in order:
        control = _control(name, explanations[name], kind) if left else None
        if control is not None:
            items.append(control)
            kind, left = next(kinds), left - 1
        else:
            passage = sampled(explanations[name], seed)
            possible = questions(explanations[name])
            items += [_item(QUESTION, name, question, per_item) for question in possible if question.passage == passage]
    if not any(item.kind == QUESTION for item in items):
        raise HEvalError("There is no explanation to ask people about: none of them has a sentence and a passage.")
    rng.shuffle(items)
    return [*practice(), *items]


def _item(kind: str, name: str, question: Question, wanted: int | None, without: frozenset[int] = frozenset()) -> Item:
    """Make an item. without: indices of sentences that are removed."""
    explained = question.explained
    return Item(
        kind=kind,
        explanation_id=name,
        claim=explained.claim.claim,
        verdict=explained.claim.verdict,
        passages=explained.passages,
        passage=question.passage,
        sentences=tuple(text for index, text in enumerate(question.sentences) if index not in without),
        gold=question.gold - without,
        wanted=wanted,
    )


def _control(name: str, explained: Explained, kind: str) -> Item | None:
    question = next((question for question in questions(explained) if _is_plain(question)), None)
    # Of a negative item two sentences must be left to choose from, of a positive one there must be two.
    if question is None or len(question.sentences) < (3 if kind == NEGATIVE else 2):
        return None
    return _item(kind, name, question, None, question.gold if kind == NEGATIVE else frozenset())


def _is_plain(question: Question) -> bool:
    """Return whether the answer is plain; see above."""
    explained, sources = question.explained, question.explained.sources
    made_from_it = None if sources is None else {index for index, indices in enumerate(sources) if question.passage in indices}
    if len(question.gold) != 1 or made_from_it not in (None, question.gold):
        return False
    others = [_words(passage.text) for passage in explained.passages if passage.number != question.passage]
    own_words = _words(explained.claim.passage(question.passage).text).difference(*others)
    shared = [len(own_words & _words(sentence.bare)) for sentence in explained.sentences]
    (citing,) = question.gold
    best = shared.pop(citing)
    return best > 0 and best >= 2 * max(shared, default=0)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


class ItemState(NamedTuple):
    """How far an item is. taken: answers that count, and people who hold it now, both of others than the one who asks."""

    item_id: str
    kind: str
    explanation_id: str
    wanted: int | None
    taken: int


class Turn(NamedTuple):
    """What a person gets next.

    item_id: what is asked next; None if nothing is left. left: questions that this person may still be asked.
    """

    item_id: str | None
    left: int


def next_item(person: str, states: Sequence[ItemState], answered: Collection[str]) -> Turn:
    """Return the next item of a person. states: in the order of the study. answered: the items this person has answered.

    Cost: linear in the items.
    """
    done = [item for item in states if item.item_id in answered]
    seen = {item.explanation_id for item in done}
    open_questions = [
        one for one in states if one.kind == QUESTION and one.explanation_id not in seen and one.taken < (one.wanted or 0)
    ]
    left = len({item.explanation_id for item in open_questions})
    if not open_questions:
        return Turn(None, 0)
    for item in states:
        if item.kind == PRACTICE and item.item_id not in answered:
            return Turn(item.item_id, left)
    controls = [item for item in states if item.kind in CONTROLS and item.explanation_id not in seen]
    turn = sum(item.kind != PRACTICE for item in done)
    candidates = controls if controls and is_control_turn(person, turn, _stretch(states)) else open_questions
    return Turn(min(candidates, key=lambda item: (item.taken, _hash(person, item.item_id))).item_id, left)


def is_control_turn(person: str, turn: int, stretch: int) -> bool:
    """Return whether a person's turn, counted from 0, is a control item's. stretch: turns among which one is; 0: never."""
    return stretch > 0 and turn % stretch == _hash(person, str(turn // stretch)) % stretch


def _stretch(states: Sequence[ItemState]) -> int:
    controls = sum(item.kind in CONTROLS for item in states)
    explanations = len({item.explanation_id for item in states if item.kind == QUESTION})
    return round((controls + explanations) / controls) if controls else 0


def _hash(*texts: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(texts).encode()).digest()[:8], "big")


# In hundredths, so that 7 right of 10 are enough whatever a float makes of .7.
LEAST_PERCENT = 70


class Quality(NamedTuple):
    """How one person answers control items. right: control items answered right. controls: control items answered."""

    right: int
    controls: int

    @property
    def counts(self) -> bool:
        """Whether this person's answers count."""
        return 100 * self.right >= LEAST_PERCENT * self.controls
