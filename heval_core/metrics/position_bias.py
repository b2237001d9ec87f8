"""Position bias: does an explainer rank a document higher because of its position?

Formula: Rank@k(c2) - Rank@k(c1), which says how far the first document ranks above the second, whichever was used.
`tilt`: half of its mean over D_C1 plus half of its mean over D_C2, so that the groups' sizes do not matter; twice this is the
gap of the instance rank margins. `swap`: over questions asked in both orders, the mean of both prompts' differences: each
document comes once first and once second, so that their contents cancel. Reference: ours; Sun et al. 2025 describe the effect
(arXiv 2510.02629). Departure: the paper has no number for it.
Range: about (-n, n); 0 is best, positive favours the earlier document. Chance: the same formula for the chance ranks, 0 for
documents of equal length. Option: that of Rank@k.

Worked by hand: the first document at ranks 2 and 3, the second at 6 and 5: the first is 3 ranks above the second.

>>> float(lead(np.array([2.0, 3.0]), np.array([6.0, 5.0])).mean())
3.0
"""

from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Mean, Measure
from heval_core.metrics.shared.ranks import OfGroups
from heval_core.records.groups import context_groups
from heval_core.statistics.values import Each, Value, mean_of


def lead(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how many ranks the first document is above the second, (N,), from the Rank@k of both."""
    return np.asarray(second - first)


@dataclass(frozen=True)
class PositionBias(OfGroups):
    key = "position_bias"
    title = "Position bias"
    higher_is_better = False
    reference = "ours; the effect: Sun et al. 2025 (arXiv 2510.02629)"
    measures = (
        Measure(
            "position_bias",
            "Position bias",
            ("tilt", "swap"),
            "ranks",
            "How many ranks the first document stands above the second, whichever was used: on average over both groups, and "
            "over questions that were asked with the documents in both orders. Above 0, the earlier document is favoured.",
            "RQ2",
            order=60,
            best="zero",
            part_titles=(("tilt", "both groups"), ("swap", "both ways round")),
            instance_title="First document's lead@{k}",
            paper="ours, for the paper's text",
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Measure how far the first document ranks above the second, in every instance of C1 and C2 (part `tilt`)."""
        leads = self.one_way(cell, k)
        return [] if leads is None else [leads._replace(part="tilt").within(np.isin(cell.layout.groups, context_groups(2)))]

    def over(self, cell: Cell, k: int) -> list[Value]:
        values = []
        for each in self.each(cell, k):
            groups = [each.within(cell.layout.groups == name) for name in context_groups(2)]
            tilt = mean_of("tilt", groups, self.smallest_group, names=context_groups(2))
            if tilt.unavailable is None:
                lengths = [cell.layout.lengths[column.counts > 0].mean() for column in tilt.columns]
                tilt = tilt._replace(details=(("tokens", float(np.mean(lengths))),))
            values.append(tilt)
        return values

    def one_way(self, cell: Cell, k: int) -> Each | None:
        """Measure how far the first document ranks above the second, in every instance; None for prompts without two
        documents.
        """
        if len(cell.layout.documents) != 2:
            return None
        first, second = self.documents(cell, k)
        # There is no best value to normalise by: a bias is best at its chance level.
        nothing = np.full(len(first.value), np.nan)
        return Each("swap", lead(first.value, second.value), lead(first.chance, second.chance), nothing)

    def both_ways(self, one: Each, swapped: Each) -> Value:
        """Compute the part `swap`: the i-th instances of both ask the same question, with the documents swapped."""
        value, chance = (one.value + swapped.value) / 2, (one.chance + swapped.chance) / 2
        return mean_of("swap", [Each("swap", value, chance, one.best)], self.smallest_group)

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        """Return no means: `swap` is made of pairs of prompts, of which no values are stored."""
        if part != "tilt":
            return ()
        return tuple(Mean(self.key, part, (group,), 1 / documents) for group in context_groups(documents))


PLUGIN = PositionBias()
