"""Rank@k: how high a piece of the prompt stands in an explanation.

Formula (decision, methods.md): of segment T's m tokens take the k best ranked; the mean of their ranks in the whole
prompt of n tokens; all of them where m < k. Reference: Sun et al. 2025 (arXiv 2510.02629).
Departure: none. Range: [1, n], lower is higher up. Ranks are descending; ties are broken at random, and the value is its
expectation over that, in closed form (`_ties`).
Chance: (min(k, m) + 1)/2 * (n + 1)/(m + 1), the mean of the k smallest of m ranks drawn from 1..n, which is also what a prompt
gets whose scores are all equal: unequal pieces are biased by their length, so the value must be read beside it. Best:
(min(k, m) + 1)/2.
Options: `tokens="all"`, the mean over all m (chance (n + 1)/2); `tokens="global_topk"`, ranks beyond the prompt's k best
all count as k + 1, so that only reaching the top k tells (chance: the same mean over hypergeometric draws);
`pool="context"`, ranks among the documents' tokens only; `drop_first=1`, without the prompt's first token, where attention
sinks under tokenizers that add no BOS; `normalise`, divided by n.

Worked by hand: scores 9, 1, 8, 2 have ranks 1, 4, 2, 3; the segment of the last two tokens has ranks 2 and 3.

>>> rank_at_k(np.array([9.0, 1.0, 8.0, 2.0]), (2, 4), k=3)
RankAtK(value=2.5, chance=2.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics import _ties
from heval_core.metrics._cell import Cell
from heval_core.metrics._estimate import Each, Estimate
from heval_core.records import HEvalError
from heval_core.statistics.scores import Ties, check, ties

TOKENS = ("best", "global_topk", "all")
POOLS = ("prompt", "context")


class RankAtK(NamedTuple):
    value: float
    chance: float


def chance_rank(k: int, segment_sizes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """What random scores get on average; NaN for an empty segment."""
    m, n = np.asarray(segment_sizes, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    chance = (np.minimum(k, m) + 1) / 2 * (n + 1) / (m + 1)
    return np.where(m > 0, chance, np.nan)


def chance_capped(k: int, segment_sizes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """What random scores get where ranks beyond the k best count as k + 1; NaN for an empty segment."""
    m, n = (np.asarray(own, dtype=int)[..., None] for own in (segment_sizes, lengths))
    order = np.arange(1, k + 1) + np.zeros_like(m)
    there = order <= m
    # All tokens in one tie: what is expected of them is what chance gives.
    tied = (np.where(there, own, 1) for own in (n, m, order))
    return mean_of_first(_ties.Leading(there, np.zeros_like(order), *tied).capped(k + 1))


def segment_ranks(found: Ties, segment: np.ndarray, k: int) -> np.ndarray:
    """(N,) Rank@k from the ties of (N, n) scores and a (N, n) bool segment; NaN for an empty segment."""
    return mean_of_first(_ties.leading(found, segment & (found.size > 0), k).places())


def mean_of_first(leading: np.ndarray) -> np.ndarray:
    """(…,) means of the finite entries of (…, k); NaN for a row without any."""
    found = np.isfinite(leading)
    counts = found.sum(axis=-1)
    sums = np.where(found, leading, 0.0).sum(axis=-1)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def rank_at_k(scores: np.ndarray, segment: tuple[int, int], k: int) -> RankAtK:
    """Rank@k of tokens [start, end) of one prompt. scores: (n,).

    Raises HEvalError for scores that are not finite, an empty segment, one that leaves the prompt, or k below 1.
    """
    check(scores, "The prompt")
    start, end = segment
    if not 0 <= start < end <= len(scores):
        raise HEvalError(f"The segment {start}:{end} is empty or outside the prompt's {len(scores)} tokens.")
    if k < 1:
        raise HEvalError(f"k is {k}; it must be at least 1.")
    inside = np.zeros((1, len(scores)), dtype=bool)
    inside[0, start:end] = True
    value = segment_ranks(ties(scores), inside, k)[0]
    return RankAtK(float(value), float(chance_rank(k, np.array(end - start), np.array(len(scores)))))


@dataclass(frozen=True)
class RankSettings:
    """How documents are ranked, for every metric that is made of their ranks."""

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
            value = mean_of_first(np.where(inside, cell.ties.above + (cell.ties.size + 1) / 2, np.inf))
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


@dataclass(frozen=True)
class RankAtKMetric(RankSettings):
    key = "rank_at_k"
    title = "Rank@k of a document"
    question = "RQ1"
    higher_is_better = False
    uses_k = True
    reference = "Sun et al. 2025 (arXiv 2510.02629)"

    def each(self, cell: Cell, k: int) -> list[Each]:
        return self.documents(cell, k)

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        return []


PLUGIN = RankAtKMetric()
