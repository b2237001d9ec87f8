"""Normalised mutual information: how much of the doubt about the answer's origin do an explanation's largest scores take away?

Formula (Sun et al. 2025, eq. 3, A.18-A.23): 1 - H(Y|X)/H(Y). Y: context or memory, first or second document. X: the k
largest scores of the document, of two the first's and then the second's, standardised. H(Y|X): the mean over instances of
the binary entropy of Y among the 5 nearest neighbours (Euclidean, self excluded), in nats. Reference: arXiv 2510.02629.
Departure: none; among neighbours at equal distance a seeded draw decides (noise of 1e-6 standard deviations).
Range: up to 1, higher is better. Chance: the printed estimator is far from 0 for features that know nothing: 17 % for
balanced labels, 24 % at 80/20, 33 % at 90/10 (1 - E[h(Bin(5,p)/5)]/h(p)). So it stands beside the mean of 50 permutations of
the labels; adjusted = (raw - chance)/(1 - chance); p = the share of permutations that reach the value, itself counted.
The smaller class needs 10 instances; else not available. Interval: over questions, with everybody's neighbours as they are.
Cost: one search for neighbours per explainer and k, O(N² f).

Worked by hand: two far groups of six, each with one label: all neighbours agree, nothing is left in doubt.

>>> x, y = np.repeat([[0.0], [9.0]], 6, axis=0), np.repeat([0, 1], 6)
>>> nmutinf(x, y, smallest_class=6).raw
1.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics._cell import Cell, Column, Each, Estimate
from heval_core.metrics._features import (
    SMALLEST_CLASS,
    Labelled,
    check_labelled,
    entropy,
    labelled,
    standardised,
)
from heval_core.records import HEvalError

NOISE = 1e-6


class NMutInf(NamedTuple):
    """raw: the printed estimator. chance: its mean over permuted labels. adjusted: 0 at chance, 1 for no doubt left."""

    raw: float
    chance: float
    adjusted: float
    p: float


def neighbours(features: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """(N, count) indices of each instance's nearest others; among equal distances a seeded draw decides, for each anew.

    A search among ties would give everybody the same neighbours, those that stand first: noise far below any difference
    that matters draws them instead.
    """
    from sklearn.neighbors import NearestNeighbors

    points = standardised(features)
    points += NOISE * np.random.default_rng(seed).standard_normal(points.shape)
    engine = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(points)
    return np.asarray(engine.kneighbors(return_distance=False))


def doubts(near: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(…, N) binary entropy of the labels among each instance's neighbours. labels: (…, N)."""
    table = entropy(np.arange(near.shape[1] + 1) / near.shape[1])
    return table[labels[..., near].sum(axis=-1)]


def nmutinf(
    features: np.ndarray,
    labels: np.ndarray,
    n_neighbors: int = 5,
    permutations: int = 50,
    seed: int = 0,
    smallest_class: int = SMALLEST_CLASS,
) -> NMutInf:
    """NMutInf of one cell. features: (N, f). labels: (N,) of 0 and 1.

    Raises HEvalError for features that are not finite, a class below `smallest_class`, or fewer instances than neighbours.
    """
    check_labelled(features, labels, smallest_class)
    if len(labels) <= n_neighbors:
        raise HEvalError(f"{len(labels)} instances have no {n_neighbors} neighbours each.")
    labels = np.asarray(labels, dtype=np.int8)
    return _of(neighbours(features, n_neighbors, seed), labels, permutations, seed)[0]


def _of(near: np.ndarray, labels: np.ndarray, permutations: int, seed: int) -> tuple[NMutInf, np.ndarray]:
    """The estimate, and (N,) every instance's own doubt."""
    whole = float(entropy(labels.mean()))
    own = doubts(near, labels)
    raw = 1 - float(own.mean()) / whole
    shuffled = np.random.default_rng(seed).permuted(np.tile(labels, (permutations, 1)), axis=1)
    by_chance = 1 - doubts(near, shuffled).mean(axis=-1) / whole
    chance = float(by_chance.mean()) if permutations else float("nan")
    p = (1 + int((by_chance >= raw - 1e-12).sum())) / (1 + permutations)
    return NMutInf(raw, chance, (raw - chance) / (1 - chance), p), own


@dataclass(frozen=True)
class NormalisedMutualInformation:
    n_neighbors: int = 5
    permutations: int = 50
    seed: int = 0
    smallest_class: int = SMALLEST_CLASS

    key = "nmutinf"
    title = "Label uncertainty removed (NMutInf)"
    question = "RQ1"
    higher_is_better = True
    uses_k = True
    reference = "Sun et al. 2025, eq. 3, A.18-A.23 (arXiv 2510.02629)"

    def each(self, cell: Cell, k: int) -> list[Each]:
        return []

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        data = labelled(cell, k)
        if data.reason:
            return data.unavailable(("raw",), data.reason)
        near = neighbours(data.features, self.n_neighbors, self.seed)
        return [self._estimate(data, *_of(near, data.labels, self.permutations, self.seed))]

    def _estimate(self, data: Labelled, found: NMutInf, own: np.ndarray) -> Estimate:
        doubt, labels = data.spread(own), data.spread(data.labels)
        shares = -doubt / float(entropy(data.labels.mean())) / len(data.labels)
        columns = (Column(doubt, data.used), Column(labels, data.used))
        return Estimate(
            "raw", found.raw, found.chance, 1.0, data.sizes, None, columns, _combine, shares, found.p,
            (("adjusted", found.adjusted),),
        )  # fmt: skip


def _combine(means: np.ndarray) -> np.ndarray:
    return 1 - means[..., 0] / entropy(means[..., 1])


PLUGIN = NormalisedMutualInformation()
