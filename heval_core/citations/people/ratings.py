"""How helpful people found explanations, from the ratings that the authors of the study published: by writer, and no person.

Formula: the mean of the ratings (0 to 100), and of their z-scores: each person's ratings less their mean, in their standard
deviations, over all that the person rated.
Source: github.com/ruixing76/Transparent-FCExp, `ratings.csv`: `worker_id`, `instance` (`CLAIM_WRITER`), `rating_score`.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645). Departure: none. Cost: linear in the ratings.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from heval_core.citations.agreement import z_scores
from heval_core.records import HEvalError

_FIELDS = ("worker_id", "instance", "rating_score")


class Helpfulness(NamedTuple):
    """Of one writer's explanations. ratings: how many; people: by how many. z: the mean z-score."""

    writer: str
    ratings: int
    people: int
    mean: float
    z: float


def helpfulness(path: Path) -> list[Helpfulness]:
    """By writer, the most helpful first by z. Raises HEvalError for a file that cannot be read, or a row that is no rating."""
    by_person: dict[str, list[tuple[str, float]]] = defaultdict(list)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if missing := [name for name in _FIELDS if name not in (rows.fieldnames or ())]:
                raise HEvalError(f"{path} is no file of ratings: it lacks {', '.join(missing)}.")
            for row in rows:
                by_person[row["worker_id"]].append(_rating(row, f"{path}, line {rows.line_num}"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HEvalError(f"{path} cannot be read: {error}.") from error
    given = [
        (writer, person, value, z)
        for person, own in by_person.items()
        for (writer, value), z in zip(own, z_scores([value for _, value in own]), strict=True)
    ]
    found = []
    for writer in {row[0] for row in given}:
        own = [row for row in given if row[0] == writer]
        people = {person for _, person, _, _ in own}
        mean, z = fmean(value for _, _, value, _ in own), fmean(z for _, _, _, z in own)
        found.append(Helpfulness(writer, len(own), len(people), mean, z))
    return sorted(found, key=lambda one: (-one.z, one.writer))


def _rating(row: dict[str, str], place: str) -> tuple[str, float]:
    """(writer, rating) of a row."""
    claim, _, writer = (row["instance"] or "").rpartition("_")
    try:
        value = float(row["rating_score"])
    except (TypeError, ValueError):
        value = -1.0
    if not (claim and writer and 0 <= value <= 100):
        raise HEvalError(f"{place}: expected an instance as CLAIM_WRITER and a rating from 0 to 100.")
    return writer, value
