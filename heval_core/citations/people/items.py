"""What people are asked: one masked citation with all that is needed to answer it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from heval_core.citations.records import Passage

# A question of the study; a control item whose answer is plain, with one sentence or with none; an item of the practice round.
QUESTION, POSITIVE, NEGATIVE, PRACTICE = KINDS = ("question", "positive", "negative", "practice")
CONTROLS = (POSITIVE, NEGATIVE)


@dataclass(frozen=True)
class Item:
    """One masked citation as a person sees it.

    kind: one of KINDS. explanation_id: whose explanation it shows; nobody is shown one twice, for the second time would show
    what the first had masked. passages: those that the writer was given. passage: the number of the one at hand. sentences:
    without its markers. gold: places, from 0, of the sentences that cited it. wanted: how many people are to answer; None
    where as many as come are asked. feedback: what is said after the answer, in the practice round.
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
        """Of all that a person sees and of the answer, so that the same item is the same in every file."""
        passages = [[passage.number, passage.text, passage.title] for passage in self.passages]
        seen = [self.kind, self.explanation_id, self.claim, self.verdict, passages, self.passage, self.sentences]
        return hashlib.sha256(json.dumps([*seen, sorted(self.gold)]).encode()).hexdigest()[:16]


def whole(text: str) -> str:
    """The text without what no file can hold: half a surrogate pair is shown as a replacement character."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
