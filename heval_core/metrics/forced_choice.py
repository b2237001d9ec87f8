"""Forced choice: asked which document was used, how often does an explanation name the right one?

Formula: an explanation names the document with the largest sum of scores. Value: the share of instances in which that is the
document that was used, as the mean of the groups' shares (`balanced`), so that naming always the same document is at chance.
An instance counts 1/k if k documents share the largest sum, the used one among them, and 0 if it does not. Answers from memory
do not count, nor does padding compete. Reference: ours; an audit of rank margins (docs/origin.md) found that these measure
whether scores are alike within a document, and not only which document they point at.
Departure: the paper asks by rank margins, which stand beside this. Range: 0 to 1, higher is better.
Chance: 1/documents, for whoever guesses, and for all scores alike 0. Best: 1.
Scores below 0 are added too: they speak against the answer, as what the other document says should; and where scores are
noise, the sum of all is 0 on average, while that of the positive ones grows with a document's length.
Option: `drop_first=1`, without the prompt's first token, which attention is often drawn to whatever it says.

Worked by hand: sums of .4 and .1 with the first document used; of .2 and .2; of .1 and .3 with the first used again.

>>> forced_choice(np.array([[0.4, 0.1], [0.2, 0.2], [0.1, 0.3]]), np.array([0, 1, 0])).tolist()
[1.0, 0.5, 0.0]
"""

from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.mention_choice import named
from heval_core.metrics.shared.ranks import OfUsed, segment_shares
from heval_core.records import DUAL_REGIMES
from heval_core.records.groups import context_groups
from heval_core.statistics.values import Each, Value, mean_of


def forced_choice(sums: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return 1 if the used document's sum of scores is the largest, 1/k in a tie of k: (N,).

    sums: (N, documents). used: (N,).
    """
    return named(sums, np.ones(sums.shape, dtype=bool), used)


@dataclass(frozen=True)
class ForcedChoice(OfUsed):
    key = "forced_choice"
    title = "Forced choice of the document"
    uses_k = False
    reference = "ours"
    measures = (
        Measure(
            "forced_choice",
            "Forced choice",
            ("balanced",),
            "share named rightly",
            "How often the document that was used has the largest sum of scores. Both documents weigh the same; a tie counts "
            "in part.",
            "RQ2",
            order=25,
            regimes=DUAL_REGIMES,
            instance_parts=context_groups(2),
            instance_title="Named rightly ({part})",
            sort="choice of {explainer}",
            headline="How often the used document has the largest sum of scores, both positions with the same weight",
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return whether each instance's document is named, under the group of that document; NaN elsewhere."""
        cell = cell.without_first(self.drop_first)
        layout, count = cell.layout, len(cell.layout.documents)
        if count < 2:
            return []
        sums = segment_shares(layout, cell.scores, layout.documents)
        chance, best = np.full(len(sums), 1 / count), np.ones(len(sums))
        return [
            Each(group, forced_choice(sums, np.full(len(sums), number)), chance, best).within(layout.groups == group)
            for number, group in enumerate(context_groups(count))
        ]

    def over(self, cell: Cell, k: int) -> list[Value]:
        parts = self.each(cell, k)
        return [mean_of("balanced", parts, self.smallest_group, ends=(0.0, 1.0))] if parts else []


PLUGIN = ForcedChoice()
