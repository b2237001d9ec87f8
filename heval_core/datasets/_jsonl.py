"""One's own data: a JSON-lines file in place of a dataset's name.

One object a line: {"id", "subject", "relation", "question", "answer"?, "memory_answer"?,
"conflicting": {"text", "answer"}, "conflicting_2"?: {…}, "irrelevant"?: {"subject", "text", "answer"}}.
Source and licence: one's own. A record that cannot be used becomes a BadRecord, and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.datasets._records import BadRecord
from heval_core.prompts import mentions
from heval_core.records import Fact, HEvalError, Passage

_REQUIRED = ("id", "subject", "relation", "question", "conflicting")


@dataclass(frozen=True)
class JsonLines:
    path: Path

    title = "One's own data"
    reference = "a local file"
    long = False

    @property
    def key(self) -> str:
        return self.path.stem

    def facts(self) -> Iterator[Fact | BadRecord]:
        """Raises HEvalError where the file is missing or empty."""
        try:
            lines = self.path.read_bytes().splitlines()
        except OSError as error:
            raise HEvalError(f"The data file {self.path} cannot be read: {error.strerror}.") from error
        if not any(line.strip() for line in lines):
            raise HEvalError(f"The data file {self.path} is empty; it needs one JSON object a line.")
        seen: set[str] = set()
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                fact = self._fact(line)
                if fact.id in seen:
                    raise ValueError(f"the id {fact.id!r} is used twice")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                yield BadRecord(self.key, f"{self.path.name}:{number}", str(error))
                continue
            seen.add(fact.id)
            yield fact

    def _fact(self, line: bytes) -> Fact:
        record = json.loads(line.decode("utf-8"))
        if not isinstance(record, dict):
            raise ValueError("the line is not a JSON object")
        missing = [name for name in _REQUIRED if not record.get(name)]
        if missing:
            raise ValueError(f"the record has no {', '.join(missing)}")
        shipped = [_passage(record[n], record["subject"], n) for n in ("conflicting", "conflicting_2") if record.get(n)]
        other = record.get("irrelevant")
        return Fact(
            id=str(record["id"]),
            dataset=self.key,
            subject=str(record["subject"]),
            relation=str(record["relation"]),
            question=str(record["question"]),
            answer=str(record.get("answer") or record.get("memory_answer") or ""),
            conflicting=tuple(shipped),
            irrelevant=_passage(other, str(other.get("subject", "")), "irrelevant") if other else None,
        )


def _passage(record: Any, subject: str, name: str) -> Passage:
    if not isinstance(record, dict) or not record.get("text") or not record.get("answer"):
        raise ValueError(f"{name!r} needs an object with a text and an answer")
    text, answer = str(record["text"]), str(record["answer"])
    if not mentions(answer, text):
        raise ValueError(f"{name!r} does not hold its answer {answer!r} as a word of its own")
    return Passage(subject, answer, text)
