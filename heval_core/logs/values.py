"""What stands at a name in a record of a log, and what text, or which passages, it holds.

A name is dotted. Logs write one thing in many ways: nested, or flat with dots and numbers (`documents.0.document.id`), as JSON
in a text, as a list in quotes (Python's, or numpy's, without commas), as the messages of a chat.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heval_core.datasets._reading import Malformed
from heval_core.logs.rows import LogPassage

# Names of a text within an object, and what a passage has beside it.
TEXTS: tuple[str, ...] = ("text", "content", "page_content", "document.content", "document.page_content", "document.text")
TEXTS += ("node.text", "value", "answer", "response", "output", "result", "passage", "chunk", "body", "snippet", "contents")
_INSIDE = ("question", "query", "input", *TEXTS)
_ABOUT = {
    "id": ("id", "doc_id", "document_id", "document.id", "chunk_id", "id_", "node.id_", "node.node_id", "metadata.id"),
    "title": ("title", "metadata.title", "metadata.file_name", "document.metadata.title", "node.metadata.title"),
    "url": ("url", "source", "metadata.url", "metadata.source", "document.metadata.url", "document.metadata.source"),
    "page": ("page", "metadata.page", "metadata.page_label", "document.metadata.page", "node.metadata.page_label"),
}
_ABOUT["title"] += ("node.metadata.file_name",)
_SCORES = ("score", "document.score", "metadata.score", "relevance_score", "similarity", "similarity_score")
_PERSON = ("user", "human")
# What parts passages within a text.
_DELIMITERS = ("|||", "<sep>", "<SEP>", "\n---\n")
_NUMBERED = re.compile(r"(?:^|(?<=\s))\[(\d{1,3})\]\s")
# A list in quotes longer than this is no list that is worth reading.
_LONGEST = 20_000_000


def at(record: Any, name: str) -> Any:
    """Return what stands at a dotted name; None where nothing does."""
    if isinstance(record, str):
        record = _unpacked(record)
    if isinstance(record, Sequence) and not isinstance(record, str):
        first, _, rest = name.partition(".")
        if not first.isdigit() or int(first) >= len(record):
            return None
        return at(record[int(first)], rest) if rest else record[int(first)]
    if not isinstance(record, Mapping):
        return None
    if record.get(name) is not None:
        return record[name]
    parts = name.split(".")
    for cut in range(1, len(parts)):
        inner = at(record.get(".".join(parts[:cut])), ".".join(parts[cut:]))
        if inner is not None:
            return inner
    return _gathered({key[len(name) + 1 :]: value for key, value in record.items() if str(key).startswith(f"{name}.")})


def _gathered(flat: Mapping[str, Any]) -> Any:
    """Return the list that names such as `0.document.id` spell; None where they spell none."""
    numbers = {key.partition(".")[0] for key in flat}
    if not numbers or not all(number.isdigit() for number in numbers):
        return None
    inner: dict[str, dict[str, Any]] = {number: {} for number in sorted(numbers, key=int)}
    for key, value in flat.items():
        number, _, rest = key.partition(".")
        inner[number][rest] = value
    return [part[""] if set(part) == {""} else part for part in inner.values()]


def _unpacked(text: str) -> Any:
    """Return what JSON in a text holds; the text where it is none."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def text_in(value: Any) -> str:
    """Return the text that a value holds: as it is, within an object, or what a person says last in a chat; "" for none."""
    value = _unpacked(value) if isinstance(value, str) else value
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        messages = value.get("messages")
        return text_in(messages) if messages else text_in(_first(value, _INSIDE))
    if isinstance(value, Sequence) and value:
        asked_by_people = [turn for turn in value if isinstance(turn, Mapping) and _speaker(turn) in _PERSON]
        return text_in(asked_by_people[-1] if asked_by_people else value[0])
    return "" if value is None or isinstance(value, (bool, Sequence)) or value != value else str(value)


