"""Share of instances in which an answer token of the used document ranks among the k best: would a reader see it?

Formula: 1 if the best rank among the gold tokens is at most k, else 0, averaged over D_C, or over D_C1 and D_C2, separately
and together (`balanced`: both groups weigh the same). Reference: hits@k as in link prediction (Bordes et al. 2013), applied to
the ranks of Sun et al. 2025, eq. 5. Departure: not in the paper, which has only the reciprocal rank. Range: [0, 1], higher is
better.
Ties are broken at random, and the value is the resulting probability of a hit.
Chance for m gold tokens among n: 1 - C(n-m, k) / C(n, k). Best: 1. Option: `drop_first=1`, without the prompt's first token.

Worked by hand: two gold tokens among five, k = 2: all but C(3, 2) = 3 of the 10 pairs hold one.

>>> chance_hit(2, 5, 2)
0.7
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from heval_core.groups import context_groups
from heval_core.metrics.shared import broken_ties
from heval_core.metrics.shared.cell import KS, Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import OfUsed, of_used_document
from heval_core.statistics.scores import Ties
from heval_core.statistics.values import Each, Value, means_of


def chance_hit(gold: int, length: int, k: int) -> float:
    """The probability that one of `gold` tokens is among k of `length`; NaN without gold tokens."""
    return broken_ties.hit(0, length, gold, k)


def hits(found: Ties, gold: np.ndarray, k: int) -> np.ndarray:
    """(N,) the probability that one of each row's (N, n) gold tokens is among the k best; NaN for a row without any."""
    above, size, inside = broken_ties.best(found, gold)
    return broken_ties.of_distinct(broken_ties.hit, above, size, inside, np.full_like(above, k))


@dataclass(frozen=True)
class HitAtK(OfUsed):
    key = "hit_at_k"
    title = "Answer among the k best tokens"
    reference = "Bordes et al. 2013 (hits@k)"
    measures = (
        Measure(
            "hits",
            "Answer in the top k",
            ("C", "balanced"),
            "share of instances",
            "How often an answer token of the document that was used is among the k best-ranked tokens of the prompt.",
            "RQ3",
            order=20,
            instance_parts=(*context_groups(1), *context_groups(2)),
            instance_title="Answer in the top {k} ({part})",
            reported_ks=KS,
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Each instance's hit, under the group of the document that was used; NaN elsewhere."""
        cell = cell.without_first(self.drop_first)
        return of_used_document(cell, lambda gold: hits(cell.ties, gold, k), partial(chance_hit, k=k))

    def over(self, cell: Cell, k: int) -> list[Value]:
        return means_of(self.each(cell, k), self.smallest_group, ends=(0.0, 1.0))


PLUGIN = HitAtK()
