"""Contrastive GIM: what speaks for the answer against its competitor, with a flatter softmax backwards.

Formula: attnlrp's, with target z_a - z_b (z_a where a target has no competitor) and these rules for attention: query and key
gradients x 1/4, values x 1/2, and the gradient through the softmax taken at temperature 2, without the factor 1/2 that the
chain rule gives softmax(S / 2), as GIM's published code has it; the softmax's value is unchanged. At temperature 1 a
saturated softmax passes nothing on. The constants are GIM's own; nothing is tuned.
Reference: ours, after GIM (Edin et al. 2025, arXiv 2505.17630).
Departure from GIM: the target is contrastive, and activations and gate x up follow attnlrp's rules.
Cost: as attnlrp's.
"""

from dataclasses import dataclass

from heval_core.explainers.shared.base import ByRules
from heval_core.lm.rules import CGIM


@dataclass(frozen=True)
class ContrastiveGIM(ByRules):
    key = "cgim"
    title = "Contrastive GIM (ours)"
    order = 7
    reference = "ours, after Edin et al. 2025 (GIM, arXiv 2505.17630)"
    rules = CGIM
    contrast = True


PLUGIN = ContrastiveGIM()
