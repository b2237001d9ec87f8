"""What the sources of claims share: reading record by record, and the fields that several formats have."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from heval_core.citations.records import Claim, Passage
from heval_core.datasets._reading import BadRecord, Malformed, optional_text, read_one, text_of

# A marker has at most nine digits.
_LARGEST = 999_999_999


def read_claims(records: Iterable[tuple[str, Any]], convert: Callable[[dict[str, Any]], Claim]) -> Iterator[Claim | BadRecord]:
    """Convert (place, raw record) pairs one by one; records of one claim with explanations by several writers are one claim.

    What is malformed, or has the id of another claim, is a BadRecord. All is read first: the same claim may come back.
    """
    by_id: dict[str, tuple[str, Claim]] = {}
    bad: list[BadRecord] = []
    for location, raw in records:
        record = read_one(location, raw, convert)
        if not isinstance(record, Claim):
            bad.append(BadRecord(record.location, record.reason))
            continue
        first, claim = by_id.setdefault(record.id, (location, record))
        if claim is record:
            continue
        if problem := _apart(claim, record):
            bad.append(BadRecord(location, f"the id {record.id!r} is already used at {first}, {problem}"))
            continue
        problems = tuple(dict.fromkeys(claim.problems + record.problems))
        by_id[record.id] = first, dataclasses.replace(claim, written=claim.written + record.written, problems=problems)
    yield from (claim for _, claim in by_id.values())
    yield from bad


def _apart(first: Claim, other: Claim) -> str:
    """Say why a record is no further explanation of the claim of another one; "" if it is one."""
    if dataclasses.replace(first, written=(), problems=()) != dataclasses.replace(other, written=(), problems=()):
        return "with another claim or other passages"
    if {written.writer for written in first.written} & {written.writer for written in other.written}:
        return "with the same writer"
    if first.written and other.written:
        return ""
    return "and one of the two has no explanation" if first.written or other.written else "with the same claim"


def numbers(value: Any, name: str, passages: Sequence[Passage]) -> tuple[int, ...]:
    """Read a list of passages' numbers, each once. Raises Malformed, with the name of what has it, for anything else."""
    if not isinstance(value, list) or not all(map(_is_number, value)):
        raise Malformed(f"{name!r} should be a list of passages' numbers")
    existing = {passage.number for passage in passages}
    missing = next((number for number in value if number not in existing), None)
    if missing is not None:
        raise Malformed(f"{name!r} names passage {missing}, which the record does not have")
    return tuple(dict.fromkeys(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def numbered_passages(record: dict[str, Any], name: str) -> tuple[Passage, ...]:
    """Read the list of passages called `name`: texts, or objects {number?, title?, text}.

    Without numbers they count from 1.
    """
    listed = record.get(name)
    if not isinstance(listed, list) or not listed:
        raise Malformed(f"{name!r} should be a list of passages")
    passages = tuple(_passage(raw, f"{name}[{index}]", index + 1) for index, raw in enumerate(listed))
    taken = [passage.number for passage in passages]
    twice = next((number for number in taken if taken.count(number) > 1), None) if len(set(taken)) < len(taken) else None
    if twice is not None:
        raise Malformed(f"{name!r} has two passages with the number {twice}")
    return passages


def _passage(raw: Any, name: str, default: int) -> Passage:
    if isinstance(raw, str):
        raw = {"text": raw}
    if not isinstance(raw, dict):
        raise Malformed(f"{name!r} should be a text or an object with a text")
    try:
        number = default if raw.get("number") is None else raw["number"]
        if not _is_number(number):
            raise Malformed(f"'number' should be a whole number from 0 to {_LARGEST}")
        return Passage(number, text_of(raw, "text"), optional_text(raw, "title"))
    except Malformed as error:
        raise Malformed(f"{name!r}: {error}") from error
