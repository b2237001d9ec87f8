"""Share of instances in which an answer token of the used document ranks among the k best: would a reader see it?

Formula: 1 if the best rank among the gold tokens is at most k, else 0, averaged over D_C, or over D_C1 and D_C2, separately
and together (`balanced`: both groups weigh the same). Reference: hits@k as in link prediction (Bordes et al. 2013), applied to
the ranks of Sun et al. 2025, eq. 5. Departure: not in the paper, which has only the reciprocal rank. Range: [0, 1], higher is
better.
Ties are broken at random, and the value is the resulting probability of a hit.
Chance for m gold tokens among n: 1 - C(n-m, k) / C(n, k). Best: 1. Option: `drop_first=1`, without the prompt's first token.

Worked by hand: two gold tokens among five, k = 2: all but C(3, 2) = 3 of the 10 pairs hold one.

>>> hit(0, 5, 2, k=2)
0.7
"""

from dataclasses import dataclass
from functools import partial

from heval_core.metrics.shared.broken_ties import hit
from heval_core.metrics.shared.cell import KS, Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import OfUsed, of_answer
from heval_core.records.groups import context_groups
from heval_core.statistics.values import Each, Value, means_of


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
        """Return each instance's hit, under the group of the document that was used; NaN elsewhere."""
        return of_answer(cell.without_first(self.drop_first), partial(hit, k=k))

    def over(self, cell: Cell, k: int) -> list[Value]:
        return means_of(self.each(cell, k), self.smallest_group, ends=(0.0, 1.0))


PLUGIN = HitAtK()
