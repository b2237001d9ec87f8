"""Fusion of three: the mean of cgim, alti and cdla, each divided by the sum of its absolute scores.

Formula (ours): phi = mean over m in (cgim, alti, cdla) of phi^m / sum_i |phi_i^m|; a method with scores of 0 adds none.
Option `alti=false`: the mean of cgim and cdla, for prompts so long that patterns of n² are too large.
Reference: ours; the three are of Edin et al. 2025 (cgim), Ferrando et al. 2023 (alti), and ours (cdla).
Departure: none; the weights are equal, and nothing is tuned.
Cost: that of the three together; their clean pass, heads' reading and direct effects are shared, also with these explainers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.lm import rules
from heval_core.lm.shared_passes import CLEAN, HEADS
from heval_core.records import Cost, Target


@dataclass(frozen=True)
class FusionOfThree(Base):
    alti: bool = True

    key = "fuse3"
    title = "Fusion of three (ours)"
    family = "mechanistic"
    needs = ("gradients", "softmax attention", "heads")
    answers = "sentence"
    order = 10
    reference = "ours, of cgim, alti and cdla"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: the clean pass, one over the last token with hooks, cgim's, and with alti one more over the whole
        prompt.
        """
        back = rules.cost(tokens)
        return Cost(2 + self.alti + back.passes, (1 + self.alti) * tokens + 1 + back.tokens, (CLEAN, HEADS))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        parts = [clean.relevance(rules.CGIM, targets, contrast=True), sum(clean.direct_effects(targets)).sum(1)]
        if self.alti:
            parts.append(clean.rolled_back(targets))
        return fused([part.cpu().numpy() for part in parts])


def fused(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Average (B, n) scores of several methods, each row divided by its l1 norm; a row of zeros stays one."""
    norms = [np.abs(part).sum(1, keepdims=True) for part in parts]
    divided = [part / np.where(norm > 0, norm, 1) for part, norm in zip(parts, norms, strict=True)]
    return np.mean(divided, axis=0).astype(np.float32)


PLUGIN = FusionOfThree()
