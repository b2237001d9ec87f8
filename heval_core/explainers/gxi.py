"""Gradient times input, at the embeddings.

Formula: phi_i = <e_i, d z_a / d e_i>; e_i is the embedding of token i, without its position; z_a is the logit of the answer's
first token at the last prompt position; for a target of several tokens, the sum of their logits.
Reference: Shrikumar et al. 2017 (arXiv 1605.01713).
Departure: none.
Cost: one pass forward and one backward over n tokens; prompts of equal length run as one batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.records import Cost, Target


@dataclass(frozen=True)
class GradientTimesInput(Base):
    key = "gxi"
    title = "Gradient x input"
    family = "gradient"
    padded = True
    needs = ("gradients",)
    answers = "sentence"
    order = 5
    reference = "Shrikumar et al. 2017 (arXiv 1605.01713)"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: forward and back."""
        return Cost(2, 2 * tokens)

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        return clean.lm.gradients.times_input(clean.ids, targets, ends=clean.ends)


PLUGIN = GradientTimesInput()
