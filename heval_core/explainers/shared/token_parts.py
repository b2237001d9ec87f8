"""The scores by which `origin` shares out what a document gives: those of an explainer of single tokens."""

from collections.abc import Sequence

import numpy as np

from heval_core.explainers.shared.ablated import ablation_cost, ablation_scores
from heval_core.explainers.shared.base import CleanPass
from heval_core.lm import rules
from heval_core.records import Cost, Target

RULES = {"attnlrp": rules.ATTNLRP, "cgim": rules.CGIM}
PARTS = (*RULES, "gxi", "fa")


def part_scores(part: str, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
    """Compute the scores of a part, (B, n). part: one of PARTS. Raises HEvalError where its rules do not hold."""
    if part == "fa":
        return ablation_scores(clean, targets)
    if part == "gxi":
        return clean.lm.gradients.times_input(clean.ids, targets).cpu().numpy()
    return clean.relevance(RULES[part], targets, part == "cgim").cpu().numpy()


def cost_of(part: str, tokens: float) -> Cost:
    """Return the cost: what a part costs for one prompt of `tokens` tokens."""
    if part == "fa":
        return ablation_cost(tokens)
    return Cost(2, 2 * tokens) if part == "gxi" else rules.cost(tokens)
