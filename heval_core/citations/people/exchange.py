"""A study as text, to take it elsewhere: JSON lines, or CSV with the columns of all records. Nothing is lost on the way.

The records are items, people (name and when they came) and every answer ever given, those that were changed later too. In CSV
lists are JSON, and a text that a spreadsheet would take for a formula has an apostrophe in front, which reading takes off.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heval_core.citations.people.items import KINDS, QUESTION, Item, whole
from heval_core.citations.records import Passage
from heval_core.records import HEvalError

FORMATS = ("csv", "jsonl")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
# Characters of a cell, and people for an item.
_LARGEST, _MOST_WANTED = 2**31 - 1, 10_000


@dataclass(frozen=True)
class Person:
    """since: when this person came first, UTC, in ISO form."""

    annotator: str
    since: str


@dataclass(frozen=True)
class Given:
    """One answer of a person. answer_id: unique everywhere. predicted: places of the sentences chosen. helpfulness: 0 to 100.
    at: when, UTC, in ISO form; of several to one item the last counts."""

    answer_id: str
    item_id: str
    annotator: str
    predicted: tuple[int, ...]
    helpfulness: float
    seconds: float
    at: str


Record = Item | Person | Given
_NAMES: dict[type, str] = {Item: "item", Person: "person", Given: "answer"}
_COLUMNS = (
    *("record", "item_id", "kind", "explanation_id", "claim", "verdict", "passages", "passage", "sentences", "gold", "wanted"),
    *("feedback", "annotator", "since", "answer_id", "predicted", "helpfulness", "seconds", "at"),
)
_JSON = ("passages", "passage", "sentences", "gold", "wanted", "predicted", "helpfulness", "seconds")


def written(records: Iterable[Record], form: str) -> str:
    """The records as text. form: one of FORMATS. Raises HEvalError for another."""
    rows = map(_row, records)
    if _known(form) == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        writer.writerow([_cell(name, row[name]) if name in row else "" for name in _COLUMNS])
    return out.getvalue()


def read(text: str, form: str) -> tuple[list[Record], list[str]]:
    """The records of a text, and what is wrong with the others, a sentence each. Raises HEvalError for an unknown form."""
    records: list[Record] = []
    problems: list[str] = []
    for place, row in (_lines if _known(form) == "jsonl" else _csv_rows)(text):
        try:
            if isinstance(row, str):
                raise HEvalError(row)
            records.append(_record(row))
        except HEvalError as error:
            problems.append(f"{place}: {error}")
    return records, problems


def _known(form: str) -> str:
    if form not in FORMATS:
        raise HEvalError(f"There is no format {form!r} for a study; there are: {', '.join(FORMATS)}.")
    return form


def _row(record: Record) -> dict[str, Any]:
    row: dict[str, Any] = {"record": _NAMES[type(record)], **vars(record)}
    if isinstance(record, Item):
        row["item_id"], row["gold"] = record.item_id, sorted(record.gold)
        row["passages"] = [[one.number, one.text, one.title] for one in record.passages]
    return row


def _cell(name: str, value: Any) -> str:
    if name in _JSON:
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(_FORMULA) else str(value)


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    """(place, object), or (place, what is wrong) for what is none."""
    # Not splitlines: it would also break lines at signs that JSON leaves as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            yield f"line {number}", row if isinstance(row, dict) else "it is no JSON object"


def _csv_rows(text: str) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(_LARGEST)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    names = next(reader, [])
    if missing := set(_COLUMNS) - set(names):
        yield "the first line", f"the columns {', '.join(sorted(missing))} are missing"
        return
    for number, cells in enumerate(reader, start=2):
        if len(cells) != len(names):
            yield f"row {number}", f"it has {len(cells)} cells; the first line names {len(names)}"
            continue
        row = {name: cell.removeprefix("'") for name, cell in zip(names, cells, strict=True)}
        try:
            yield f"row {number}", row | {name: json.loads(row[name]) for name in _JSON if row[name]}
        except (ValueError, RecursionError):
            yield f"row {number}", "a cell that should hold JSON does not"


def _record(row: Mapping[str, Any]) -> Record:
    kinds: dict[Any, Callable[[Mapping[str, Any]], Record]] = {"item": _item, "person": _person, "answer": _given}
    name = row.get("record")
    if not isinstance(name, str) or name not in kinds:
        raise HEvalError(f"its record is {name!r:.40}; it should be one of {', '.join(kinds)}")
    return kinds[name](row)


def _item(row: Mapping[str, Any]) -> Item:
    sentences = tuple(map(whole, _list(row, "sentences", str)))
    gold = frozenset(_list(row, "gold", int))
    wanted = row.get("wanted")
    try:
        passages = tuple(Passage(int(number), whole(text), whole(title)) for number, text, title in row["passages"])
        item = Item(
            kind=_text(row, "kind"),
            explanation_id=_text(row, "explanation_id"),
            claim=_text(row, "claim"),
            verdict=_text(row, "verdict"),
            passages=passages,
            passage=int(row["passage"]),
            sentences=sentences,
            gold=gold,
            wanted=None if wanted in (None, "") else int(wanted),
            feedback=_text(row, "feedback"),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise HEvalError("it is no item: its passages, passage or wanted cannot be read") from None
    if item.kind not in KINDS:
        raise HEvalError(f"its kind is {item.kind!r:.40}; it should be one of {', '.join(KINDS)}")
    if not 1 <= (item.wanted or 1) <= _MOST_WANTED or (item.kind == QUESTION and item.wanted is None):
        raise HEvalError(f"its wanted is {item.wanted}; it should be from 1 to {_MOST_WANTED:,}")
    if item.passage not in {one.number for one in passages} or not gold <= set(range(len(sentences))):
        raise HEvalError("its passage or its gold sentences are not among those it shows")
    if row.get("item_id") != item.item_id:
        raise HEvalError(f"its item_id {str(row.get('item_id'))[:40]!r} is not that of its text; the item was changed")
    return item


def _person(row: Mapping[str, Any]) -> Person:
    return Person(name_of(_text(row, "annotator")), _time(row, "since"))


def _given(row: Mapping[str, Any]) -> Given:
    helpfulness, seconds = _number(row, "helpfulness"), _number(row, "seconds")
    if not 0 <= helpfulness <= 100 or seconds < 0:
        raise HEvalError("its helpfulness is not from 0 to 100, or its seconds are negative")
    chosen = tuple(sorted(set(_list(row, "predicted", int))))
    person = name_of(_text(row, "annotator"))
    return Given(_text(row, "answer_id"), _text(row, "item_id"), person, chosen, helpfulness, seconds, _time(row, "at"))


def name_of(text: str) -> str:
    """A name or code as it is kept: 1 to 60 visible characters, single spaces. Raises HEvalError for another."""
    name = " ".join(whole(text).split())
    if not 1 <= len(name) <= 60 or not all(one.isprintable() for one in name):
        raise HEvalError("A name or code has 1 to 60 characters, none of them invisible")
    return name


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise HEvalError(f"its {name} is missing, or no text")
    return whole(value)


def _number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise HEvalError(f"its {name} is missing, or no number")
    return number


def _list(row: Mapping[str, Any], name: str, of: type) -> list[Any]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(one, of) and not isinstance(one, bool) for one in value):
        raise HEvalError(f"its {name} should be a list of {'numbers' if of is int else 'texts'}")
    return value


def _time(row: Mapping[str, Any], name: str) -> str:
    text = _text(row, name)
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise HEvalError(f"its {name} {text[:40]!r} is no time, such as 2026-01-31T12:00:00") from None
    return time.isoformat(timespec="microseconds")
