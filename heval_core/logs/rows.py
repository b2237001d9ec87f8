"""What a log holds: a question, the passages that were retrieved, and the answer that somebody's system gave."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class LogPassage:
    """A passage, and what the log says of it. score: the retriever's."""

    text: str
    id: str = ""
    title: str = ""
    url: str = ""
    page: str = ""
    score: float | None = None

    @property
    def name(self) -> str:
        """What tells a reader which it is: its title, with its page, else its address or id."""
        name = self.title or self.url or self.id
        return f"{name}, page {self.page}" if name and self.page else name


@dataclass(frozen=True)
class LogRow:
    """A record of a log. number: from 1. location: the file and line it stands at. id: the log's, or its number."""

    number: int
    location: str
    id: str
    question: str
    answer: str
    passages: tuple[LogPassage, ...]

    @property
    def has_passages(self) -> bool:
        """Whether one of them has a text."""
        return any(passage.text for passage in self.passages)

    @property
    def content(self) -> str:
        """Hash what is traced, whatever else the log says of it: rows of the same content are traced once."""
        texts = [self.question, self.answer, *(passage.text for passage in self.passages)]
        return hashlib.sha256(json.dumps(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class BadRow:
    """A record that cannot be traced, and why."""

    number: int
    location: str
    reason: str

    @property
    def line(self) -> str:
        return f"row {self.number} ({self.location}): {self.reason}"
