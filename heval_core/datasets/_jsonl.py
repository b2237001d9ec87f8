"""Your own data: a JSON-lines file in place of a dataset's name.

One object per line: {"id", "subject", "relation", "question", "memory_answer"?, "conflicting": {"text", "answer"},
"conflicting_2"?: {"text", "answer"}, "irrelevant"?: {"text", "answer", "subject"?}}. `memory_answer` (or `answer`) is the
true answer, if you know it. Missing documents are made: a second conflicting one by putting another answer of the relation
into the first, an irrelevant one from another subject's record.
Source and licence: yours. A record that cannot be used becomes a BadRecord; the others are used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.datasets._files import json_lines
from heval_core.datasets._records import BadRecord, Malformed, Record, read_each, text_of
from heval_core.prompts import mentions
from heval_core.records import Fact, Passage


@dataclass(frozen=True)
class JsonLines:
    path: Path

    title = "One's own data"
    reference = "a local file"
    long = False

    @property
    def key(self) -> str:
        return self.path.stem

    def facts(self) -> Iterator[Record]:
        """Raises HEvalError if the file is missing or empty."""
        places: dict[bytes, str] = {}
        for place, raw in json_lines(self.path):
            for record in read_each(self.key, [(place, raw)], self._fact):
                if isinstance(record, Fact):
                    # A hash in place of the id: there may be millions of them.
                    identity = hashlib.blake2b(record.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                    first = places.setdefault(identity, place)
                    if first != place:
                        yield BadRecord(self.key, place, f"the id {record.id!r} is already used at {first}")
                        continue
                yield record

    def _fact(self, record: dict[str, Any]) -> Fact:
        subject = text_of(record, "subject")
        shipped = [_passage(record, subject, "conflicting")]
        if record.get("conflicting_2") is not None:
            shipped.append(_passage(record, subject, "conflicting_2"))
        irrelevant = None
        if record.get("irrelevant") is not None:
            other = record["irrelevant"]
            named = text_of(record, "irrelevant", "subject") if isinstance(other, dict) and other.get("subject") else ""
            irrelevant = _passage(record, named, "irrelevant")
        known = next((name for name in ("memory_answer", "answer") if record.get(name) is not None), None)
        return Fact(
            id=str(record["id"]) if isinstance(record.get("id"), int) else text_of(record, "id"),
            dataset=self.key,
            subject=subject,
            relation=text_of(record, "relation"),
            question=text_of(record, "question"),
            answer=text_of(record, known) if known else "",
            conflicting=tuple(shipped),
            irrelevant=irrelevant,
        )


def _passage(record: dict[str, Any], subject: str, name: str) -> Passage:
    text, answer = text_of(record, name, "text"), text_of(record, name, "answer")
    if not mentions(answer, text):
        raise Malformed(f"{name!r} does not contain its answer {answer!r} as a separate word")
    return Passage(subject, answer, text)