def _first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return what stands at the first of some names at which something does."""
    values = (at(record, name) for name in names)
    return next((value for value in values if value is not None), None)


def _speaker(turn: Mapping[str, Any]) -> str:
    return str(turn.get("role") or turn.get("speaker") or turn.get("type") or "").lower()


def passages_in(value: Any, delimiter: str | None = None) -> tuple[LogPassage, ...]:
    """Return the passages that a value holds. delimiter: what parts them in a text; None finds it.

    Raises Malformed for what looks like a list and is none, and for a passage without a text.
    """
    listed = _listed(value, delimiter)
    passages = [_passage(one, number) for number, one in enumerate(listed, start=1)]
    return tuple(passage for passage in passages if passage is not None)


def _listed(value: Any, delimiter: str | None) -> list[Any]:
    if value is None or value != value:
        return []
    if isinstance(value, Mapping):
        keys = [key for key in value if str(key).isdigit()]
        inner = next((value[name] for name in ("documents", "passages", "nodes") if value.get(name)), None)
        return [value[key] for key in sorted(keys, key=int)] if keys else _listed(inner, delimiter) if inner else [value]
    if not isinstance(value, str):
        if not isinstance(value, Sequence) and not hasattr(value, "tolist"):
            raise Malformed(f"the passages are {value!r:.40}; they should be a list of texts")
        return list(value.tolist() if hasattr(value, "tolist") else value)
    text = value.strip()
    if delimiter:
        return [part for part in value.split(delimiter) if part.strip()]
    numbered = list(_NUMBERED.finditer(text))
    if text.startswith(("[", "(")) and not (numbered and numbered[0].start() == 0):
        return _quoted(text)
    if numbered and numbered[0].start() == 0:
        if [int(mark[1]) for mark in numbered] != list(range(1, len(numbered) + 1)):
            return [text]
        ends = [*(mark.start() for mark in numbered[1:]), len(text)]
        return [text[mark.end() : end].strip() for mark, end in zip(numbered, ends, strict=True)]
    parts = next((text.split(one) for one in _DELIMITERS if one in text), [text])
    return [part for part in parts if part.strip()]


def _quoted(text: str) -> list[Any]:
    """Read a list that was written as a text."""
    read = _unpacked(text)
    if isinstance(read, list):
        return read
    try:
        if len(text) > _LONGEST:
            raise ValueError
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string.strip()]
        strings = [token.string for token in tokens if token.type == tokenize.STRING]
        # Python joins two texts without a comma between them, as numpy writes its lists, to one.
        parted = all(one.type != tokenize.STRING or other.type != tokenize.STRING for one, other in zip(tokens, tokens[1:]))  # noqa: B905
        read = ast.literal_eval(text) if parted else [ast.literal_eval(one) for one in strings]
        if isinstance(read, list | tuple):
            return list(read)
    except (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
        pass
    raise Malformed("the passages begin like a list, and are none that can be read; write a JSON list, or give --delimiter")


def _passage(value: Any, number: int) -> LogPassage | None:
    """Return a passage; None for one that is blank."""
    if isinstance(value, Mapping):
        text = text_in(_first(value, TEXTS))
        sentences = value.get("sentences")
        if not text and isinstance(sentences, list):
            text = " ".join(map(text_in, sentences))
        if not text:
            raise Malformed(f"passage {number} has no text; it has {', '.join(map(repr, [*value][:6])) or 'nothing'}")
        about = {name: next(_known(value, names), "") for name, names in _ABOUT.items()}
        score = _first(value, _SCORES)
        scored = isinstance(score, int | float) and score == score
        return LogPassage(text, **about, score=float(score) if scored else None)
    text = text_in(value)
    return LogPassage(text) if text else None


def _known(value: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """Yield what stands at some names, as texts."""
    for name in names:
        known = at(value, name)
        if isinstance(known, str | int | float) and not isinstance(known, bool) and str(known).strip():
            yield str(known).strip()
