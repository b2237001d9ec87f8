"""How documents are presented to a model: as they are, or in a way that the model was taught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heval_core.records import Document, Passage


class PromptStyle(Protocol):
    """How documents are presented to a model, and which questions may be put to it."""

    @property
    def key(self) -> str:
        """What the style is called in stored results."""

    def admits(self, subject: str, answer: str) -> bool:
        """Whether a document that answers a question about `subject` with `answer` may be used."""

    def admits_each(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """`admits` of many (subject, answer) pairs at once."""

    def present(self, documents: tuple[Document, ...], place: int, key: str) -> tuple[Document, ...]:
        """The documents as the model reads them; `place` counts the questions, `key` seeds random choices."""

    def padding(self, passage: Passage, key: str) -> str:
        """A passage that only makes the prompt longer, as the model reads it; `key` seeds random choices."""

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        """The group that a known rule implies; None if no rule is known."""


@dataclass(frozen=True)
class Plain:
    """Documents as they are, every question admitted, no known rule: for every model that was not taught one."""

    key: str = "plain"

    def admits(self, subject: str, answer: str) -> bool:
        return True

    def admits_each(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [True] * len(pairs)

    def present(self, documents: tuple[Document, ...], place: int, key: str) -> tuple[Document, ...]:
        return documents

    def padding(self, passage: Passage, key: str) -> str:
        return passage.text

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        return None
