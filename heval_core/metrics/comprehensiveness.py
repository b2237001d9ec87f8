"""Comprehensiveness: how much log-probability does the answer lose when the tokens an explanation points at are taken out?

Formula (Sun et al. 2025, A.24; DeYoung et al. 2020): mean over K of log p(a|x) - log p(a|x without the k best tokens), in nats
of the answer's first token. `heval_core.explaining.faithfulness` measures it, and defines K and how tokens are taken out.
Parts: `baseline`, `drawn`, `deletion` (what replaces a token), and `all`, the mean over these.
Reference: arXiv 2510.02629. Departure: the baseline token is fa's, not the pad; `drawn`, `deletion` and the mean are ours. The
paper's Table B.3 has values up to 2,500, which log-probabilities of single tokens cannot reach; do not compare ours with them.
Range: real, higher is better. Chance: the random control's value on the same instances. Best: not known.

Worked by hand: log-probabilities of -1 before, -3 and -5 without one and two tokens: the mean of 2 and 4.

>>> aopc(-1.0, np.array([-3.0, -5.0]))
3.0
"""

from dataclasses import dataclass

import numpy as np  # noqa: F401  the example above uses it

from heval_core.metrics.shared.measure import of_faithfulness
from heval_core.metrics.shared.measured import MeasuredMetric, aopc  # noqa: F401  likewise


@dataclass(frozen=True)
class Comprehensiveness(MeasuredMetric):
    key = "comprehensiveness"
    title = "Comprehensiveness"
    higher_is_better = True
    reference = "Sun et al. 2025, A.24 (arXiv 2510.02629); DeYoung et al. 2020"
    measures = of_faithfulness(title, "the best-ranked tokens are taken out", 80)


PLUGIN = Comprehensiveness()
