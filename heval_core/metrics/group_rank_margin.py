"""Group rank margin: does a document rank higher in instances answered from it than in the others?

Formula (Sun et al. 2025, eq. 1): Rank@k(T, D_B) - Rank@k(T, D_A), the difference of the groups' mean Rank@k of document
T. RQ1: (c; A = C, B = M). RQ2: (c1; A = C1, B = C2) and (c2; A = C2, B = C1). Reference: arXiv 2510.02629.
Departure: none. Range: about (-n, n); positive is better.
Chance: the same difference of the chance ranks, near 0 unless the groups' prompts differ in length. Best: the document
ranks first wherever it was used, and below everything else wherever it was not. Options: those of Rank@k.
Each group needs at least 30 instances; otherwise the value is not available, with the reason.

Worked by hand: a document ranks 2 and 4 where it was used, 9 and 7 where it was not: 8 - 3 = 5.

>>> group_rank_margin(np.array([2.0, 4.0]), np.array([9.0, 7.0]))
5.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heval_core.groups import compared_groups
from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import RankSettings
from heval_core.metrics.shared.stored_means import Mean
from heval_core.statistics.values import SMALLEST_GROUP, Each, Value, mean_of


def group_rank_margin(used: np.ndarray, unused: np.ndarray) -> float:
    """Mean Rank@k of a document where it was not used, minus where it was. NaN if a group is empty."""
    if not len(used) or not len(unused):
        return float("nan")
    return float(np.mean(unused) - np.mean(used))


@dataclass(frozen=True)
class GroupRankMargin(RankSettings):
    smallest_group: int = SMALLEST_GROUP

    key = "group_rank_margin"
    title = "Group rank margin"
    higher_is_better = True
    uses_k = True
    reference = "Sun et al. 2025, eq. 1 (arXiv 2510.02629)"
    measures = (
        Measure(
            "rank_margin",
            "Rank margin",
            ("c",),
            "ranks",
            "How many ranks higher the document's k best tokens stand where the answer came from the document than where it "
            "came from memory.",
            "-n to n",
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
            "-n to n",
            "RQ2",
            order=35,
            sections=("group_margins_dual", "group_margins_dual_k", "group_margins_swap"),
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        return []

    def over(self, cell: Cell, k: int) -> list[Value]:
        documents = self.documents(cell, k)
        layout, groups = cell.layout, compared_groups(len(documents))
        margins = []
        for each, worst, used in zip(documents, self.worst(cell, k), groups, strict=False):
            rivals = [group for group in groups if group != used]
            unused = " + ".join(rivals)
            in_used, in_unused = (
                each.within(layout.groups == used),
                each._replace(best=worst).within(np.isin(layout.groups, rivals)),
            )
            margins.append(mean_of(each.part, (in_used, in_unused), self.smallest_group, (-1.0, 1.0), (used, unused)))
        return margins

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        """Rank@k where the document was not used, minus where it was."""
        groups = compared_groups(documents)
        used = dict(zip(("c",) if documents == 1 else map("c{}".format, range(1, documents + 1)), groups, strict=False))
        if part not in used:
            return ()
        rivals = tuple(group for group in groups if group != used[part])
        return Mean("rank_at_k", part, rivals), Mean("rank_at_k", part, (used[part],), -1.0)


PLUGIN = GroupRankMargin()
