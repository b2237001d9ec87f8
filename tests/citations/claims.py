"""Claims and speakers for tests of selecting and writing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heval_core.citations.records import Claim, Passage, Written
from heval_core.citations.speaker import Answer

TEXTS = (
    "The lake of Orvale froze in January.",
    "Skaters crossed the frozen lake for nine days.",
    "The town council sells fishing permits.",
    "Permits were sold out by March.",
)


def claim(
    texts: Sequence[str] = TEXTS,
    first: int = 0,
    chains: tuple[tuple[int, ...], ...] = (),
    written: tuple[Written, ...] = (),
    said: str = "The lake of Orvale froze for nine days.",
) -> Claim:
    """first: the number of the first passage."""
    passages = tuple(Passage(first + place, text) for place, text in enumerate(texts))
    return Claim("c1", said, "true", passages, chains, written)


class Scripted:
    """A speaker that answers with what it is given, in turn; an Answer is given as it is. asked: the prompts, in order."""

    key, identity = "scripted", "scripted 1"

    def __init__(self, *answers: str | Answer | Callable[[str], str]):
        self.answers, self.asked, self.caps = list(answers), list[str](), list[int]()

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Answer]:
        self.asked += prompts
        self.caps.append(tokens)
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: str) -> Answer:
        answer = self.answers.pop(0)
        if isinstance(answer, Answer):
            return answer
        return Answer(answer if isinstance(answer, str) else answer(prompt), 3)
