"""Means over answers, sentences or explanations, with intervals over claims.

Formula: the mean over (claim, passage) pairs, sentences or explanations; where it says *of claims*, the mean of the claims'
means. Everything that belongs to a claim belongs together in intervals (`heval_core.statistics.bounded`; of values without
ends, claims are resampled, with the same resamples for all cells of a source of claims).
Reference: Xing, Baldwin and Lau (arXiv 2406.12645); they report no intervals.
Cost: one matrix product of resamples x claims for each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Column, Questions


@dataclass(frozen=True)
class Values:
    """What a measure is the mean of.

    claims: (N,) the claim of each. values: (N,); NaN where undefined. chance: (N,) what is expected of a random choice; None
    where that is not defined. of_claims: every claim counts once. reason: why there is nothing, where there is nothing.
    ends: the least and the largest possible value; None where there are none.
    """

    measure: str
    claims: np.ndarray
    values: np.ndarray
    chance: np.ndarray | None = None
    of_claims: bool = False
    reason: str = "Nothing is stored to compute it from."
    ends: tuple[float, float] | None = (0.0, 1.0)


def unavailable(measure: str, reason: str) -> Values:
    """A measure that has no values."""
    return Values(measure, np.array([], dtype=object), np.array([]), reason=reason)


def rows_of(key: dict[str, str], measures: Sequence[Values], resamples: Resamples) -> list[dict[str, Any]]:
    """Rows of `cell_recovery` of one cell. key: dataset, writer, selector, annotator and masking."""
    questions = Questions(resamples, (claim for one in measures for claim in one.claims))
    columns: dict[tuple[str, str], Column] = {}
    for one in measures:
        columns["value", one.measure] = questions.column(one.claims, one.values, one.of_claims, one.ends)
        if one.chance is not None:
            chance = np.where(np.isfinite(one.values), one.chance, np.nan)
            columns["chance", one.measure] = questions.column(one.claims, chance, one.of_claims)
    means = questions.means(columns)
    rows = []
    for one in measures:
        row: dict[str, Any] = {**key, "measure": one.measure, "n": 0, "claims": 0}
        mean, mean_chance = means.get(("value", one.measure)), means.get(("chance", one.measure))
        if mean is None:
            row["unavailable"] = one.reason
        else:
            there = np.isfinite(one.values)
            row |= mean.named("value", "low", "high")
            row |= {"n": int(there.sum()), "claims": len(set(one.claims[there]))}
            row["chance"] = mean_chance.value if mean_chance else None
        rows.append(row)
    return rows


def resamples_of(claims: Iterable[tuple[str, str]]) -> dict[str, Resamples]:
    """Resamples by source of claims. claims: all (dataset, claim_id) that have an explanation."""
    frame = pd.DataFrame(list(claims), columns=["dataset", "claim_id"])
    return {str(dataset): Resamples(str(dataset), own) for dataset, own in frame.groupby("dataset")["claim_id"]}
