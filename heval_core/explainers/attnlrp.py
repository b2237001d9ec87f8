"""AttnLRP: gradient times input in the same network with changed backward rules.

Formula: phi_i = <e_i, d z_a / d e_i>, where backwards a norm divides by a detached std or RMS, a bilinear product (softmax x
value, query x key, gate x up) gives half of its relevance to each factor, and an activation f(x) passes x times the detached
f(x)/x. Queries and keys so get a quarter of the plain gradient, values half. z_a: as gxi's. Option `contrast`: z_a - z_b, the
lead over the competitor, where a target has one.
Reference: Achtibat et al. 2024 (arXiv 2402.05602), in the form of their published code (LXT 2.1), as gradients.
Departure: none in the rules; biases and position embeddings keep their relevance, which no token gets.
Cost: one pass forward and one backward over n tokens, and another forward for prompts of more than 1,024 tokens, whose layers
are computed twice to save memory; prompts of equal length run as one batch. The copy is made and checked once per model.
"""

from dataclasses import dataclass

from heval_core.explainers.shared.base import ByRules
from heval_core.lm.rules import ATTNLRP


@dataclass(frozen=True)
class AttnLRP(ByRules):
    contrast: bool = False

    key = "attnlrp"
    title = "AttnLRP"
    order = 6
    reference = "Achtibat et al. 2024 (arXiv 2402.05602)"
    rules = ATTNLRP


PLUGIN = AttnLRP()
