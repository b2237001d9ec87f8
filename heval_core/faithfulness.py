"""Faithfulness: does the answer need the tokens an explanation points at, and are they enough?

Formula (Sun et al. 2025, A.24-A.25; DeYoung et al. 2020): comprehensiveness = mean over K of log p(a|x) - log p(a|x with the
k best tokens masked); sufficiency = mean over K of log p(a|x) - log p(a|x with only the k best tokens kept). In nats of the
answer's first token. Higher comprehensiveness and lower sufficiency are better.
K: 1 to 5 tokens for prompts under 64 tokens, else 1 % to 5 % of them, rounded up. Mask: the token that fa ablates with. The
best tokens are those with the highest scores, of equal ones the earlier; a BOS is neither ranked nor masked.
Reference: arXiv 2510.02629. Option `protect_question`: the question is never masked, and its tokens are not among the best.
Departure: the paper's Table B.3 has values up to 2,500, which log-probabilities of single tokens cannot reach; ours must
not be compared with them. Chance: what the random control gets on the same instances.
Cost: 2 |K| = 10 forward passes over the prompt per explainer, prompts of equal length together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heval_core.metrics.comprehensiveness import aopc

if TYPE_CHECKING:
    import torch

    from heval_core.lm.model import CleanPass
    from heval_core.records import TokenisedPrompt

LEVELS = 5
SHORT = 64


class Faithful(NamedTuple):
    """Of one prompt, in nats. masked, kept: the loss of log-probability at each level of K, whose means they are."""

    comprehensiveness: float
    sufficiency: float
    masked: tuple[float, ...]
    kept: tuple[float, ...]


def levels(tokens: int) -> tuple[int, ...]:
    """How many tokens are masked or kept, for a prompt of so many.

    >>> levels(40), levels(150)
    ((1, 2, 3, 4, 5), (2, 3, 5, 6, 8))
    """
    if tokens < SHORT:
        return tuple(range(1, LEVELS + 1))
    return tuple(math.ceil(tokens * percent / 100) for percent in range(1, LEVELS + 1))


@dataclass(frozen=True)
class Faithfulness:
    protect_question: bool = False

    def measure(self, clean: CleanPass, targets: Sequence[int], scores: Sequence[np.ndarray]) -> list[Faithful]:
        """What every prompt of a clean pass loses. targets: (B,) the answers' first tokens. scores: B of (n,)."""
        import torch

        lm, sizes = clean.lm, levels(clean.length)
        changed = torch.stack(
            [self._changed(clean, index, own, sizes) for index, own in enumerate(scores)]
        )  # (B, 2 |K|, n)
        wanted = torch.tensor(list(targets), device=lm.device)
        before = clean.logits.log_softmax(-1).gather(1, wanted[:, None])
        rows, answers = changed.flatten(0, 1), wanted.repeat_interleave(changed.shape[1])
        size = max(1, lm.batch_tokens // clean.length)
        after = torch.cat(
            [
                lm.logits(rows[start : start + size]).log_softmax(-1).gather(1, answers[start : start + size, None])
                for start in range(0, len(rows), size)
            ]
        ).view(clean.size, -1)
        return [_faithful(lost) for lost in (before - after).cpu().numpy().astype(np.float64)]

    def _changed(self, clean: CleanPass, index: int, scores: np.ndarray, sizes: tuple[int, ...]) -> torch.Tensor:
        """(2 |K|, n) ids of one prompt: the k best masked for every k, then all but the k best."""
        import torch

        ids = clean.ids[index]
        free = torch.from_numpy(self._free(clean.prompts[index])).to(ids.device)
        best = self.best(clean.prompts[index], scores)
        rows = []
        for keep in (False, True):
            for size in sizes:
                chosen = torch.zeros_like(free)
                chosen[torch.from_numpy(best[:size].copy()).to(ids.device)] = True
                masked = free & ~chosen if keep else chosen
                rows.append(torch.where(masked, torch.full_like(ids, clean.lm.baseline_id), ids))
        return torch.stack(rows)

    def _free(self, prompt: TokenisedPrompt) -> np.ndarray:
        """(n,) bool: the tokens that may be masked."""
        free = np.arange(len(prompt.ids)) >= prompt.first_ranked
        if self.protect_question:
            free[prompt.question.start : prompt.question.end] = False
        return free

    def best(self, prompt: TokenisedPrompt, scores: np.ndarray) -> np.ndarray:
        """Indices of the tokens that may be masked, the highest score first, of equal scores the earlier."""
        candidates = np.flatnonzero(self._free(prompt))
        return candidates[np.argsort(-np.asarray(scores)[candidates], kind="stable")]


def _faithful(lost: np.ndarray) -> Faithful:
    masked, kept = lost.reshape(2, -1)
    return Faithful(float(aopc(0.0, -masked)), float(aopc(0.0, -kept)), tuple(masked.tolist()), tuple(kept.tolist()))
