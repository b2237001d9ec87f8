"""How many of 100 questions a technique is expected to answer rightly, by how good a reader's documents are.

Formula: p x context faithfulness + (1 - p) x robustness (`front`), where p of the questions come with a document that is right
and relevant, and the others with an irrelevant one. Right is what the kind of document asks for (BCU).
Ranks: a technique is ahead of another one if the 95 % interval of the difference leaves out 0, over the same resamples of the
questions (a paired bootstrap); its ranks run from 1 + those ahead of it to all less those behind it.
Cost: a difference of (resamples,) for each pair of techniques.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heval_core.evaluation.techniques.front import Point, points_of
from heval_core.statistics.bootstrap import percentile_interval
from heval_core.statistics.values import Questions, Value, total
from heval_core.store.reader import Reader

# The answers that are counted: to test questions, those included that no explainer was asked about.
_COUNTED = """
SELECT technique, regime, fact_id, bcu FROM behaviour JOIN instance USING (instance_id)
WHERE split = 'test' AND coalesce(dropped_because, 'not sampled') = 'not sampled' AND model = ? AND dataset = ?
    AND regime IN ('gold', 'conflicting', 'irrelevant') ORDER BY instance.rowid"""


class Expected(NamedTuple):
    """value: a share of the questions. first, last: its ranks among those that it was compared with."""

    point: Point
    value: Value
    first: int
    last: int

    @property
    def ranks(self) -> str:
        """`1`, `2–5`."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def points(results: Reader, model: str, dataset: str) -> list[Point]:
    """The techniques that were asked with both kinds of documents, as they are published in `pareto`."""
    rows = results.query(_COUNTED, [model, dataset])
    questions = Questions(results.resamples(dataset), rows["fact_id"])
    return points_of(
        {
            str(technique): questions.means(
                {
                    (str(kind), "bcu"): questions.column(asked["fact_id"], asked["bcu"], ends=(0.0, 1.0))
                    for kind, asked in own.groupby("regime")
                }
            )
            for technique, own in rows.groupby("technique", sort=False)
        }
    )


def expected(points: Sequence[Point], share: float) -> list[Expected]:
    """Those with the most right answers first. share: of questions whose document is right and relevant."""
    values = [total(((share, point.faithfulness), (1 - share, point.robustness))) for point in points]
    ahead = np.array([_ahead(one, other) for one in values for other in values], dtype=bool).reshape(2 * (len(values),))
    found = [
        Expected(point, value, 1 + int(ahead[:, place].sum()), len(points) - int(ahead[place].sum()))
        for place, (point, value) in enumerate(zip(points, values, strict=True))
    ]
    return sorted(found, key=lambda one: -round(one.value.value, 9))


def _ahead(one: Value, other: Value) -> bool:
    return percentile_interval(np.asarray(one.drawn) - np.asarray(other.drawn)).low > 0


def leaders(points: Sequence[Point]) -> list[tuple[int, int, str]]:
    """(from, to, technique): who has the most right answers at how many good documents of 100. Of equals the first one."""
    found: list[tuple[int, int, str]] = []
    for of_100 in range(101):
        right = [(of_100 * point.faithfulness.value + (100 - of_100) * point.robustness.value) / 100 for point in points]
        best = points[int(np.argmax(np.round(right, 9)))].technique if points else ""
        if found and found[-1][2] == best:
            found[-1] = (found[-1][0], of_100, best)
        elif best:
            found.append((of_100, of_100, best))
    return found
