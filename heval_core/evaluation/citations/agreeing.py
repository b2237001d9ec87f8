"""Agreement between two annotators: Krippendorff's alpha with Jaccard distance between sets of sentences, with its interval.

Formula: alpha = 1 - D_o / D_e. D_o: the mean distance between the answers to one question, each question with m answers
counting m (weights m / (m - 1) per pair). D_e: the mean distance between all answers, to whatever question. Two empty sets
have distance 0, an empty and another one 1. `heval_core.citations.krippendorff_alpha` has the same value.
People: all people together, two by two. Against another annotator a person's sentences are joined with all other people's, and
in both sets what no sentence of the gold set is becomes one common label ({7, 9} with gold {9} becomes {other, 9}).
Reference: Krippendorff (2011); Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: intervals: claims are resampled with all their questions.
Cost: distances of the distinct sets, and one product of resamples x sets x sets, for each annotator; for each pair where some
answers are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from heval_core.statistics.blocks import row_blocks
from heval_core.statistics.bootstrap import BLOCK, Interval, percentile_interval

Labels = frozenset[int]


class Alpha(NamedTuple):
    """value, low, high: None where undefined. n: questions with two answers or more."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def coded(sets: Sequence[Labels]) -> tuple[np.ndarray, np.ndarray]:
    """((N,) which distinct set each is, the distances of the distinct sets)."""
    distinct = {own: index for index, own in enumerate(dict.fromkeys(sets))}
    return np.array([distinct[own] for own in sets], dtype=np.int64), jaccard_distances(list(distinct))


def alpha(answers: np.ndarray, claims: np.ndarray, distances: np.ndarray, weights: np.ndarray) -> Alpha:
    """answers: (questions, annotators) which set each chose, -1 where one did not answer. claims: (questions,) the claim of
    each.

    distances: (sets, sets). weights: (1 + resamples, claims) how often each claim counts, in the first row once.
    """
    values, count = drawn(answers, claims, distances, weights)
    return _found(values, count) if count else Alpha(None, None, None, 0)


def drawn(answers: np.ndarray, claims: np.ndarray, distances: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, int]:
    """((1 + resamples,) alpha itself, and in each resample; questions with two answers or more). Arguments as of `alpha`."""
    given = (answers >= 0).sum(axis=1)
    answers, claims, given = (one[given > 1] for one in (answers, claims, given))
    if not len(answers):
        return np.full(len(weights), np.nan), 0
    there, answers = np.unique(answers, return_inverse=True)
    absent = int(there[0] == -1)
    answers = answers.reshape(len(claims), -1) - absent
    distances = distances[np.ix_(there[absent:], there[absent:])]
    owner, own = np.unique(claims, return_inverse=True)
    counts, observed = np.zeros((len(owner), len(distances))), np.zeros(len(owner))
    for column in answers.T:
        np.add.at(counts, (own[column >= 0], column[column >= 0]), 1)
    for first, second in combinations(answers.T, 2):
        both = (first >= 0) & (second >= 0)
        # Each pair is met in two orders.
        np.add.at(observed, own[both], 2 * distances[first[both], second[both]] / (given[both] - 1))
    own_weights = weights[:, owner].astype(float)
    counted = own_weights @ counts
    expected = ((counted @ distances) * counted).sum(axis=1)
    return _alphas(counted.sum(axis=1), own_weights @ observed, expected), len(answers)


def alphas(
    answers: np.ndarray, claims: np.ndarray, distances: np.ndarray, weights: np.ndarray
) -> dict[tuple[int, int], Alpha]:
    """`alpha` of any two annotators, by their columns, where all answered all questions: what one annotator's sets come to in
    the resamples is computed once for all of its pairs."""
    questions, columns = answers.shape
    pairs = list(combinations(range(columns), 2))
    counts = np.zeros((columns, weights.shape[1], len(distances)))
    for column in range(columns):
        np.add.at(counts[column], (claims, answers[:, column]), 1)
    observed = np.zeros((weights.shape[1], len(pairs)))
    for place, (first, second) in enumerate(pairs):
        np.add.at(observed[:, place], claims, 2 * distances[answers[:, first], answers[:, second]])
    values = np.empty((len(weights), len(pairs)))
    per_claim = np.bincount(claims, minlength=weights.shape[1]).astype(float)
    for rows in row_blocks(len(weights), columns * len(distances), BLOCK):
        drawn = weights[rows].astype(float)
        counted = drawn @ counts
        expected = np.einsum("ars,brs->rab", counted @ distances, counted, optimize=True)
        total = 2 * drawn @ per_claim
        for place, (first, second) in enumerate(pairs):
            own = expected[:, first, first] + expected[:, second, second] + 2 * expected[:, first, second]
            values[rows, place] = _alphas(total, drawn @ observed[:, place], own)
    return {pair: _found(values[:, place], questions) for place, pair in enumerate(pairs)}


def _found(values: np.ndarray, questions: int) -> Alpha:
    """values: alpha itself, and in each resample."""
    interval = percentile_interval(values[1:]) if len(values) > 1 else Interval(np.nan, np.nan)
    value, low, high = (float(one) if np.isfinite(one) else None for one in (values[0], *interval))
    return Alpha(value, low, high, questions)


def _alphas(answers: np.ndarray, observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """(R,) from the numbers of answers, and the sums of distances: within questions, and between all answers."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (observed / answers) / (expected / (answers * (answers - 1))))


def jaccard_distances(sets: Sequence[Labels]) -> np.ndarray:
    """(N, N) 1 - |a & b| / |a | b|; 0 for two empty sets."""
    labels = {label: index for index, label in enumerate(sorted({label for own in sets for label in own}))}
    members = np.zeros((len(sets), len(labels)))
    for row, own in enumerate(sets):
        members[row, [labels[label] for label in own]] = 1
    both = members @ members.T
    sizes = members.sum(axis=1)
    either = sizes[:, None] + sizes - both
    return np.asarray(1 - np.divide(both, either, out=np.ones_like(both), where=either > 0))
