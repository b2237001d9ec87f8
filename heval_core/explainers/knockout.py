"""Attention knockout: what the answer loses when nothing later may attend to a sentence.

Formula (ours): E_u = D_a - max(0, D_b) for every token of unit u, 0 elsewhere, with D_t = log p(t | x) - log p(t | x with u
hidden): in all layers and heads the scores of u's tokens are -inf for every token behind u; u itself stays as it is. Without a
competitor E_u = D_a; log-probabilities of several tokens are summed.
Reference: ours, after attention knockout (Geva et al. 2023, arXiv 2304.14767), which traces information and scores no tokens.
Departure: from theirs: all layers, not a window of them. From `document`: nothing is deleted, so no token moves.
Option `unit`: what is hidden, each sentence or each word of the documents. Where no documents are marked, what precedes the
question's last sentence stands for them; the question gets no score.
Cost: the clean pass, and one pass for each unit over the tokens behind it; units with equally many behind them run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.explainers.shared.left_out import lead, logprobs_at, scores_of, units_of_each
from heval_core.explainers.shared.screened import TOKENS
from heval_core.lm.shared_passes import CLEAN
from heval_core.records import Cost, Target

if TYPE_CHECKING:
    from heval_core.prompting.units import Unit

UNITS = ("sentence", "word")


@dataclass(frozen=True)
class Knockout(Base):
    unit: str = "sentence"

    key = "knockout"
    title = "Attention knockout (ours)"
    family = "perturbation"
    needs = ("softmax attention",)
    order = 16
    choices = (("unit", "unit", UNITS),)
    reference = "ours, after Geva et al. 2023 (arXiv 2304.14767)"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: each pass runs half of the prompt on average."""
        passes = max(2, tokens / TOKENS) if self.unit == "sentence" else tokens * 0.7
        return Cost(1 + passes, (1 + passes / 2) * tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        parts = units_of_each(clean, targets, self.unit)
        pairs = [(row, unit) for row, in_prompt in enumerate(parts) for unit in in_prompt]
        whole = [answer.logprobs.sum(-1) for answer in logprobs_at(clean.logits_of(targets), targets)]
        lengths = [clean.length - unit.end for _, unit in pairs]

        def work(indices: list[int], _: int) -> list[np.ndarray]:
            return _logprobs_hidden(clean, targets, [pairs[index] for index in indices])

        hidden = iter(clean.lm.budget.longest_first(lengths, work, alike=True))
        lost = [[before - next(hidden) for _ in in_prompt] for in_prompt, before in zip(parts, whole, strict=True)]
        return scores_of(clean, parts, [lead(np.array(of_prompt).reshape(-1, 2)) for of_prompt in lost])


def _logprobs_hidden(clean: CleanPass, targets: Sequence[Target], hidden: Sequence[tuple[int, Unit]]) -> list[np.ndarray]:
    """Compute log p of a target's tokens and of its foils, (2,), with a unit hidden from all behind it.

    hidden: the number of a prompt, and a unit of it.
    """
    import torch

    queries = [(row, unit, unit.end) for row, unit in hidden]
    logits = [
        clean.lm.hidden_attention.last_logits(clean.prefix, clean.ids[:, : position % clean.length + 1], queries)
        for position in targets[0].positions
    ]
    return [answer.logprobs.sum(-1) for answer in logprobs_at(torch.stack(logits, 1), [targets[row] for row, _ in hidden])]


PLUGIN = Knockout()
