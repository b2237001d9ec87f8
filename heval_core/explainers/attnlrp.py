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
class AttnLRP(Base):
    contrast: bool = False

    key = "attnlrp"
    title = "AttnLRP"
    family = "gradient"
    needs = ("gradients", "softmax attention")
    answers = "sentence"
    order = 6
    reference = "Achtibat et al. 2024 (arXiv 2402.05602)"
    cost = staticmethod(rules.cost)

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        return clean.relevance(rules.ATTNLRP, targets, self.contrast)


PLUGIN = AttnLRP()
