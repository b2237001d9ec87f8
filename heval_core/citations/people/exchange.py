"""What people are asked and what they answer; and both as text, to take a study elsewhere and back without loss.

The text is JSON lines: items, people (name and when they came) and every answer ever given, those that were changed later too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError

from heval_core.citations.records import Passage
from heval_core.records import HEvalError

# A question of the study; a control item whose answer is plain, with one sentence or with none; an item of the practice round.
QUESTION, POSITIVE, NEGATIVE, PRACTICE = KINDS = ("question", "positive", "negative", "practice")
CONTROLS = (POSITIVE, NEGATIVE)
# People for an item.
_MOST_WANTED = 10_000


def whole(text: str) -> str:
    """The text without what no file can hold: half a surrogate pair is shown as a replacement character."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def name_of(text: str) -> str:
    """A name or code as it is kept: 1 to 60 visible characters, single spaces. Raises HEvalError for another."""
    name = " ".join(whole(text).split())
    if not 1 <= len(name) <= 60 or not all(one.isprintable() for one in name):
        raise HEvalError("A name or code has 1 to 60 characters, none of them invisible")
    return name


def _time(text: str) -> str:
    """UTC in ISO form, to the microsecond."""
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
    except (ValueError, OverflowError):
        raise HEvalError(f"its time {text[:40]!r} is no time, such as 2026-01-31T12:00:00") from None
    return time.isoformat(timespec="microseconds")


def _passages(rows: Any) -> Any:
    try:
        return [Passage(int(number), whole(text), whole(title)) for number, text, title in rows]
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise HEvalError("its passages should be a list of numbers, texts and titles") from None


# What is read from elsewhere is as these say.
Text = Annotated[str, AfterValidator(whole)]
Name = Annotated[str, AfterValidator(name_of)]
Time = Annotated[str, AfterValidator(_time)]
Place = Annotated[int, Field(strict=True)]


@dataclass(frozen=True)
class Item:
    """One masked citation as a person sees it.

    kind: one of KINDS. explanation_id: whose explanation it shows; nobody is shown one twice, for the second time would show
    what the first had masked. passages: those that the writer was given. passage: the number of the one at hand. sentences:
    without its markers. gold: places, from 0, of the sentences that cited it. wanted: how many people are to answer; None
    where as many as come are asked. feedback: what is said after the answer, in the practice round.
    """

    kind: str
    explanation_id: Text
    claim: Text
    verdict: Text
    passages: Annotated[tuple[Passage, ...], BeforeValidator(_passages)]
    passage: Place
    sentences: tuple[Text, ...]
    gold: frozenset[Place]
    wanted: Annotated[int, Field(strict=True, ge=1, le=_MOST_WANTED)] | None = None
    feedback: Text = ""

    @property
    def item_id(self) -> str:
        """Of all that a person sees and of the answer, so that the same item is the same in every file."""
        passages = [[passage.number, passage.text, passage.title] for passage in self.passages]
        seen = [self.kind, self.explanation_id, self.claim, self.verdict, passages, self.passage, self.sentences]
        return hashlib.sha256(json.dumps([*seen, sorted(self.gold)]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Person:
    """since: when this person came first, UTC, in ISO form."""

    annotator: Name
    since: Time


@dataclass(frozen=True)
class Given:
    """One answer of a person. answer_id: unique everywhere. predicted: places of the sentences chosen. helpfulness: 0 to 100.
    at: when, UTC, in ISO form; of several to one item the last counts."""

    answer_id: Text
    item_id: Text
    annotator: Name
    predicted: Annotated[tuple[Place, ...], AfterValidator(lambda chosen: tuple(sorted(set(chosen))))]
    helpfulness: Annotated[float, Field(strict=True, ge=0, le=100)]
    seconds: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
    at: Time


Record = Item | Person | Given
_KINDS: dict[str, type[Record]] = {"item": Item, "person": Person, "answer": Given}
_READERS: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}


def written(records: Iterable[Record]) -> str:
    """The records as text, a line each."""
    return "".join(json.dumps(_row(record), ensure_ascii=False) + "\n" for record in records)


def read(text: str) -> tuple[list[Record], list[str]]:
    """The records of a text, and what is wrong with the others, a sentence each."""
    records: list[Record] = []
    problems: list[str] = []
    # Not splitlines: it would also break lines at signs that JSON leaves as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            if line.strip():
                records.append(_record(line))
        except HEvalError as error:
            problems.append(f"line {number}: {error}")
    return records, problems


def _row(record: Record) -> dict[str, Any]:
    (name,) = (name for name, kind in _KINDS.items() if isinstance(record, kind))
    row: dict[str, Any] = {"record": name, **vars(record)}
    if isinstance(record, Item):
        row["item_id"], row["gold"] = record.item_id, sorted(record.gold)
        row["passages"] = [[one.number, one.text, one.title] for one in record.passages]
    return row


def _record(line: str) -> Record:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise HEvalError("it is no JSON object")
    name = row.get("record")
    if not isinstance(name, str) or name not in _KINDS:
        raise HEvalError(f"its record is {name!r:.40}; it should be one of {', '.join(_KINDS)}")
    try:
        record: Record = _READERS[name].validate_python(row)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        raise HEvalError(f"its {wrong['loc'][0]} is not right: {wrong['msg'].lower()}") from None
    if isinstance(record, Item):
        _check(record, row.get("item_id"))
    return record


def _check(item: Item, item_id: Any) -> None:
    if item.kind not in KINDS:
        raise HEvalError(f"its kind is {item.kind!r:.40}; it should be one of {', '.join(KINDS)}")
    if item.kind == QUESTION and item.wanted is None:
        raise HEvalError(f"its wanted is None; it should be from 1 to {_MOST_WANTED:,}")
    if item.passage not in {one.number for one in item.passages} or not item.gold <= set(range(len(item.sentences))):
        raise HEvalError("its passage or its gold sentences are not among those it shows")
    if item_id != item.item_id:
        raise HEvalError(f"its item_id {str(item_id)[:40]!r} is not that of its text; the item was changed")
