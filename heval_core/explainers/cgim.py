"""Contrastive GIM: what speaks for the answer against its competitor, with a flatter softmax backwards.

Formula: attnlrp's, with target z_a - z_b (z_a where a target has no competitor) and these rules for attention: query and key
gradients x 1/4, values x 1/2, and the gradient through the softmax taken at temperature 2, without the factor 1/2 that the
chain rule gives softmax(S / 2), as GIM's published code has it; the softmax's value is unchanged. At temperature 1 a
saturated softmax passes nothing on. The constants are GIM's own; nothing is tuned.
Reference: ours, after GIM (Edin et al. 2025, arXiv 2505.17630).
Departure from GIM: the target is contrastive, and activations and gate x up follow attnlrp's rules.
Cost: as attnlrp's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heval_core.explainers.shared.base import Base
from heval_core.lm import rules
from heval_core.records import Target

if TYPE_CHECKING:
    from heval_core.lm.clean_pass import CleanPass


@dataclass(frozen=True)
class ContrastiveGIM(Base):
    key = "cgim"
    title = "Contrastive GIM"
    family = "gradient"
    needs = ("gradients", "softmax attention")
    answers = "sentence"
    order = 7
    reference = "ours, after Edin et al. 2025 (GIM, arXiv 2505.17630)"
    cost = staticmethod(rules.cost)

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        return clean.relevance(rules.CGIM, targets, contrast=True)


PLUGIN = ContrastiveGIM()
