"""Rank@k: how high a piece of the prompt stands in an explanation.

Formula (decision, methods.md): of segment T's m tokens take the k best ranked; the mean of their ranks in the whole
prompt of n tokens; all of them where m < k. Reference: Sun et al. 2025 (arXiv 2510.02629).
Departure: none. Range: [1, n], lower is higher up. Ranks are descending with ties averaged.
Chance: (min(k, m) + 1)/2 * (n + 1)/(m + 1), the mean of the k smallest of m ranks drawn from 1..n: unequal pieces are
biased by their length, so the value must be read beside it.

Worked by hand: scores 9, 1, 8, 2 have ranks 1, 4, 2, 3; the segment of the last two tokens has ranks 2 and 3.

>>> rank_at_k(np.array([9.0, 1.0, 8.0, 2.0]), (2, 4), k=3)
RankAtK(value=2.5, chance=2.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics._cell import Cell, Each, Estimate
from heval_core.records import HEvalError
from heval_core.scores import average_ranks, check


class RankAtK(NamedTuple):
    value: float
    chance: float


def chance_rank(k: int, segment_sizes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """What random scores get on average; NaN for an empty segment."""
    m, n = np.asarray(segment_sizes, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    chance = (np.minimum(k, m) + 1) / 2 * (n + 1) / (m + 1)
    return np.where(m > 0, chance, np.nan)


def segment_ranks(ranks: np.ndarray, segment: np.ndarray, k: int) -> np.ndarray:
    """(N,) Rank@k from (N, n) ranks and a (N, n) bool segment; NaN for an empty segment."""
    inside = np.sort(np.where(segment & np.isfinite(ranks), ranks, np.inf), axis=1)[:, :k]
    found = np.isfinite(inside)
    counts = found.sum(axis=1)
    sums = np.where(found, inside, 0.0).sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def rank_at_k(scores: np.ndarray, segment: tuple[int, int], k: int) -> RankAtK:
    """Rank@k of tokens [start, end) of one prompt. scores: (n,).

    Raises HEvalError for scores that are not finite, an empty segment, or one that leaves the prompt.
    """
    check(scores, "The prompt")
    start, end = segment
    if not 0 <= start < end <= len(scores):
        raise HEvalError(f"The segment {start}:{end} is empty or outside the prompt's {len(scores)} tokens.")
    inside = np.zeros((1, len(scores)), dtype=bool)
    inside[0, start:end] = True
    value = segment_ranks(average_ranks(scores), inside, k)[0]
    return RankAtK(float(value), float(chance_rank(k, np.array(end - start), np.array(len(scores)))))


@dataclass(frozen=True)
class RankAtKMetric:
    key = "rank_at_k"
    title = "Rank@k of a document"
    question = "RQ1"
    higher_is_better = False
    uses_k = True
    reference = "Sun et al. 2025 (arXiv 2510.02629)"

    def each(self, cell: Cell, k: int) -> list[Each]:
        layout, out = cell.layout, []
        for number, segment in enumerate(layout.documents, start=1):
            part = "c" if len(layout.documents) == 1 else f"c{number}"
            sizes = (segment & layout.ranked).sum(axis=1)
            out.append(Each(part, segment_ranks(cell.ranks, segment, k), chance_rank(k, sizes, layout.lengths)))
        return out

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        return []


PLUGIN = RankAtKMetric()
