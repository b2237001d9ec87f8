"""Attention rollout: how much of each token reaches the last position by attention through all layers.

Formula (Abnar & Zuidema 2020, eq. 1): the row of the position where the answer is read in R = A_L … A_1, with A_l =
(W_l + I) / 2 and W_l layer l's attention, (n, n), averaged over its heads. For a target of several tokens rows are averaged.
Reference: Abnar & Zuidema 2020 (arXiv 2005.00928). It is the same for every answer.
Departure: rows of a causal model, where the paper reads the token that classifies. Pruned heads count in no average, and a
layer without any other has A = I.
Cost: the clean pass, and one over the whole prompt that forms all patterns. Memory: the patterns of one layer, H n², and the
averages of all, L n², for some prompts at a time, as ALTI-Logit's; a prompt for which they are too large is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.lm.shared_passes import CLEAN
from heval_core.records import Cost, Target

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Rollout(Base):
    key = "rollout"
    title = "Attention rollout"
    signed = False
    family = "attention"
    needs = ("softmax attention", "heads")
    order = 17
    reference = "Abnar & Zuidema 2020 (arXiv 2005.00928)"

    def cost(self, tokens: float) -> Cost:
        return Cost(2, 2 * tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        import torch

        from heval_core.lm.roll_back import PATTERNS
        from heval_core.lm.targets import positions_of

        n, positions = clean.length, positions_of(targets)
        row = torch.zeros(n, device=clean.lm.device)
        for position in positions:
            row[position % n] += 1 / len(positions)
        together = max(1, PATTERNS // (clean.lm.heads_per_layer * n * n))
        blocks = [slice(start, start + together) for start in range(0, clean.size, together)]
        return torch.cat([rolled(row.expand(len(clean.ids[rows]), -1), _averages(clean, rows)) for rows in blocks])


def rolled(rows: torch.Tensor, patterns: Iterable[torch.Tensor]) -> torch.Tensor:
    """Roll (b, n) weights of positions back to the tokens: (b, n). patterns: each layer's W, (b, n, n), the last one first."""
    for pattern in patterns:
        rows = ((rows[:, None] @ pattern)[:, 0] + rows) / 2
    return rows


def _averages(clean: CleanPass, rows: slice) -> list[torch.Tensor]:
    """Compute W of each layer of some prompts, (b, n, n) float32, the last layer first; I where all heads are pruned."""
    import torch

    from heval_core.lm.heads import working

    lm, averages = clean.lm, list[torch.Tensor]()

    def average(pattern: torch.Tensor, hook: Any) -> None:
        heads = alive[len(averages)]
        identity = torch.eye(pattern.shape[-1], device=pattern.device).expand(len(pattern), -1, -1)
        averages.append(pattern[:, heads].float().mean(1) if heads.any() else identity)

    alive = working(lm)
    hooks = [(name, average) for name in lm.hooked.pattern_names]
    with torch.no_grad():
        logits = lm.hooked.run(clean.ids[rows], hooks, 0, use_cache=False)
    lm.hooked.check_same(logits, clean.logits[rows])
    return averages[::-1]


PLUGIN = Rollout()
