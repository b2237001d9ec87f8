"""Claims and explanations with known answers. Nothing in them is anybody's data."""

from __future__ import annotations

from collections.abc import Sequence

from heval_core.citations.questions import explained
from heval_core.citations.records import Claim, Explained, Passage, Question, Sentence


def claim(numbers=range(1, 5), key="c1", **more) -> Claim:
    passages = tuple(Passage(number, f"The harbour of town {number} has {number} cranes.") for number in numbers)
    return Claim(key, "The harbours have ten cranes.", "true", passages, **more)


def explanation(text, selected=(1, 2, 3, 4), **more) -> Explained:
    return explained(claim(**more), "writer", "all", selected, text)


def of_texts(passages: Sequence[Passage], texts: Sequence[str], said: str = "Peru is a state.") -> Explained:
    """These sentences, without markers, from all of these passages."""
    sentences = tuple(Sentence(text, text, ()) for text in texts)
    return Explained(Claim("c", said, "true", tuple(passages)), "w", "all", tuple(p.number for p in passages), sentences)


def questions(of: Explained, gold: frozenset[int] = frozenset()) -> list[Question]:
    """About each of its passages."""
    return [Question(of, number, tuple(own.bare for own in of.sentences), gold) for number in of.selected]
