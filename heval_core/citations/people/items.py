"""What people are asked, and what they answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass

from heval_core.citations.records import Passage
from heval_core.citations.speaker import storable
from heval_core.records import HEvalError

# A question of the study; a control item whose answer is plain, with one sentence or with none; an item of the practice round.
QUESTION, POSITIVE, NEGATIVE, PRACTICE = "question", "positive", "negative", "practice"
CONTROLS = (POSITIVE, NEGATIVE)


def name_of(text: str) -> str:
    """A name or code as it is kept: 1 to 60 visible characters, single spaces. Raises HEvalError for another."""
    name = " ".join(storable(text).split())
    if not 1 <= len(name) <= 60 or not all(one.isprintable() for one in name):
        raise HEvalError("A name or code has 1 to 60 characters, none of them invisible")
    return name


@dataclass(frozen=True)
class Item:
    """One masked citation as a person sees it.

    kind: one of the four above. explanation_id: whose explanation it shows; nobody is shown one twice, for the second time
    would show what the first had masked. passages: those that the writer was given. passage: the number of the one at hand.
    sentences: without its markers. gold: places, from 0, of the sentences that cited it. wanted: how many people are to
    answer; None where as many as come are asked. feedback: what is said after the answer, in the practice round.
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
        """As it is kept."""
        own = {"passages": list(map(astuple, self.passages)), "gold": sorted(self.gold)}
        return json.dumps(vars(self) | own, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> Item:
        """As it was kept."""
        kept = json.loads(text)
        passages = tuple(Passage(*one) for one in kept["passages"])
        return cls(**kept | {"passages": passages, "sentences": tuple(kept["sentences"]), "gold": frozenset(kept["gold"])})
