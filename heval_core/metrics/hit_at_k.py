"""Share of instances in which one of the used document's answer tokens is among the k best ranked: would a reader see it?

Formula: 1 where the best rank among the gold tokens is at most k, else 0, averaged over D_C, or over D_C1 and D_C2, apart
and pooled. Reference: hits@k as in link prediction (Bordes et al. 2013), read on the ranks of Sun et al. 2025, eq. 5.
Departure: not in the paper, which has the reciprocal rank only. Range: [0, 1], higher is better.
Chance for m gold tokens among n: 1 - C(n-m, k) / C(n, k). Ties share the average rank, so that of more than k tokens that are
equally good none is among the k best. Best: 1. Option: `drop_first=1`, without the prompt's first token.

Worked by hand: two gold tokens among five, k = 2: all but C(3, 2) = 3 of the 10 pairs hold one.

>>> chance_hit(2, 5, 2)
0.7
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from heval_core.metrics._cell import SMALLEST_GROUP, Cell, Each, Estimate, mean_estimate, pool
from heval_core.metrics.mrr import best_ranks


@functools.cache
def chance_hit(gold: int, length: int, k: int) -> float:
    """The probability that one of `gold` tokens is among k of `length`; NaN without gold tokens."""
    if gold < 1 or gold > length:
        return float("nan")
    return 1 - math.comb(length - gold, min(k, length)) / math.comb(length, min(k, length))


@dataclass(frozen=True)
class HitAtK:
    drop_first: int = 0
    smallest_group: int = SMALLEST_GROUP

    key = "hit_at_k"
    title = "Answer among the k best tokens"
    question = "RQ3"
    higher_is_better = True
    uses_k = True
    reference = "Bordes et al. 2013 (hits@k)"

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Each instance's hit, under the group that says which document was used; NaN elsewhere."""
        cell = cell.narrowed("prompt", self.drop_first)
        layout, out = cell.layout, []
        for number in range(len(layout.documents)):
            group = "C" if len(layout.documents) == 1 else f"C{number + 1}"
            gold = layout.gold[number] & layout.ranked
            pairs = zip(gold.sum(axis=1).tolist(), layout.lengths.tolist(), strict=True)
            chance = np.array([chance_hit(m, n, k) for m, n in pairs])
            best = best_ranks(cell.ranks, gold)
            used = (layout.groups == group) & np.isfinite(best)
            out.append(Each(group, *(np.where(used, own, np.nan) for own in (best <= k, chance, 1.0))))
        return out

    def over(self, cell: Cell, k: int) -> list[Estimate]:
        parts = self.each(cell, k)
        if len(parts) == 2:
            parts.append(pool(*parts))
        return [mean_estimate(each, self.smallest_group) for each in parts]


PLUGIN = HitAtK()
