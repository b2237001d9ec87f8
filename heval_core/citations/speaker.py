"""What selecting, writing and the annotator `llm` ask: something that answers text with text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Answer:
    """What was answered. problem: why there is no answer ("" if there is one): refused, timed out, too long a prompt, …

    tokens: how many were generated; None where that is not told.
    """

    text: str
    tokens: int | None = None
    problem: str = ""


@dataclass(frozen=True)
class Selection:
    """The numbers of the passages that a selector chose for a claim. problem: why there are none, or why the choice could
    not be read; "" if it could."""

    passages: tuple[int, ...]
    problem: str = ""


class Speaker(Protocol):
    """A language model that is asked for text: a local one, or one behind a server.

    key: what it is called. identity: of its weights and of how it is asked, so that nothing is asked twice and nothing is
    mistaken for another model's.
    """

    @property
    def key(self) -> str: ...
    @property
    def identity(self) -> str: ...
    def answer(self, prompts: Sequence[str], tokens: int) -> list[Answer]:
        """Greedy answers of at most `tokens` tokens, one per prompt, through the chat template where there is one.

        Never raises for one prompt: its answer has a problem then.
        """
