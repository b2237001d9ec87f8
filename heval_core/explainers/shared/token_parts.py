"""The scores by which `origin` shares out what a document gives: those of an explainer of single tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from heval_core.explainers.shared.ablated import ablation_cost, ablation_scores
from heval_core.lm import rules
from heval_core.records import Cost, Target

if TYPE_CHECKING:
    import numpy as np

    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.model import LanguageModel

    Scores = Callable[[CleanPass, Sequence[Target]], np.ndarray]

PARTS = ("attnlrp", "cgim", "gxi", "fa")


def token_part(part: str, lm: LanguageModel) -> Scores:
    """A pass and its targets ▶ (B, n) scores. part: one of PARTS. Raises HEvalError where its rules do not hold.

    What is made once per model is made here, so that it is no part of a prompt's seconds.
    """
    if part == "fa":
        return ablation_scores
    if part == "gxi":
        return lambda clean, targets: lm.gradients.times_input(clean.ids, targets).cpu().numpy()
    contrast, rule = part == "cgim", rules.CGIM if part == "cgim" else rules.ATTNLRP
    lm.changed_backward.under(rule)
    return lambda clean, targets: clean.relevance(rule, targets, contrast).cpu().numpy()


def cost_of(part: str, tokens: float) -> Cost:
    """What a part costs for one prompt of `tokens` tokens."""
    if part == "fa":
        return ablation_cost(tokens)
    return Cost(2, 2 * tokens) if part == "gxi" else rules.cost(tokens)
