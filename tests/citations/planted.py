"""Claims and explanations with known answers. Nothing in them is anybody's data."""

from __future__ import annotations

from heval_core.citations.questions import explained
from heval_core.citations.records import Claim, Explained, Passage


def claim(numbers=range(1, 5), key="c1", **more) -> Claim:
    passages = tuple(Passage(number, f"The harbour of town {number} has {number} cranes.") for number in numbers)
    return Claim(key, "The harbours have ten cranes.", "true", passages, **more)


def explanation(text, selected=(1, 2, 3, 4), **more) -> Explained:
    return explained(claim(**more), "writer", "all", selected, text)
