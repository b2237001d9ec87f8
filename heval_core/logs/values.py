"""What stands at a name in a record of a log, and what text, or which passages, it holds.

A name is dotted. Logs write one thing in many ways: nested, or flat with dots and numbers (`documents.0.document.id`), as a
list in quotes (JSON's, Python's, or numpy's, without commas), as the messages of a chat. A text is never taken for anything
else: JSON within one is unpacked only where it is an object that has the text under a name in use.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from heval_core.datasets._reading import Malformed
from heval_core.logs.rows import LogPassage

# Names of a passage's text, and of what it has beside it.
_TEXTS: tuple[str, ...] = (
    "text",
    "content",
    "page_content",
    "document.content",
    "document.page_content",
    "document.text",
    "node.text",
)
_TEXTS += ("passage", "chunk", "body", "snippet", "contents", "value")
_ABOUT = {
    "id": ("id", "doc_id", "document_id", "document.id", "chunk_id", "id_", "node.id_", "node.node_id", "metadata.id"),
    "title": ("title", "metadata.title", "metadata.file_name", "document.metadata.title", "node.metadata.title"),
    "url": ("url", "source", "metadata.url", "metadata.source", "document.metadata.url", "document.metadata.source"),
    "page": ("page", "metadata.page", "metadata.page_label", "document.metadata.page", "node.metadata.page_label"),
}
_ABOUT["title"] += ("node.metadata.file_name",)
_SCORES = ("score", "document.score", "metadata.score", "relevance_score", "similarity", "similarity_score")
# Names of a question, and of an answer, within an object; and who says them in a chat.
_INSIDE = {
    "question": ("question", "query", "input", "user_input", "text", "content"),
    "answer": ("answer", "response", "output", "result", "text", "content"),
}
_SPEAKERS = {"question": ("user", "human"), "answer": ("assistant", "ai", "agent", "bot", "model")}
# What parts passages within a text.
DELIMITERS = ("|||", "<sep>", "<SEP>", "\n---\n")
# `[1] …` at the beginning of a line, or behind the end of a sentence.
_LINE_NUMBER, _NUMBER = (
    re.compile(r"^[ \t]*\[(\d{1,3})\][ \t]", re.MULTILINE),
    re.compile(r"(?:^|(?<=[.!?…\"”)]\s))\[(\d{1,3})\]\s"),
)
_ARRAY = re.compile(r"array\((\[.*\])(?:, dtype=\w+)?\)", re.DOTALL)
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


def text_in(value: Any, role: str) -> str:
    """Return the question, or the answer, that a value holds: a text, the text of an object, or what is said last in a chat.

    role: `question` or `answer`. "" for nothing. Raises Malformed for what holds several, or a chat in which nobody says it.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str):
        inner = _unpacked(value)
        return (_within(inner, role) if isinstance(inner, Mapping) else "") or value.strip()
    if isinstance(value, Mapping):
        if value.get("messages"):
            return text_in(value["messages"], role)
        text = _within(value, role)
        if not text:
            raise Malformed(f"the {role} is an object with {_names(value)}; give --{role} the name of its text, dotted")
        return text
    if isinstance(value, Sequence) and value:
        return _last(value, role)
    return "" if value is None or isinstance(value, bool | Sequence) or _is_nan(value) else str(value)


def _within(value: Mapping[str, Any], role: str) -> str:
    text = _first(value, _INSIDE[role])
    return text.strip() if isinstance(text, str) else ""


def _last(turns: Sequence[Any], role: str) -> str:
    """Return what is said last in a chat by who says questions, or answers."""
    named = [_turn(turn) for turn in turns]
    if all(not speaker for speaker, _ in named):
        if len(named) == 1:
            return text_in(turns[0], role)
        raise Malformed(f"the {role} is a list of {len(turns)}; a record has one {role}")
    texts = [text for speaker, text in named if speaker in _SPEAKERS[role] and text]
    if not texts:
        raise Malformed(f"nobody in the chat says the {role}; there are {', '.join(sorted({one for one, _ in named}))}")
    return texts[-1]


def _turn(turn: Any) -> tuple[str, str]:
    """Return who says a turn of a chat, and what."""
    if isinstance(turn, Sequence) and not isinstance(turn, str) and len(turn) == 2 and isinstance(turn[0], str):
        return turn[0].lower(), str(turn[1]).strip()
    if not isinstance(turn, Mapping):
        return "", ""
    content = _first(turn, ("content", "text", "message.content"))
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else [content]
    texts = [part if isinstance(part, str) else str(at(part, "text") or "") for part in parts]
    speaker = turn.get("role") or turn.get("speaker") or turn.get("type") or at(turn, "message.role") or ""
    return str(speaker).lower(), " ".join(text.strip() for text in texts if text.strip())


