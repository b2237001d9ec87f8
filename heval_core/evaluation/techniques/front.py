"""The trade-off between following a document and ignoring one: rows of the table `pareto`.

Formula: context faithfulness = (BCU gold + BCU conflicting) / 2, robustness = BCU irrelevant. A technique lies on the front if
no other is at least as good in both and better in one. share_on_front: the share of the resamples of the questions in which it
does; techniques with the same point lie on the front together.
Reference: CUB, arXiv 2505.16518; the share is ours.
Chance: the blind line. A technique that cannot tell whether a document is relevant gets (p, 1 - p) for some p.
Departure: where no technique of a model and dataset was asked with gold documents, or none with conflicting ones, context
faithfulness is the other kind's BCU. Techniques without an answer of a kind that others have get no point.
Cost: techniques² x resamples comparisons for each model and dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core.evaluation.techniques.cells import Means
from heval_core.records import FOLLOWED
from heval_core.statistics.values import Value, total
from heval_core.techniques.shared.context_use import pareto_front

IGNORED = "irrelevant"


class Point(NamedTuple):
    technique: str
    faithfulness: Value
    robustness: Value
    discrimination: Value | None


def rows_of(key: Mapping[str, str], found: Mapping[str, Means], rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The points of one model and dataset. found: technique ▶ its means. rows: the test answers, for counting questions."""
    points = points_of(found)
    shares, on_front = on_the_front(points), pareto_front([(p.faithfulness.value, p.robustness.value) for p in points])
    used = rows[rows["regime"].isin([*FOLLOWED, IGNORED])]
    questions = used.groupby("technique")["fact_id"].nunique()
    return [
        {
            **key,
            "technique": point.technique,
            **point.faithfulness.named("context_faithfulness", "faithfulness_low", "faithfulness_high"),
            **point.robustness.named("robustness", "robustness_low", "robustness_high"),
            **_discrimination(point),
            "on_front": front,
            "share_on_front": share,
            "n": int(questions[point.technique]),
        }
        for point, front, share in zip(points, on_front, shares, strict=True)
    ]


def points_of(found: Mapping[str, Means]) -> list[Point]:
    """Of the techniques that were asked with every kind that the others were asked with. found: technique ▶ its means."""
    followed = [kind for kind in FOLLOWED if any((kind, "bcu") in own for own in found.values())]
    return [
        Point(
            technique,
            total((1 / len(followed), own[kind, "bcu"]) for kind in followed),
            own[IGNORED, "bcu"],
            own.get(("total", "discrimination")),
        )
        for technique, own in found.items()
        if followed and all((kind, "bcu") in own for kind in (*followed, IGNORED))
    ]


def on_the_front(points: Sequence[Point]) -> list[float | None]:
    """Of each point, the share of the resamples in which it lies on the front; None where no resample has all points."""
    if not points:
        return []
    drawn: np.ndarray = np.stack(
        [[np.asarray(own.drawn) for own in (point.faithfulness, point.robustness)] for point in points]
    )
    drawn = drawn[:, :, np.isfinite(drawn).all(axis=(0, 1))]
    if not drawn.shape[2]:
        return [None] * len(points)
    fronts = [pareto_front([(x, y) for x, y in one]) for one in np.moveaxis(drawn, 2, 0).tolist()]
    return [float(share) for share in np.mean(fronts, axis=0)]


def _discrimination(point: Point) -> dict[str, float | None]:
    if point.discrimination is None:
        return {}
    return point.discrimination.named("discrimination", "discrimination_low", "discrimination_high")
