"""Attention of the last layer's head that contributes most to the answer's logit.

Formula (Sun et al. 2025, eq. 9-10): scores = row gen of A^{L,h*}, the chosen head's attention from the last prompt
position. Head choice (our decision; origin: the SpanEx code that the paper cites), `score="slice"`: cut the last decoder
layer's d-long output at gen, before the final norm, and the row W_U[a], into H slices of d/H; h* = the slice with the
largest dot product. If d % H is not 0, `head_output` is used: the head's own contribution <W_U[a], z^{L,h} W_O^{L,h}>.
Reference: Sun et al., arXiv 2510.02629.
Departure: from the paper's text, by which a token's attention is averaged over later queries; the default is its eq. 10, by
which it is not. Options: `score="head_output"`; `row="mean"`, the head's attention to each token averaged over that token and
all later queries (as that text says); this forms n x n patterns. For a target of several tokens, dot products are summed over
its positions, and rows averaged. A pruned head, whose slice other parts of the layer fill, is never chosen.
Cost: one pass with hooks over the last token, shared with mechlight; `row="mean"` one over the whole prompt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heval_core.explainers.shared.base import ReadsHeads
from heval_core.lm.shared_passes import CLEAN
from heval_core.records import Cost, Target

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass
    from heval_core.lm.heads import HeadReading

SCORES = ("slice", "head_output")
ROWS = ("last", "mean")


@dataclass(frozen=True)
class Attention(ReadsHeads):
    score: str = "slice"
    row: str = "last"

    key = "attn"
    title = "Attention"
    signed = False
    family = "attention"
    default = True
    order = 4
    reference = "Sun et al. 2025, eq. 9-10 (arXiv 2510.02629)"
    choices = (("score", "head score", SCORES), ("row", "row", ROWS))

    def cost(self, tokens: float) -> Cost:
        """Return the cost: the clean pass, and one over the last token with hooks, or over the whole prompt."""
        return super().cost(tokens) if self.row == "last" else Cost(2, 2 * tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        from heval_core.lm.heads import working

        last = clean.lm.layers - 1
        votes = sum(
            self._votes(clean, reading, [target.ids[index] for target in targets])
            for index, reading in enumerate(clean.heads_of(targets))
        )
        heads = votes.masked_fill(~working(clean.lm, (last,)), -math.inf).argmax(-1).tolist()
        attention = clean.attention_of(targets, last) if self.row == "last" else clean.lm.heads.column_means(clean.ids)
        extras = [{"layer": last, "head": head} for head in heads]
        return attention[list(range(clean.size)), heads], extras

    def _votes(self, clean: CleanPass, reading: HeadReading, token_ids: list[int]) -> torch.Tensor:
        """Compute how strongly each head of the last layer supports each prompt's token at one position, (B, H)."""
        lm = clean.lm
        if self.score == "head_output" or lm.width % lm.heads_per_layer:
            return lm.heads.logits(reading, token_ids)[:, -1]
        votes = reading.last_layer * lm.read_out.unembeddings(token_ids)
        return votes.view(clean.size, lm.heads_per_layer, -1).sum(-1)


PLUGIN = Attention()
