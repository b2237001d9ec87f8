"""How far annotators agree, and how much they differ.

Formula: Krippendorff's alpha = 1 - D_o / D_e with Jaccard distance 1 - |a & b| / |a | b| between sets of sentences (two empty
sets: 0). With m answers to a unit and N answers in all, D_o = 1/N times the sum over units of (distances of its ordered
pairs) / (m - 1), and D_e = the mean over all ordered pairs of answers, of whatever units. Units with one answer do not count.
Automatic against people: the union of people's sets, and in both sets all labels outside gold are one label.
Entropy: -sum p log2 p of the sentences that a unit's annotators chose, in bits; "none" is a label too.
Helpfulness: z = (x - mean) / standard deviation, per annotator.
Reference: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: none. A sentence's place is its label, so that place 3 of one explanation is the label of place 3 of another.
Cost: linear in the answers, quadratic in the distinct sets among them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

OTHER = -1
NONE = -2


def jaccard_distance(first: AbstractSet[int], second: AbstractSet[int]) -> float:
    """0 for equal sets, two empty ones among them; 1 for sets that share nothing."""
    either = len(first | second)
    return 1 - len(first & second) / either if either else 0.0


def krippendorff_alpha(units: Iterable[Sequence[Collection[int] | None]]) -> float:
    """1 for full agreement, 0 for that of answers dealt at random, below 0 for less.

    units: of each masked citation one set of sentences per annotator that answered; None for one that did not. NaN where it
    is undefined: no unit has two answers, or all answers are equal, so that none could have differed.
    """
    given = [[frozenset(answer) for answer in unit if answer is not None] for unit in units]
    given = [unit for unit in given if len(unit) > 1]
    counts = Counter(answer for unit in given for answer in unit)
    answers = counts.total()
    # Each pair is met in both orders.
    observed = sum(2 * _distances(Counter(unit)) / (len(unit) - 1) for unit in given)
    expected = 2 * _distances(counts)
    return 1 - observed * (answers - 1) / expected if expected else math.nan


def _distances(counts: Counter[frozenset[int]]) -> float:
    """The sum of the distances between all pairs of answers; counts: how often each was given."""
    return math.fsum(
        counts[first] * counts[second] * jaccard_distance(first, second) for first, second in combinations(counts, 2)
    )


def union(people: Iterable[Collection[int]]) -> frozenset[int]:
    """What people chose together, as an automatic annotator is compared with it."""
    return frozenset().union(*people)


def outside_gold_as_one(chosen: Collection[int], gold: Collection[int]) -> frozenset[int]:
    """The set with one label, OTHER, for all sentences that are not gold: {7, 9} with gold {9} is {OTHER, 9}."""
    return frozenset(place if place in gold else OTHER for place in chosen)


def entropy(answers: Iterable[Collection[int]]) -> float:
    """Of the sentences that the annotators of one unit chose, in bits; 0 where all chose the same one, or nobody answered."""
    labels = Counter(place for answer in answers for place in (answer or (NONE,)))
    total = labels.total()
    return math.fsum(count / total * math.log2(total / count) for count in labels.values())


def z_scores(values: Sequence[float]) -> list[float]:
    """One annotator's values as distances from their mean in standard deviations (of the population).

    All 0 where the values are equal: they tell nothing apart.
    """
    if not values:
        return []
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / deviation if max(values) > min(values) else 0.0 for value in values]
