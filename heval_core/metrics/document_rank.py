"""Rank@k: how high a segment of the prompt, such as a document, ranks in an explanation.

Formula (our decision): the mean rank, in the whole prompt of n tokens, of the k best-ranked of segment T's m tokens; of all
of them if m < k. Reference: Sun et al. 2025 (arXiv 2510.02629).
Departure: the paper does not say which ranks, nor what a short segment or a tie gets. Range: [1, n], 1 is the top. Ranks are
descending; ties are broken at random, and the value is its expectation over that, in closed form (`broken_ties`).
Chance: (min(k, m) + 1)/2 * (n + 1)/(m + 1), the mean of the k smallest of m ranks drawn from 1..n; a prompt whose scores are
all equal gets the same. Longer segments rank higher by chance, so read the value beside this level. Best: (min(k, m) + 1)/2.
Option: `drop_first=1`, without the prompt's first token, which becomes an attention sink if the tokenizer adds no BOS.

Worked by hand: scores 9, 1, 8, 2 have ranks 1, 4, 2, 3; the segment of the last two tokens has ranks 2 and 3.

>>> rank_at_k(np.array([9.0, 1.0, 8.0, 2.0]), (2, 4), k=3)
RankAtK(value=2.5, chance=2.5)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import Ranked, chance_rank, segment_ranks
from heval_core.records import HEvalError
from heval_core.statistics.scores import check, ties
from heval_core.statistics.values import Each


class RankAtK(NamedTuple):
    value: float
    chance: float


def rank_at_k(scores: np.ndarray, segment: tuple[int, int], k: int) -> RankAtK:
    """Compute Rank@k of a segment of one prompt: the mean rank of its k best tokens.

    Args:
        scores: (n,), one a token; higher is better.
        segment: its tokens, [start, end).
        k: how many of its tokens count, from 1.

    Raises:
        HEvalError: for scores that are not finite, an empty segment, one that leaves the prompt, or k below 1.
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
class RankAtKMetric(Ranked):
    key = "rank_at_k"
    title = "Rank@k of a document"
    higher_is_better = False
    reference = "Sun et al. 2025 (arXiv 2510.02629)"
    measures = (
        Measure(
            "rank_at_k",
            "Rank@k",
            ("c", "c1", "c2"),
            "ranks",
            "The mean rank of a document's k best tokens; 1 is the top.",
            order=50,
            instance_title="Rank@{k} of {part}",
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        return self.documents(cell, k)


PLUGIN = RankAtKMetric()
