"""Ranks of documents and of the answer's tokens, their chance levels, the settings of metrics that use them; sums of scores.

`heval_core/metrics/rank_at_k.py` has the formula. Ranks are descending, 1 is the highest score. Ties are broken at random,
and a rank is its expectation over that (`broken_ties`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.groups import context_groups
from heval_core.metrics.shared import broken_ties
from heval_core.metrics.shared.cell import Cell, Layout
from heval_core.records import HEvalError
from heval_core.statistics.blocks import row_blocks
from heval_core.statistics.scores import Ties
from heval_core.statistics.values import Each

TOKENS = ("best", "global_topk", "all")
POOLS = ("prompt", "context")


def chance_rank(k: int, segment_sizes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The expected Rank@k of random scores; NaN for an empty segment."""
    m, n = np.asarray(segment_sizes, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    chance = (np.minimum(k, m) + 1) / 2 * (n + 1) / (m + 1)
    return np.where(m > 0, chance, np.nan)


def chance_capped(k: int, segment_sizes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The same if ranks beyond the k best count as k + 1; NaN for an empty segment."""
    m, n = (np.asarray(own, dtype=int)[..., None] for own in (segment_sizes, lengths))
    order = np.arange(1, k + 1) + np.zeros_like(m)
    there = order <= m
    # The chance level is the expectation with all tokens in one tie.
    tied = (np.where(there, own, 1) for own in (n, m, order))
    return mean_of_first(broken_ties.Leading(there, np.zeros_like(order), *tied).capped(k + 1))


def segment_ranks(found: Ties, segment: np.ndarray, k: int) -> np.ndarray:
    """(N,) Rank@k from the ties of (N, n) scores and a (N, n) bool segment; NaN for an empty segment."""
    return mean_of_first(broken_ties.leading(found, segment & (found.size > 0), k).places())


def _mean_ranks(found: Ties, segment: np.ndarray) -> np.ndarray:
    """(N,) mean expected ranks of all tokens of a (N, n) bool segment; NaN for an empty one."""
    ranks = (
        np.where(segment[rows], found.above[rows] + (found.size[rows] + 1) / 2, np.inf) for rows in row_blocks(*segment.shape)
    )
    return np.concatenate([mean_of_first(own) for own in ranks])


def mean_of_first(leading: np.ndarray) -> np.ndarray:
    """(…,) means of the finite entries of (…, k); NaN for a row without any."""
    found = np.isfinite(leading)
    counts = found.sum(axis=-1)
    sums = np.where(found, leading, 0.0).sum(axis=-1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def others_than(number: int, documents: Sequence[Each]) -> Each:
    """The mean over all documents but one: of their ranks, chance levels and best values."""
    others = [each for index, each in enumerate(documents) if index != number]
    return Each("others", *(np.mean(values, axis=0) for values in list(zip(*others, strict=True))[1:]))


@dataclass(frozen=True)
class RankSettings:
    """How documents are ranked, for every metric that uses their ranks."""

    tokens: str = "best"
    pool: str = "prompt"
    normalise: bool = False
    drop_first: int = 0

    def check(self) -> None:
        """Raises HEvalError for an unknown option."""
        for name, value, known in (("tokens", self.tokens, TOKENS), ("pool", self.pool, POOLS)):
            if value not in known:
                raise HEvalError(f"There is no {name}={value!r}; there are: {', '.join(known)}.")

    def documents(self, cell: Cell, k: int) -> list[Each]:
        """Rank@k of each document: part c, or c1 and c2."""
        self.check()
        cell = cell.narrowed(self.pool, self.drop_first)
        parts = ["c"] if len(cell.layout.documents) == 1 else [f"c{i + 1}" for i in range(len(cell.layout.documents))]
        return [self._document(cell, number, part, k) for number, part in enumerate(parts)]

    def worst(self, cell: Cell, k: int) -> list[np.ndarray]:
        """(N,) per document: the largest Rank@k it can have, with every other token above it."""
        cell = cell.narrowed(self.pool, self.drop_first)
        n = cell.layout.lengths
        out = []
        for segment in cell.layout.documents:
            m = (segment & cell.layout.ranked).sum(axis=1)
            worst = n - m + (self._count(k, m) + 1) / 2
            if self.tokens == "global_topk":
                ranks = (n - m)[:, None] + np.arange(1, k + 1)
                worst = mean_of_first(np.where(np.arange(k) < m[:, None], np.minimum(ranks, k + 1), np.inf))
            out.append(worst / n if self.normalise else worst)
        return out

    def _document(self, cell: Cell, number: int, part: str, k: int) -> Each:
        layout = cell.layout
        inside = layout.documents[number] & layout.ranked
        m, n = inside.sum(axis=1), layout.lengths
        if self.tokens == "all":
            value = _mean_ranks(cell.ties, inside)
            chance = np.where(m > 0, (n + 1) / 2, np.nan)
        elif self.tokens == "global_topk":
            value, chance = mean_of_first(cell.leading(number, k).capped(k + 1)), chance_capped(k, m, n)
        else:
            value, chance = mean_of_first(cell.leading(number, k).places()), chance_rank(k, m, n)
        best = np.where(m > 0, (self._count(k, m) + 1) / 2, np.nan)
        scale = np.maximum(n, 1) if self.normalise else 1.0
        return Each(part, value / scale, chance / scale, best / scale)

    def _count(self, k: int, sizes: np.ndarray) -> np.ndarray:
        return sizes if self.tokens == "all" else np.minimum(k, sizes)

    def margins(self, cell: Cell, k: int) -> list[Each]:
        """How far the used document ranks above the others in each instance, by its group; NaN elsewhere.

        Parts C1, C2, …; empty for prompts without several documents.
        """
        if len(cell.layout.documents) < 2:
            return []
        # The largest margin: the used document at its best, the others at their worst.
        ranks = self.documents(cell, k)
        lowest = [each._replace(best=worst) for each, worst in zip(ranks, self.worst(cell, k), strict=True)]
        margins = []
        for number, group in enumerate(context_groups(len(ranks))):
            used, others = ranks[number], others_than(number, lowest)
            values = (others.value - used.value, others.chance - used.chance, others.best - used.best)
            belongs = cell.layout.groups == group
            margins.append(Each(group, *(np.where(belongs, value, np.nan) for value in values)))
        return margins


def of_used_document(
    cell: Cell,
    gold: Sequence[np.ndarray],
    value: Callable[[np.ndarray], np.ndarray],
    chance: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[Each]:
    """Values of instances, by the group of the document that was used; NaN elsewhere. The best is 1.

    gold: per document, (N, n) bool. value: (N, n) ranked gold tokens ▶ (N,). chance: numbers of gold tokens (N,) and of ranked
    tokens (N,) ▶ (N,).
    """
    layout, each = cell.layout, []
    for group, tokens in zip(context_groups(len(layout.documents)), gold, strict=True):
        ranked = tokens & layout.ranked
        values, by_chance = value(ranked), chance(ranked.sum(axis=1), layout.lengths)
        used = (layout.groups == group) & np.isfinite(values)
        each.append(Each(group, *(np.where(used, own, np.nan) for own in (values, by_chance, 1.0))))
    return each


def chance_reciprocal_rank(gold: int, length: int) -> float:
    """The mean of 1 / best rank for `gold` of `length` tokens under random scores; NaN without gold tokens."""
    return broken_ties.reciprocal(0, length, gold)


def reciprocals(found: Ties, gold: np.ndarray) -> np.ndarray:
    """(N,) expected 1 / best rank among each row's (N, n) gold tokens; NaN for a row without any."""
    return broken_ties.of_distinct(broken_ties.reciprocal, *broken_ties.best(found, gold))


def reciprocal_ranks(cell: Cell, gold: Sequence[np.ndarray]) -> list[Each]:
    """Each instance's reciprocal rank. gold: per document, (N, n) bool."""

    def chance(inside: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return broken_ties.of_distinct(chance_reciprocal_rank, inside, lengths)

    return of_used_document(cell, gold, lambda tokens: reciprocals(cell.ties, tokens), chance)


# Sums are rounded to so many digits: those that differ by rounding only, such as those of scores in another order, are equal.
DIGITS = 9


def segment_shares(layout: Layout, scores: np.ndarray, segments: Sequence[np.ndarray], positive: bool = False) -> np.ndarray:
    """(N, n) scores and S bool segments (N, n) ▶ (N, S): the sum of each segment's scores over that of all absolute scores.

    Only ranked tokens count. positive: scores below 0 count as 0. A prompt whose scores are all 0 gives every segment 0.
    """
    ranked = np.where(layout.ranked, scores, 0.0)
    whole = np.abs(ranked).sum(axis=1)
    counted = np.maximum(ranked, 0.0) if positive else ranked
    sums = np.stack([np.where(segment, counted, 0.0).sum(axis=1) for segment in segments], axis=1)
    shares = np.divide(sums, whole[:, None], out=np.zeros_like(sums), where=whole[:, None] > 0)
    return np.round(shares, DIGITS)
