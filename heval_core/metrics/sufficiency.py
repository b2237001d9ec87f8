"""Sufficiency: how much log-probability does the answer lose when only the tokens an explanation points at are kept?

Formula (Sun et al. 2025, A.25; DeYoung et al. 2020): mean over K of log p(a|x) - log p(a|x with only the k best tokens kept),
in nats of the answer's first token; K, parts and how tokens are taken out as for comprehensiveness.
Reference: arXiv 2510.02629. Departure: as for comprehensiveness.
Range: real, lower is better. Chance: the random control's value on the same instances. Best: not known.

Worked by hand: log-probabilities of -1 before, -2 and -1.5 with one and two tokens kept: the mean of 1 and .5.

>>> aopc(-1.0, np.array([-2.0, -1.5]))
0.75
"""

from dataclasses import dataclass

import numpy as np  # noqa: F401  the example above uses it

from heval_core.metrics.shared.measure import of_faithfulness
from heval_core.metrics.shared.measured import MeasuredMetric, aopc  # noqa: F401  likewise


@dataclass(frozen=True)
class Sufficiency(MeasuredMetric):
    key = "sufficiency"
    title = "Sufficiency"
    higher_is_better = False
    reference = "Sun et al. 2025, A.25 (arXiv 2510.02629); DeYoung et al. 2020"
    measures = of_faithfulness(title, "only the best-ranked tokens are kept", 90)


PLUGIN = Sufficiency()
