"""Ranks of documents and of the answer's tokens, their chance levels, and sums of scores; what metrics that use them declare.

`heval_core/metrics/document_rank.py` has the formula. Ranks are descending, 1 is the highest score. Ties are broken at random,
and a rank is its expectation over that (`broken_ties`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heval_core.metrics.shared import broken_ties
from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.metrics.shared.measure import Mean, means_of_used
from heval_core.records.groups import context_groups
from heval_core.statistics.scores import Ties
from heval_core.statistics.values import SMALLEST_GROUP, Each, Value


class Base:
    """More is better, and there is a k; what a metric does not define has no values."""

    higher_is_better = True
    uses_k = True

    def each(self, cell: Cell, k: int) -> list[Each]:
        return []

    def over(self, cell: Cell, k: int) -> list[Value]:
        return []


def best_rank(k: int, segment_sizes: np.ndarray) -> np.ndarray:
    """Return the least Rank@k that a segment can have; NaN for an empty one."""
    return np.where(segment_sizes > 0, (np.minimum(k, segment_sizes) + 1) / 2, np.nan)


def chance_rank(k: int, segment_sizes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the expected Rank@k of random scores; NaN for an empty segment."""
    return np.asarray(best_rank(k, segment_sizes) * (lengths + 1) / (segment_sizes + 1))


def segment_ranks(ties: Ties, segment: np.ndarray, k: int) -> np.ndarray:
    """Compute Rank@k, (N,), from the ties of (N, n) scores and a (N, n) bool segment; NaN for an empty segment."""
    return mean_of_first(broken_ties.leading(ties, segment & (ties.size > 0), k))


def mean_of_first(leading: np.ndarray) -> np.ndarray:
    """Average the finite entries of each row: (…, k) ▶ (…,); NaN for a row without any."""
    finite = np.isfinite(leading)
    counts = finite.sum(axis=-1)
    sums = np.where(finite, leading, 0.0).sum(axis=-1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


@dataclass(frozen=True)
class Ranked(Base):
    """How documents are ranked. drop_first: first tokens of each prompt that are not ranked."""

    drop_first: int = 0

    def documents(self, cell: Cell, k: int, *, worst: bool = False) -> list[Each]:
        """Compute Rank@k of each document: part c, or c1 and c2.

        worst: in place of the best value the largest that each can have, with all other tokens above it.
        """
        cell = cell.without_first(self.drop_first)
        layout, ranks = cell.layout, []
        for number, document in enumerate(layout.documents):
            m = (document & layout.ranked).sum(axis=1)
            value, chance = mean_of_first(cell.leading(number, k)), chance_rank(k, m, layout.lengths)
            end = layout.lengths - m + (np.minimum(k, m) + 1) / 2 if worst else best_rank(k, m)
            ranks.append(Each("c" if len(layout.documents) == 1 else f"c{number + 1}", value, chance, end))
        return ranks

    def margins(self, cell: Cell, k: int) -> list[Each]:
        """Measure how far the used document ranks above the other in each instance, by its group; NaN elsewhere.

        Parts C1 and C2; empty for prompts without two documents. The largest margin: the used one at its best, the other at
        its worst.
        """
        if len(cell.layout.documents) != 2:
            return []
        margins = []
        others = self.documents(cell, k, worst=True)[::-1]
        for group, used, other in zip(context_groups(2), self.documents(cell, k), others, strict=True):
            values = (other.value - used.value, other.chance - used.chance, other.best - used.best)
            margins.append(Each(group, *values).within(cell.layout.groups == group))
        return margins


@dataclass(frozen=True)
class OfGroups(Ranked):
    """A metric whose values are of groups of instances.

    smallest_group: instances that a group needs.
    """

    smallest_group: int = SMALLEST_GROUP


class OfUsed(OfGroups):
    """Instances have values of the document that was used, under the group of that document."""

    key: ClassVar[str]

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        return means_of_used(self.key, part, documents)


def of_used_document(cell: Cell, value: Callable[[np.ndarray], np.ndarray], chance: Callable[[int, int], float]) -> list[Each]:
    """Return values of instances, by the group of the document that was used; NaN elsewhere. The best is 1.

    value: (N, n) ranked gold tokens ▶ (N,). chance: of so many gold tokens among so many ranked ones.
    """
    layout, parts = cell.layout, []
    for group, tokens in zip(context_groups(len(layout.documents)), layout.gold, strict=True):
        ranked = tokens & layout.ranked
        values, by_chance = value(ranked), broken_ties.of_distinct(chance, ranked.sum(axis=1), layout.lengths)
        used = (layout.groups == group) & np.isfinite(values)
        parts.append(Each(group, values, by_chance, np.ones(len(values))).within(used))
    return parts


def of_best(expected: Callable[[int, int, int], float], ties: Ties, gold: np.ndarray) -> np.ndarray:
    """Compute what is expected of the best of each row's (N, n) gold tokens, (N,); NaN for a row without any.

    expected: `broken_ties.reciprocal`, or `broken_ties.hit` with its k. Of n tokens with m gold ones chance is (0, n, m).
    """
    return broken_ties.of_distinct(expected, *broken_ties.best(ties, gold))


def of_answer(cell: Cell, expected: Callable[[int, int, int], float]) -> list[Each]:
    """Compute what is expected of each instance's best answer token, by the group of the document that was used: see
    `of_best`.
    """
    return of_used_document(
        cell, lambda gold: of_best(expected, cell.ties, gold), lambda gold, length: expected(0, length, gold)
    )


# Sums are rounded to so many digits: those that differ by rounding only, such as those of scores in another order, are equal.
DIGITS = 9


def segment_shares(layout: Positions, scores: np.ndarray, segments: Sequence[np.ndarray]) -> np.ndarray:
    """Compute the sum of each segment's scores over that of all absolute scores: (N, n) scores and S bool segments (N, n) ▶
    (N, S).

    Only ranked tokens count. A prompt whose scores are all 0 gives every segment 0.
    """
    ranked = np.where(layout.ranked, scores, 0.0)
    whole = np.abs(ranked).sum(axis=1)
    sums = np.stack([np.where(segment, ranked, 0.0).sum(axis=1) for segment in segments], axis=1)
    shares = np.divide(sums, whole[:, None], out=np.zeros_like(sums), where=whole[:, None] > 0)
    return np.round(shares, DIGITS)
