"""Turns a dataset's raw records into facts, bad records and unusable records.

A record that breaks its format becomes a `BadRecord`; a well-formed one that cannot be asked becomes an `Unusable`, with a
reason from DROP_REASONS. Neither stops the other records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from heval_core.records import Dropped, Fact


@dataclass(frozen=True)
class BadRecord:
    """place: file and line, or file and record number. reason: what is wrong, and what was expected."""

    dataset: str
    place: str
    reason: str


@dataclass(frozen=True)
class Unusable:
    """place: as above. reason: one of `DROP_REASONS`."""

    dataset: str
    place: str
    reason: str


Record = Fact | BadRecord | Unusable


@dataclass(frozen=True)
class Listing:
    """All facts of a data set that makes them by rule, before any of them is made; a run of few questions makes few.

    fingerprint: of all facts, as reading them gives it; a test compares. ids, pairs: each fact's id, and its subject with its
    first false answer. relations: how many facts each has. make: the fact of a number. offering: the numbers of a few facts
    that offer other questions what all do (`regimes.Pool`).
    """

    fingerprint: str
    ids: list[str]
    pairs: list[tuple[str, str]]
    relations: Mapping[str, int]
    make: Callable[[int], Fact]
    offering: Sequence[int]


Converted = TypeVar("Converted")


class Malformed(ValueError):
    """A record breaks its format; the message says what was expected."""


def read_each(
    dataset: str, records: Iterable[tuple[str, Any]], convert: Callable[[dict[str, Any]], Converted]
) -> Iterator[Converted | BadRecord | Unusable]:
    """Convert (place, raw record) pairs one by one. A raw record may itself be a Malformed that reading it raised."""
    for place, raw in records:
        try:
            if isinstance(raw, Malformed):
                raise raw
            if not isinstance(raw, dict):
                raise Malformed(f"expected a JSON object, found {_kind(raw)}")
            yield convert(raw)
        except Malformed as error:
            yield BadRecord(dataset, place, str(error))
        except Dropped as dropped:
            yield Unusable(dataset, place, dropped.reason)


def text_of(record: dict[str, Any], *path: str) -> str:
    """The text at `path`, without white space around it. Raises Malformed if it is missing, empty or not a text."""
    value: Any = record
    for depth, name in enumerate(path, start=1):
        if not isinstance(value, dict):
            raise Malformed(f"{_dotted(path[: depth - 1])} should be an object, but is {_kind(value)}")
        if value.get(name) is None:
            raise Malformed(f"the record has no {_dotted(path[:depth])}")
        value = value[name]
    if not isinstance(value, str):
        raise Malformed(f"{_dotted(path)} should be a text, but is {_kind(value)}")
    if not value.strip():
        raise Malformed(f"{_dotted(path)} is empty")
    return value.strip()


def texts_of(record: dict[str, Any], name: str) -> tuple[str, ...]:
    """The list of texts called `name`; a single text counts as a list of one."""
    value = record.get(name)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value or not all(isinstance(v, str) and v.strip() for v in value):
        raise Malformed(f"{name!r} should be a list of texts, but is {_kind(value)}")
    return tuple(v.strip() for v in value)


def _dotted(path: tuple[str, ...]) -> str:
    return repr(".".join(path))


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")