def _first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return what stands at the first of some names at which something does."""
    values = (at(record, name) for name in names)
    return next((value for value in values if value is not None), None)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _names(value: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, [*value][:6])) or "nothing"


def passages_in(value: Any, delimiter: str | None = None) -> tuple[LogPassage, ...]:
    """Return the passages that a value holds; one without a text keeps its number. delimiter: what parts them in a text; None
    finds it.

    Raises Malformed for what looks like a list and is none, and for a passage without a text.
    """
    return tuple(_passage(one, number) for number, one in enumerate(_listed(value, delimiter), start=1))


def _listed(value: Any, delimiter: str | None) -> list[Any]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None or _is_nan(value):
        return []
    if isinstance(value, Mapping):
        keys = [key for key in value if str(key).isdigit()]
        inner = next((value[name] for name in ("documents", "passages", "nodes") if value.get(name)), None)
        return [value[key] for key in sorted(keys, key=int)] if keys else _listed(inner, delimiter) if inner else [value]
    if isinstance(value, str):
        return _parted(value, delimiter)
    if not isinstance(value, Sequence):
        raise Malformed(f"the passages are {value!r:.40}; they should be a list of texts")
    lists = [one.tolist() if hasattr(one, "tolist") else one for one in value]
    return [one for part in lists for one in (part if isinstance(part, list | tuple) else [part])]


def _parted(text: str, delimiter: str | None) -> list[Any]:
    """Return the passages of a text."""
    stripped = text.strip()
    if delimiter:
        return [part for part in text.split(delimiter) if part.strip()]
    if _is_list(stripped):
        array = _ARRAY.fullmatch(stripped)
        return _quoted(array[1] if array else stripped)
    numbered = [*_LINE_NUMBER.finditer(stripped)] if "\n" in stripped else [*_NUMBER.finditer(stripped)]
    if numbered and numbered[0].start() == 0 and [int(mark[1]) for mark in numbered] == list(range(1, len(numbered) + 1)):
        ends = [*(mark.start() for mark in numbered[1:]), len(stripped)]
        return [stripped[mark.end() : end].strip() for mark, end in zip(numbered, ends, strict=True)]
    parts = next((text.split(one) for one in DELIMITERS if one in text), [text])
    return [part for part in parts if part.strip()]


def _is_list(text: str) -> bool:
    """Return whether a text looks like a list: `[1] Kenya …` and `[sic] …` do not."""
    return text[:1] + text[-1:] in ("[]", "()") or text[:2] in ('["', "['", "[{") or bool(_ARRAY.fullmatch(text))


def shape_of(value: Any, delimiter: str | None) -> str:
    """Say in what shape passages stand."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str):
        if delimiter:
            return f"a text, parted by {delimiter!r}"
        if _is_list(value.strip()):
            return "a list in a text"
        sign = next((one for one in DELIMITERS if one in value), None)
        numbered = len(_parted(value, None)) > 1
        return f"a text, parted by {sign!r}" if sign else "a text, parted by [1], [2], …" if numbered else "a text"
    if isinstance(value, Sequence) and value:
        return "a list of texts" if isinstance(value[0], str) else "a list of objects"
    return "a list"


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
        parted = not any(one.type == other.type == tokenize.STRING for one, other in pairwise(tokens))
        read = ast.literal_eval(text) if parted else [ast.literal_eval(one) for one in strings]
        if isinstance(read, list | tuple):
            return list(read)
    except (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
        pass
    raise Malformed(
        f"the passages look like a list, and are none that can be read ({text[:30]} …); write a JSON list, or give --delimiter"
    )


def _passage(value: Any, number: int) -> LogPassage:
    if isinstance(value, Mapping):
        text = _first(value, _TEXTS)
        sentences = text if isinstance(text, list) else value.get("sentences") if text is None else None
        if isinstance(sentences, list):
            text = " ".join(str(one).strip() for one in sentences)
        if not isinstance(text, str):
            raise Malformed(f"passage {number} has no text; it has {_names(value)}")
        about = {name: next(_known(value, names), "") for name, names in _ABOUT.items()}
        score = _first(value, _SCORES)
        scored = isinstance(score, int | float) and not isinstance(score, bool) and not _is_nan(score)
        return LogPassage(text.strip(), **about, score=float(score) if scored else None)
    if value is None or _is_nan(value):
        return LogPassage("")
    return LogPassage(str(value).strip())


def _known(value: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """Yield what stands at some names, as texts."""
    for name in names:
        known = at(value, name)
        if isinstance(known, str | int | float) and not isinstance(known, bool) and str(known).strip():
            yield str(known).strip()
