"""ALTI-Logit: what heads carry to the answer's lead, rolled back through what earlier layers mixed into each position.

Formula: phi = sum over l of c^l C^(l-1) … C^0, with c_j^l = sum over heads of A[gen,j] <u, v_j W_O> for z_a - z_b (z_a without
a competitor), and C^l as in `heval_core/lm/roll_back.py`. For a target of several tokens c is summed over its positions.
Reference: Ferrando et al. 2023 (arXiv 2305.12535).
Departure: the contrast z_a - z_b, whole and not divided by the method's sum.
Cost: the clean pass and its heads' reading, shared with cdla, and a pass with all attention patterns. Time: n² d; memory: n².
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.lm.shared_passes import CLEAN, HEADS
from heval_core.records import Cost, Target


@dataclass(frozen=True)
class AltiLogit(Base):
    key = "alti"
    title = "ALTI-Logit"
    family = "mechanistic"
    needs = ("softmax attention", "heads")
    answers = "sentence"
    order = 9
    reference = "Ferrando et al. 2023 (arXiv 2305.12535)"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: the clean pass, one over the last token with hooks, and one over the whole prompt."""
        return Cost(3, 2 * tokens + 1, (CLEAN, HEADS))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        return clean.rolled_back(targets)


PLUGIN = AltiLogit()
