"""What a dataset yields beside facts: records that it cannot use, with where they stand and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BadRecord:
    """place: file and line, or the record's id. reason: what is wrong, and what was expected."""

    dataset: str
    place: str
    reason: str
