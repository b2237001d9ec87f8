"""Instance rank margin: within one prompt, does the document that was used rank above the other?

Formula (Sun et al. 2025, eq. 2): over D_Ca, the mean of Rank@k(c_b) - Rank@k(c_a); for a = 1, a = 2, the mean of these
two, and the gap between them (a = 1 minus a = 2), which is an explainer's bias towards a position.
Reference: arXiv 2510.02629.
Departure: `balanced`, the mean of the groups' means, is ours. A mean over all instances would reward an explainer that
always points at the document the model uses more often.
Range: about (-n, n); positive is better (the gap: 0 is best).
Chance: the same mean of the chance ranks' differences, 0 for documents of equal length. Best: the used document ranks
first, and the other below everything else. Option: that of Rank@k.

Worked by hand: used document at ranks 2 and 3, the other at 6 and 5: mean of 4 and 2 = 3.

>>> instance_rank_margin(np.array([2.0, 3.0]), np.array([6.0, 5.0]))
3.0
"""

from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import OfUsed
from heval_core.records.groups import context_groups
from heval_core.statistics.values import Each, Value, mean_of


def instance_rank_margin(used: np.ndarray, other: np.ndarray) -> float:
    """Average the other document's Rank@k minus the used one's over instances; NaN without instances.

    Args:
        used: (N,), Rank@k of the document that was used.
        other: (N,), of the other one, in the same instances.
    """
    return float(np.mean(other - used)) if len(used) else float("nan")


@dataclass(frozen=True)
class InstanceRankMargin(OfUsed):
    key = "instance_rank_margin"
    title = "Instance rank margin"
    reference = "Sun et al. 2025, eq. 2 (arXiv 2510.02629)"
    measures = (
        Measure(
            "instance_margin",
            "Instance margin",
            context_groups(2),
            "ranks",
            "How many ranks higher the k best tokens of the document that was used stand than those of the other document in "
            "the same prompt.",
            "RQ2",
            order=30,
            whole=("balanced",),
            instance_parts=context_groups(2),
            instance_title="Margin of {part}@{k}",
            sort="margin of {explainer}",
            sections=("instance_margins", "instance_margins_k", "instance_margins_swap"),
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return each instance's margin, under the group of the document that was used; NaN elsewhere."""
        return self.margins(cell, k)

    def over(self, cell: Cell, k: int) -> list[Value]:
        parts = self.each(cell, k)
        if not parts:
            return []
        means = [mean_of(each.part, [each], self.smallest_group) for each in parts]
        gap = mean_of("gap", parts, self.smallest_group, (1.0, -1.0))
        # A bias is best at its chance level.
        return [*means, mean_of("balanced", parts, self.smallest_group), gap._replace(best=float("nan"))]


PLUGIN = InstanceRankMargin()
