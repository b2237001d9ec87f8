"""Normalised mutual information: how much uncertainty about the answer's origin do an explanation's largest scores remove?

Formula (Sun et al. 2025, eq. 3, A.18-A.23): 1 - H(Y|X)/H(Y). Y: context or memory, first or second document. X: the k
largest scores of the document (of the first, then of the second), standardised. H(Y|X): the mean over instances of
the binary entropy of Y among the 5 nearest neighbours (Euclidean, self excluded), in nats. Reference: arXiv 2510.02629.
Departure: among instances at equal distance (to 1e-6 standard deviations) the neighbours are drawn at random, and the value
is its expectation over the draw, in closed form: of g tied instances of which o have label 1, the number of ones among those
drawn is hypergeometric. A single draw changed the value by up to .08, and taking the first ones gave every instance the same
five. Range: up to 1, higher is better. Chance: the printed estimator is far from 0 for uninformative features: 17 % for
balanced labels, 24 % at 80/20, 33 % at 90/10 (1 - E[h(Bin(5,p)/5)]/h(p)). So its chance level is the mean of 100 permutations
of the labels; adjusted = (raw - chance)/(1 - chance); p = the share of permutations that reach the value, counting the value
itself. The smaller class needs 10 instances; otherwise the value is not available. Interval: halves of the questions
(`statistics.subsampling`). Cost: one search for neighbours per explainer and k, O(N² f), and a pass over 40 neighbours per
half and permutation.

Worked by hand: two distant groups of six, each with one label: all neighbours agree, no uncertainty is left.

>>> x, y = np.repeat([[0.0], [9.0]], 6, axis=0), np.repeat([0, 1], 6)
>>> nmutinf(x, y, smallest_class=6).raw
1.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics._features import SMALLEST_CLASS, Labelled, LearnedMetric, check_labelled, entropy, standardised
from heval_core.metrics.shared.measure import of_origin
from heval_core.records import HEvalError
from heval_core.statistics.scores import runs
from heval_core.statistics.subsampling import Runs
from heval_core.statistics.values import Value

# Distances that differ by less count as equal; in standard deviations of a feature.
TOLERANCE = 1e-6
# So many points have their distances to all others in memory at a time.
TOGETHER = 512
# Candidate neighbours of each point: a half of the questions lacks half of them, and five must remain.
LOOKED_AT = 40


class NMutInf(NamedTuple):
    """Normalised mutual information of one cell.

    raw: the printed estimator. chance: its mean over permuted labels. adjusted: 0 at chance, 1 at no uncertainty.
    """

    raw: float
    chance: float
    adjusted: float
    p: float


class Neighbourhood:
    """The nearest neighbours of each instance, regardless of their labels. Instances with equal features form one point.

    features: (N, f). count: how many neighbours each instance gets.
    """

    def __init__(self, features: np.ndarray, count: int):
        from scipy.spatial.distance import cdist

        # Whole numbers of TOLERANCE: sums of their squares are exact, so no machine's rounding decides who is tied with whom.
        steps = np.round(standardised(features) / TOLERANCE)
        points, point_of = np.unique(steps, axis=0, return_inverse=True)
        self._point_of, self._count = point_of.ravel(), count
        looked_at = min(LOOKED_AT, len(points))
        self._near = np.empty((len(points), looked_at), dtype=np.intp)
        distances = np.empty(self._near.shape)
        for start in range(0, len(points), TOGETHER):
            rows = slice(start, start + TOGETHER)
            squares = cdist(points[rows], points, "sqeuclidean")
            # Itself comes first: of different points none is at distance 0.
            self._near[rows] = np.argsort(squares, axis=1, kind="stable")[:, :looked_at]
            distances[rows] = np.sqrt(np.take_along_axis(squares, self._near[rows], axis=1))
        self._first, self._last = runs(np.cumsum(np.diff(distances, axis=1, prepend=0.0) > 1, axis=1))

    def doubt(self, there: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Compute the mean expected entropy, (B,) in nats, of the labels among each instance's neighbours.

        there: (B, N) bool, the instances that are used. labels: (B, N) of 0 and 1.
        """
        counts, ones = (self._per_point(marked) for marked in (there, there & (labels > 0)))
        reached = np.cumsum(counts[:, self._near], axis=2)
        of_ones = np.cumsum(ones[:, self._near], axis=2)
        # The tie that contains the last neighbour; `reached` counts the instance itself too.
        reaching = (reached > self._count).argmax(axis=2)
        point = np.arange(reaching.shape[1])[None]
        first, last = self._first[point, reaching], self._last[point, reaching]
        before, ones_before = (self._before(table, first) for table in (reached, of_ones))
        within, ones_within = (_at(table, last) for table in (reached, of_ones))
        doubts = np.zeros(len(there))
        for label, instances in ((1, ones), (0, counts - ones)):
            tied_with_itself = first == 0
            sure, sure_ones = before - ~tied_with_itself, ones_before - label * ~tied_with_itself
            size = within - before - tied_with_itself
            expected = _expected_entropy(
                sure_ones, size, ones_within - ones_before - label * tied_with_itself, self._count - sure, self._count
            )
            doubts += np.where(instances > 0, instances * expected, 0.0).sum(axis=1)
        return doubts / there.sum(axis=1)

    def _per_point(self, marked: np.ndarray) -> np.ndarray:
        """Count how many of each point's instances are marked: (B, N) bool ▶ (B, U)."""
        return np.stack([np.bincount(self._point_of, row, len(self._near)) for row in marked]).astype(np.int32)

    @staticmethod
    def _before(table: np.ndarray, first: np.ndarray) -> np.ndarray:
        return np.where(first > 0, _at(table, np.maximum(first - 1, 0)), 0)


