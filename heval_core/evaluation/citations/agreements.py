"""Agreement of annotators: rows of the table `agreement`, for any two of the same explanations, and people among themselves.

People are taken all together, two by two. Against another annotator a person's sentences are joined with all other people's,
and in both sets what no sentence of the gold set is becomes one common label ({7, 9} with gold {9} becomes {other, 9}).
Interval: claims are resampled with all their questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.agreement import Labels, alphas, outside_gold_as_one
from heval_core.evaluation.citations.answered import PEOPLE, QUESTION
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Questions, Value

# (claim, explanation, passage) ▶ the sentences that an annotator chose.
Sets = dict[tuple[Any, ...], Labels]


def rows_of(key: dict[str, str], annotators: dict[str, pd.DataFrame], resamples: Resamples) -> Iterator[dict[str, Any]]:
    """key: dataset, writer, selector and masking. annotators: key ▶ its rows of `recovery`, with claim_id; all people's are
    those of PEOPLE, who have the annotator `person:NAME`."""
    sets = {annotator: _sets(own) for annotator, own in annotators.items()}
    for first, second in combinations(annotators, 2):
        pair = [sets[first], sets[second]]
        if PEOPLE in (first, second):
            pair = _beside_people(pair, annotators[PEOPLE])
        yield _row(key, first, second, _alpha(pair, resamples))
    if PEOPLE in annotators:
        persons = [_sets(own) for _, own in annotators[PEOPLE].groupby("annotator")]
        yield _row(key, PEOPLE, PEOPLE, _alpha(persons, resamples))


def between(first: pd.DataFrame, second: pd.DataFrame, people: bool, resamples: Resamples) -> Value | None:
    """Krippendorff's alpha of two annotators, with replicates; None where no question was answered by both.

    first, second: their rows of `recovery`. people: whether the second ones are of people, all of them together.
    """
    pair = [_sets(first), _sets(second)]
    return _alpha(_beside_people(pair, second) if people else pair, resamples)


def _beside_people(pair: Sequence[Sets], people: pd.DataFrame) -> list[Sets]:
    gold = dict(zip(_questions(people), people["gold"], strict=True))
    return [
        {question: outside_gold_as_one(chosen, gold[question]) for question, chosen in own.items() if question in gold}
        for own in pair
    ]


def _questions(rows: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name] for name in ("claim_id", *QUESTION)), strict=True)


def _sets(rows: pd.DataFrame) -> Sets:
    """Of several people all that they chose together."""
    found: Sets = {}
    for question, chosen in zip(_questions(rows), rows["predicted"], strict=True):
        found[question] = found.get(question, frozenset()).union(chosen)
    return found


def _alpha(annotators: Sequence[Sets], resamples: Resamples) -> Value | None:
    asked = dict.fromkeys(question for own in annotators for question in own)
    given = {question: [own[question] for own in annotators if question in own] for question in asked}
    given = {question: answers for question, answers in given.items() if len(answers) > 1}
    if not given:
        return None
    claims = sorted({claim for claim, *_ in given})
    place = {claim: number for number, claim in enumerate(claims)}
    weights = Questions(resamples, claims).weights
    owners = [place[claim] for claim, *_ in given]
    found = alphas(list(given.values()), owners, np.concatenate([np.ones((1, len(claims)), weights.dtype), weights]))
    return Value("", float(found[0]), sizes=(("used", len(given)),), drawn=found[1:])


def _row(key: dict[str, str], first: str, second: str, found: Value | None) -> dict[str, Any]:
    row: dict[str, Any] = {**key, "first": first, "second": second, "n": found.n if found else 0}
    if found is None or np.isnan(found.value):
        return row | {
            "unavailable": "All chose the same sentences everywhere." if found else "No question was answered by both."
        }
    return row | found.named("alpha", "low", "high")
