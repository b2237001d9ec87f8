"""Faithfulness between the model's own bounds: how near does an explanation's order come to the best possible one?

Formula (Edin et al. 2025): (AOPC - least) / (most - least), where AOPC is the mean loss of log-probability as the documents'
tokens are taken out one after another, and least and most are those of any order (`heval_core/explaining/removal.py`). Parts:
`falling`, the best token first, a comprehensiveness (higher is better); `rising`, the best token last, a sufficiency (lower is
better). Of two models, or two prompts, one has more to lose than the other: nats do not compare across them, this share does.
Reference: Normalized AOPC, arXiv 2408.08137. Departures: log-probabilities; the documents' tokens alone; where a known order
passes the beam search, it is the bound.
Range: [0, 1]. Best: 1 for `falling`, 0 for `rising`. Chance: the random control's value on the same answers. Undefined where
orders differ by less than RANGE nats: a share of nothing, as for most answers from memory (our decision). Cost: `--bounds`.

Worked by hand: an order that costs 2 nats, where any order costs 1 to 5.

>>> (2.0 - 1.0) / (5.0 - 1.0)
0.25
"""

from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import ORDERS
from heval_core.statistics.values import Each


@dataclass(frozen=True)
class NormalisedAopc(MeasuredMetric):
    smallest_group: int = 10

    key = "naopc"
    title = "Faithfulness, normalised"
    higher_is_better = True
    parts = ORDERS[:2]
    ends = (0.0, 1.0)
    reference = "Edin et al. 2025 (arXiv 2408.08137)"
    measures = (
        Measure(
            "naopc",
            "Faithfulness, normalised",
            ("falling",),
            "share of what is possible",
            "What the answer loses as the documents' tokens are taken out in an explanation's order, between the least (0) "
            "and the most (1) that any order costs this model.",
            part_titles=(("falling", "best first"), ("rising", "best last")),
            needs="--bounds",
            sections=(),
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return the share of each answer, by part."""
        return [each._replace(best=np.full(len(each.value), float(each.part == ORDERS[0]))) for each in super().each(cell, k)]


PLUGIN = NormalisedAopc()