def _at(table: np.ndarray, neighbour: np.ndarray) -> np.ndarray:
    return np.take_along_axis(table, neighbour[:, :, None], axis=2)[:, :, 0]


def _expected_entropy(sure: np.ndarray, size: np.ndarray, ones: np.ndarray, drawn: np.ndarray, count: int) -> np.ndarray:
    """Compute the expected entropy of (sure + X)/count, where X is the number of ones if `drawn` of `size` instances are
    drawn, of which `ones` are ones.
    """
    table = entropy(np.arange(count + 1) / count)
    entropies = table[np.clip(sure + np.minimum(ones, drawn), 0, count)]
    open_ones = (size > drawn) & (drawn > 0)
    if open_ones.any():
        n, k, r, s = (number[open_ones].astype(np.float64) for number in (size, ones, drawn, sure))
        expected, all_ways = np.zeros(len(n)), _comb(n, r, count)
        for x in range(count + 1):
            ways = np.where(x <= r, _comb(k, np.full_like(k, x), count) * _comb(n - k, r - x, count), 0.0)
            expected += ways / all_ways * table[np.clip(s + x, 0, count).astype(int)]
        entropies[open_ones] = expected
    return entropies


def _comb(n: np.ndarray, r: np.ndarray, most: int) -> np.ndarray:
    """Compute n choose r for small r, elementwise; 0 if r is more than n or below 0."""
    ways = np.where((r < 0) | (r > n), 0.0, 1.0)
    for i in range(most):
        ways *= np.where(i < r, (n - i) / (i + 1), 1.0)
    return np.maximum(ways, 0.0)


def nmutinf(
    features: np.ndarray,
    labels: np.ndarray,
    n_neighbors: int = 5,
    permutations: int = 100,
    seed: int = 0,
    smallest_class: int = SMALLEST_CLASS,
) -> NMutInf:
    """Compute NMutInf of one cell.

    Args:
        features: (N, f), of N instances.
        labels: (N,) of 0 and 1.
        n_neighbors: of each instance in feature space.
        permutations: of labels, for chance and p.
        seed: of the permutations.
        smallest_class: the fewest instances that each label needs.

    Raises:
        HEvalError: for features that are not finite, a class below `smallest_class`, or fewer instances than neighbours.
    """
    check_labelled(features, labels, smallest_class)
    if len(labels) <= n_neighbors:
        raise HEvalError(f"{len(labels)} instances have no {n_neighbors} neighbours each.")
    return _of(Neighbourhood(features, n_neighbors), np.asarray(labels, dtype=np.int8), permutations, seed)


def _raw(near: Neighbourhood, there: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compute the printed estimator, (B,); NaN if all labels are the same."""
    share = (there & (labels > 0)).sum(axis=1) / there.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - near.doubt(there, labels) / np.where((share > 0) & (share < 1), entropy(share), np.nan))


def _of(near: Neighbourhood, labels: np.ndarray, permutations: int, seed: int) -> NMutInf:
    everybody = np.ones((1, len(labels)), dtype=bool)
    raw = float(_raw(near, everybody, labels[None])[0])
    shuffled = np.random.default_rng(seed).permuted(np.tile(labels, (permutations, 1)), axis=1)
    by_chance = _raw(near, np.repeat(everybody, permutations, axis=0), shuffled) if permutations else np.array([np.nan])
    chance = float(by_chance.mean())
    p = (1 + int((by_chance >= raw - 1e-12).sum())) / (1 + permutations)
    return NMutInf(raw, chance, (raw - chance) / (1 - chance), p)


@dataclass(frozen=True)
class NormalisedMutualInformation(LearnedMetric):
    n_neighbors: int = 5
    permutations: int = 100
    seed: int = 0
    smallest_class: int = SMALLEST_CLASS

    key = "nmutinf"
    title = "Label uncertainty removed (NMutInf)"
    parts = ("raw",)
    reference = "Sun et al. 2025, eq. 3, A.18-A.23 (arXiv 2510.02629)"
    measures = of_origin(
        "nmutinf",
        "NMutInf",
        "raw",
        "share of the uncertainty removed",
        "How much of the uncertainty about the answer's origin the k largest scores of {documents} remove, judged by each "
        "instance's five nearest neighbours. Uninformative scores get 17 % and more, so read it beside its chance level, "
        "or use the probe, which is tested on instances that it was not trained on.",
        order=40,
    )

    def of(self, data: Labelled) -> list[Value]:
        near = Neighbourhood(data.features, self.n_neighbors)
        whole = _of(near, data.labels, self.permutations, self.seed)
        runs = self._runs(near, data, whole.raw)
        found = Value("raw", whole.raw, whole.chance, 1.0, data.sizes, p=whole.p, error=runs.error(), bound=1.0)
        return [found._replace(details=(("adjusted", whole.adjusted),))]

    def _runs(self, near: Neighbourhood, data: Labelled, raw: float) -> Runs:
        halves, count = data.splits.reshape(-1, data.splits.shape[2]), len(data.labels)
        there = np.zeros((len(halves), count), dtype=bool)
        np.put_along_axis(there, halves, True, axis=1)
        parts = _raw(near, there, np.broadcast_to(data.labels, there.shape))
        return Runs(np.array([raw]), parts.reshape(*data.splits.shape[:2], 1), 2 * halves.shape[1] / count)


PLUGIN = NormalisedMutualInformation()
