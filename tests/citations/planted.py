"""Claims and explanations with known answers, and speakers that say what a test wants. Nothing in them is anybody's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heval_core.citations.questions import explained
from heval_core.citations.records import CitedSentence, Claim, Explained, Passage, Question
from heval_core.citations.speaker import Reply

TEXTS = (
    "The lake of Orvale froze in January.",
    "Skaters crossed the frozen lake for nine days.",
    "The town council sells fishing permits.",
    "Permits were sold out by March.",
)
SAID = "The lake of Orvale froze for nine days."


def claim(texts: Sequence[str] = TEXTS, first: int = 0, said: str = SAID, key: str = "c1", **more: Any) -> Claim:
    """first: the number of the first passage. more: chains, explanations that came with it."""
    return Claim(key, said, "true", tuple(Passage(number, text) for number, text in enumerate(texts, first)), **more)


def explanation(text: str | Sequence[str], selected: Sequence[int] = (1, 2, 3, 4), **more: Any) -> Explained:
    return explained(claim(first=1, **more), "writer", "all", selected, text)


def of_texts(passages: Sequence[Passage], texts: Sequence[str], said: str = "Peru is a state.") -> Explained:
    """These sentences, without markers, from all of these passages."""
    sentences = tuple(CitedSentence(text, text, ()) for text in texts)
    return Explained(Claim("c", said, "true", tuple(passages)), "w", "all", tuple(p.number for p in passages), sentences)


def questions(of: Explained, gold: frozenset[int] = frozenset()) -> list[Question]:
    """About each of its passages."""
    return [Question(of, number, tuple(own.bare for own in of.sentences), gold) for number in of.selected]


class Scripted:
    """A speaker that answers with what it is given, in turn; an Answer is given as it is. asked: the prompts, in order."""

    key, identity = "scripted", "scripted 1"

    def __init__(self, *answers: str | Reply):
        self.answers, self.asked, self.caps = list(answers), list[str](), list[int]()

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Reply]:
        self.asked += prompts
        self.caps.append(tokens)
        answers = [self.answers.pop(0) for _ in prompts]
        return [answer if isinstance(answer, Reply) else Reply(answer, 3) for answer in answers]
