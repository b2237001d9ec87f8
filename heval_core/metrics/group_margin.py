"""Group rank margin: does a document rank higher in instances answered from it than in the others?

Formula (Sun et al. 2025, eq. 1): Rank@k(T, D_B) - Rank@k(T, D_A), the difference of the groups' mean Rank@k of document
T. RQ1: (c; A = C, B = M). RQ2: (c1; A = C1, B = C2) and (c2; A = C2, B = C1). Reference: arXiv 2510.02629.
Departure: that of Rank@k. Range: about (-n, n); positive is better.
Chance: the same difference of the chance ranks, near 0 unless the groups' prompts differ in length. Best: the document
ranks first wherever it was used, and below everything else wherever it was not. Option: that of Rank@k.
Each group needs at least 30 instances; otherwise the value is not available, with the reason.

Worked by hand: a document ranks 2 and 4 where it was used, 9 and 7 where it was not: 8 - 3 = 5.

>>> group_rank_margin(np.array([2.0, 4.0]), np.array([9.0, 7.0]))
5.0
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Mean, Measure
from heval_core.metrics.shared.ranks import OfGroups
from heval_core.records.groups import compared_groups
from heval_core.statistics.values import Value, mean_of


def group_rank_margin(used: np.ndarray, unused: np.ndarray) -> float:
    """Compute the mean Rank@k of a document where it was not used, minus where it was; NaN if a group is empty.

    Args:
        used: (N,), its Rank@k in the instances that used it.
        unused: (M,), in those that did not.
    """
    if not len(used) or not len(unused):
        return float("nan")
    return float(np.mean(unused) - np.mean(used))


@dataclass(frozen=True)
class GroupRankMargin(OfGroups):
    key = "group_rank_margin"
    title = "Group rank margin"
    reference = "Sun et al. 2025, eq. 1 (arXiv 2510.02629)"
    measures = (
        Measure(
            "rank_margin",
            "Rank margin",
            ("c",),
            "ranks",
            "How many ranks higher the document's k best tokens stand where the answer came from the document than where it "
            "came from memory.",
            "RQ1",
            order=10,
            sections=("group_margins", "group_margins_k"),
        ),
        Measure(
            "group_margin",
            "Group margin",
            ("c1", "c2"),
            "ranks",
            "How many ranks higher a document's k best tokens stand where it was used than where the other document was.",
            "RQ2",
            order=35,
            sections=("group_margins_dual", "group_margins_dual_k", "group_margins_swap"),
        ),
    )

    def over(self, cell: Cell, k: int) -> list[Value]:
        documents, lowest, groups = self.documents(cell, k), self.documents(cell, k, worst=True), cell.layout.groups
        margins = []
        for ranks, worst, pair in zip(documents, lowest, permutations(compared_groups(len(documents))), strict=False):
            sides = [side.within(groups == group) for side, group in zip((ranks, worst), pair, strict=True)]
            margins.append(mean_of(ranks.part, sides, self.smallest_group, (-1.0, 1.0), pair))
        return margins

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        """Return Rank@k where the document was not used, minus where it was."""
        parts = ("c",) if documents == 1 else ("c1", "c2")
        groups_of = dict(zip(parts, permutations(compared_groups(documents)), strict=False))
        if part not in groups_of:
            return ()
        used, unused = groups_of[part]
        return Mean("rank_at_k", part, (unused,)), Mean("rank_at_k", part, (used,), -1.0)


PLUGIN = GroupRankMargin()
