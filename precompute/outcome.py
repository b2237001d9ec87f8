"""The result of a task: rows, and failures as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Failure:
    """An instance that could not be answered or explained, and why. explainer: empty where no explainer is to blame."""

    explainer: str
    place: str
    error: str


@dataclass
class Result:
    """The rows of each shard, by its key, and what failed."""

    rows: dict[str, list[dict[str, Any]]]
    failures: list[Failure]


def named(error: Exception) -> str:
    """Class and message, as failures are stored."""
    return f"{type(error).__name__}: {error}"[:1000]
