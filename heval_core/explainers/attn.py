"""Attention of the last layer's head that speaks most for the answer.

Formula (Sun et al. 2025, eq. 9-10): scores = row gen of A^{L,h*}, the chosen head's attention from the last prompt
position. Head choice (decision; origin: the SpanEx code that the paper cites), `score="slice"`: cut the last decoder
layer's d-long output at gen, before the final norm, and the row W_U[a], into H slices of d/H; h* = the slice with the
largest dot product. Needs d % H = 0, else `head_output`, the head's own contribution <W_U[a], z^{L,h} W_O^{L,h}>.
Reference: Sun et al., arXiv 2510.02629.
Departure: none by default. Option `score="head_output"`.
Cost: one forward pass with hooks, shared with mechlight.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heval_core.records import Attribution, Contrast, HEvalError

if TYPE_CHECKING:
    import torch

    from heval_core.lm.model import CleanPass

SCORES = ("slice", "head_output")


@dataclass(frozen=True)
class Attention:
    score: str = "slice"

    key = "attn"
    title = "Attention"
    signed = False
    control = False
    reference = "Sun et al. 2025, eq. 9-10 (arXiv 2510.02629)"

    def explain(self, clean: CleanPass, contrast: Contrast) -> Attribution:
        started = time.perf_counter()
        votes = self._votes(clean, contrast.target)
        head, layer = int(votes.argmax()), clean.lm.layers - 1
        return Attribution(
            self.key,
            clean.heads.attention[layer, head].cpu().numpy(),
            time.perf_counter() - started,
            repr(self),
            layer=layer,
            head=head,
        )

    def _votes(self, clean: CleanPass, token_id: int) -> torch.Tensor:
        """(H,) how much each head of the last layer speaks for a token."""
        if self.score not in SCORES:
            raise HEvalError(f"attn has no head score {self.score!r}; there are: {', '.join(SCORES)}.")
        lm = clean.lm
        if self.score == "head_output" or lm.width % lm.heads_per_layer:
            return lm.head_logits(clean.heads, token_id)[-1]
        slices = (lm.heads_per_layer, lm.width // lm.heads_per_layer)
        return (clean.heads.last_layer.view(slices) * lm.unembedding(token_id).view(slices)).sum(-1)


PLUGIN = Attention()
