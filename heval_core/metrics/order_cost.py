"""What an explanation's order of the documents' tokens costs the answer, in nats, beside the least and the most of any order.

Formula: mean over i = 1..n of log p(a|x) - log p(a|x without the first i of the documents' n tokens), see
`heval_core/explaining/removal.py`. Parts: `falling`, the best token first; `rising`, the best token last; `least` and `most`,
of any order, which are the same for every explainer. `naopc` is the share between these.
Reference: Samek et al. 2017 (AOPC, arXiv 1509.06321); bounds: Edin et al. 2025 (arXiv 2408.08137). Departure: as for `naopc`.
Range: real. Best: not known. Chance: the random control's value on the same answers. Cost: `--bounds`.

Worked by hand: two tokens, of which the first costs 1 nat and both 4.

>>> aopc(0.0, np.array([-1.0, -4.0]))
2.5
"""

from dataclasses import dataclass

import numpy as np  # noqa: F401  the example above uses it

from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.measured import MeasuredMetric, aopc  # noqa: F401  likewise
from heval_core.records import ORDERS


@dataclass(frozen=True)
class Aopc(MeasuredMetric):
    smallest_group: int = 10

    key = "aopc"
    title = "Cost of an order"
    higher_is_better = True
    parts = ORDERS
    reference = "Samek et al. 2017 (arXiv 1509.06321)"
    measures = (
        Measure(
            "aopc",
            "Cost of an order",
            ("falling",),
            "nats",
            "How much log-probability the answer loses on average as the documents' tokens are taken out one after another, "
            "those first that an explanation ranks first.",
            part_titles=(("falling", "best first"), ("rising", "best last"), ("least", "least"), ("most", "most")),
            needs="--bounds",
            sections=(),
        ),
    )


PLUGIN = Aopc()
