"""How far annotators agree, and how much they differ.

Formula: Krippendorff's alpha = 1 - D_o / D_e with Jaccard distance 1 - |a & b| / |a | b| between sets of sentences (two empty
sets: 0). With m answers to a unit and N answers in all, D_o = 1/N times the sum over units of (distances of its ordered
pairs) / (m - 1), and D_e = the mean over all ordered pairs of answers, of whatever units. Units with one answer do not count.
Automatic against people: the union of people's sets, and in both sets all labels outside gold are one label.
Entropy: -sum p log2 p of the sentences that a unit's annotators chose, in bits; "none" is a label too.
Helpfulness: z = (x - mean) / standard deviation, per annotator.
Reference: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: none. A sentence's place is its label, so that place 3 of one explanation is the label of place 3 of another.
Cost: linear in the answers, quadratic in the distinct sets among them, once for each resample.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

import numpy as np

from heval_core.statistics.bootstrap import resampled_sums

OTHER = -1
NONE = -2
Labels = frozenset[int]


def krippendorff_alpha(units: Iterable[Sequence[Collection[int] | None]]) -> float:
    """Compute alpha: 1 for full agreement, 0 for that of answers dealt at random, below 0 for less.

    Args:
        units: of each masked citation one set of sentences per annotator that answered; None for one that did not.

    Returns:
        NaN where it is undefined: no unit has two answers, or all answers are equal, so that none could have differed.
    """
    answered = [[frozenset(answer) for answer in unit if answer is not None] for unit in units]
    answered = [unit for unit in answered if len(unit) > 1]
    return float(alphas(answered, [0] * len(answered), np.ones((1, 1)))[0]) if answered else math.nan


def alphas(units: Sequence[Sequence[Labels]], claims: Sequence[int], weights: np.ndarray) -> np.ndarray:
    """Compute alpha, (R,), under (R, C) weights: how often each claim counts.

    units: with two answers or more. claims: (N,) the claim of each unit, from 0.
    """
    distinct = {answer: code for code, answer in enumerate(dict.fromkeys(answer for unit in units for answer in unit))}
    distances = jaccard_distances(list(distinct))
    coded = [[distinct[answer] for answer in unit] for unit in units]
    sums = np.zeros((weights.shape[1], len(distinct) + 1))
    owned = list(zip(claims, coded, strict=True))
    np.add.at(sums, tuple(zip(*((claim, code) for claim, unit in owned for code in unit), strict=True)), 1)
    # Each pair is met in two orders.
    pairs = [(claim, *codes, 2 / (len(unit) - 1)) for claim, unit in owned for codes in combinations(unit, 2)]
    owners, first, second, weight = map(np.array, zip(*pairs, strict=True))
    np.add.at(sums[:, -1], owners, weight * distances[first, second])
    resampled = resampled_sums(weights, sums)
    counts, observed = resampled[:, :-1], resampled[:, -1]
    answers, expected = counts.sum(axis=1), ((counts @ distances) * counts).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (observed / answers) / (expected / (answers * (answers - 1))))


def jaccard_distances(sets: Sequence[Labels]) -> np.ndarray:
    """Compute distances, (N, N): 0 for equal sets, two empty ones among them; 1 for sets that share nothing."""
    labels = {label: index for index, label in enumerate(sorted({label for chosen in sets for label in chosen}))}
    members = np.zeros((len(sets), len(labels)))
    for row, chosen in enumerate(sets):
        members[row, [labels[label] for label in chosen]] = 1
    shared = members @ members.T
    sizes = members.sum(axis=1)
    united = sizes[:, None] + sizes - shared
    return np.asarray(1 - np.divide(shared, united, out=np.ones_like(shared), where=united > 0))


def outside_gold_as_one(chosen: Collection[int], gold: Collection[int]) -> Labels:
    """Replace all sentences that are not gold by one label, OTHER: {7, 9} with gold {9} is {OTHER, 9}."""
    return frozenset(sentence if sentence in gold else OTHER for sentence in chosen)


def entropy(answers: Iterable[Collection[int]]) -> float:
    """Compute the entropy of the sentences that the annotators of one unit chose, in bits; 0 where all chose the same one, or
    nobody answered.
    """
    labels = Counter(label for answer in answers for label in (answer or (NONE,)))
    total = labels.total()
    return math.fsum(count / total * math.log2(total / count) for count in labels.values())


def z_scores(values: Sequence[float]) -> np.ndarray:
    """Express one annotator's values as distances from their mean in standard deviations (of the population).

    All 0 where the values are equal: they tell nothing apart.
    """
    numbers = np.asarray(values, dtype=float)
    return (numbers - numbers.mean()) / numbers.std() if len(set(numbers)) > 1 else np.zeros(len(numbers))
