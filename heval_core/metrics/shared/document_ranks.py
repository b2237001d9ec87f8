"""Ranks of documents: Rank@k of each document, its chance level, and the settings of metrics that use these ranks.

`heval_core/metrics/rank_at_k.py` has the formula. Ranks are descending, 1 is the highest score. Ties are broken at random,
and a rank is its expectation over that (`broken_ties`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.groups import context_groups
from heval_core.metrics.shared import broken_ties
from heval_core.metrics.shared.cell import Cell
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
