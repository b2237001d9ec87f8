"""The trade-off between following a document and ignoring one: rows of the table `pareto`, and what to expect of a technique.

Formula: context faithfulness = (BCU gold + BCU conflicting) / 2, robustness = BCU irrelevant. A technique lies on the front if
no other is at least as good in both and better in one. share_on_front: the share of the resamples of the questions in which it
does; techniques with the same point lie on the front together. Good answers to expect: p x context faithfulness + (1 - p) x
robustness, where p of the questions come with a relevant document, and the others with an irrelevant one.
Ranks are those of `evaluation.ranking`, over the same resamples.
Reference: CUB, arXiv 2505.16518; the share, and what to expect, are ours.
Chance: the blind line. A technique that cannot tell whether a document is relevant gets (p, 1 - p) for some p.
Departure: where no technique of a model and dataset was asked with gold documents, or none with conflicting ones, context
faithfulness is the other kind's BCU. Techniques without an answer of a kind that others have get no point.
Cost: techniques² x resamples comparisons for each model and dataset.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core.evaluation.ranking import Ranking, ranking, with_exceeds
from heval_core.records import FOLLOWED
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Resampled, Value, average, total
from heval_core.store.reader import Reader
from heval_core.techniques.shared.context_use import pareto_front

IGNORED = "irrelevant"
_ENDS = ("discrimination_low", "discrimination_high")
# (kind of context or total, measure) ▶ its mean over answers of one technique.
Means = Mapping[tuple[str, str], Value]


class Point(NamedTuple):
    technique: str
    faithfulness: Value
    robustness: Value
    discrimination: Value | None


def rows_of(
    key: Mapping[str, str], by_technique: Mapping[str, Means], rows: pd.DataFrame, resamples: Resamples
) -> list[dict[str, Any]]:
    """Return the points of one model and dataset.

    by_technique: technique ▶ its means. rows: the test answers, for counting questions.
    """
    points = points_of(by_technique)
    shares, on_front = on_the_front(points), pareto_front([(p.faithfulness.value, p.robustness.value) for p in points])
    used = rows[rows["regime"].isin([*FOLLOWED, IGNORED])]
    questions = used.groupby("technique")["fact_id"].agg(lambda facts: len(set(resamples.questions(facts))))
    return [
        {
            **key,
            "technique": point.technique,
            **point.faithfulness.named("context_faithfulness", "faithfulness_low", "faithfulness_high"),
            **point.robustness.named("robustness", "robustness_low", "robustness_high"),
            **(point.discrimination.named("discrimination", *_ENDS) if point.discrimination else {}),
            "on_front": front,
            "share_on_front": share,
            "n": int(questions[point.technique]),
        }
        for point, front, share in zip(points, on_front, shares, strict=True)
    ]


def points_of(by_technique: Mapping[str, Means]) -> list[Point]:
    """Return the points of the techniques that were asked with every kind that the others were asked with.

    by_technique: technique ▶ its means.
    """
    followed = [kind for kind in FOLLOWED if any((kind, "bcu") in means for means in by_technique.values())]
    return [
        Point(
            technique,
            average([means[kind, "bcu"] for kind in followed]),
            means[IGNORED, "bcu"],
            means.get(("total", "discrimination")),
        )
        for technique, means in by_technique.items()
        if followed and all((kind, "bcu") in means for kind in (*followed, IGNORED))
    ]


def on_the_front(points: Sequence[Point]) -> list[float | None]:
    """Compute for each point the share of the resamples in which it lies on the front; None where no resample has all
    points.
    """
    draws: np.ndarray = np.array([[np.asarray(value.drawn) for value in (one.faithfulness, one.robustness)] for one in points])
    draws = draws[:, :, np.isfinite(draws).all(axis=(0, 1))] if points else draws
    if not draws.size:
        return [None] * len(points)
    fronts = [pareto_front([(x, y) for x, y in resample]) for resample in np.moveaxis(draws, 2, 0).tolist()]
    return [float(share) for share in np.mean(fronts, axis=0)]


# The answers that are counted: to test questions, those included that no explainer was asked about.
_COUNTED = """
SELECT technique, regime, fact_id, bcu FROM behaviour JOIN instance USING (instance_id)
WHERE split = 'test' AND coalesce(dropped_because, 'not sampled') = 'not sampled' AND model = ? AND dataset = ?
    AND regime IN ('gold', 'conflicting', 'irrelevant') ORDER BY instance.rowid"""


class Expected(NamedTuple):
    """value: a share of the questions. ranks: `1`, `2–5`, among those compared. best: whether these begin at 1. exceeds: the
    techniques that it is ahead of; bands of ranks do not tell that of each pair."""

    point: Point
    value: Value
    ranks: str
    best: bool
    exceeds: tuple[str, ...] = ()


def points(results: Reader, model: str, dataset: str) -> list[Point]:
    """Return the techniques that were asked with both kinds of documents, as they are published in `pareto`."""
    rows = results.query(_COUNTED, [model, dataset])
    questions = Resampled(results.resamples(dataset), rows["fact_id"])
    return points_of(
        {
            str(technique): questions.means(
                {
                    (str(kind), "bcu"): questions.column(of_kind["fact_id"], of_kind["bcu"], ends=(0.0, 1.0))
                    for kind, of_kind in answers.groupby("regime")
                }
            )
            for technique, answers in rows.groupby("technique", sort=False)
        }
    )


def expected(points: Sequence[Point], share: float) -> list[Expected]:
    """Order techniques, those with the most good answers first. share: of questions whose document is relevant."""
    by_key = {point.technique: point for point in points}
    values = {key: total(((share, one.faithfulness), (1 - share, one.robustness))) for key, one in by_key.items()}
    rows = [{"technique": key, **value.named("value", "low", "high"), "drawn": value.drawn} for key, value in values.items()]
    above = {row["technique"]: tuple(row["exceeds"]) for row in with_exceeds(rows, "technique", ())}
    ranked = ranking(pd.DataFrame(rows), key="technique") if rows else Ranking()
    ranks = ranked.ranks()
    return [Expected(by_key[key], values[key], ranks[key], key in ranked.best, above[key]) for key in ranked.methods]


def leaders(points: Sequence[Point]) -> list[tuple[int, int, str]]:
    """Return (from, to, technique): who has the most good answers at how many relevant documents of 100.

    Of equals the first one.
    """

    def best(of_100: int) -> str:
        right = [(of_100 * point.faithfulness.value + (100 - of_100) * point.robustness.value) / 100 for point in points]
        return points[int(np.argmax(np.round(right, 9)))].technique

    spans = ((technique, list(numbers)) for technique, numbers in groupby(range(101 if points else 0), best))
    return [(numbers[0], numbers[-1], technique) for technique, numbers in spans]
