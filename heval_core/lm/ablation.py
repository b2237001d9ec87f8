"""The model's states when tokens of the prompt are ablated."""

from collections.abc import Sequence

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.records import Span


class Ablation:
    """Passes of one model with some spans of tokens ablated."""

    def __init__(self, facts: ModelFacts, forward: Forward):
        self._facts, self._forward = facts, forward

    @torch.no_grad()
    def spans(
        self, ids: torch.Tensor, prefix: Prefix, spans: Sequence[Span], token_id: int, positions: Sequence[int] = (-1,)
    ) -> torch.Tensor:
        """(B, len(spans), P, …) states at some positions, for `ReadOut.logits`, with one span of tokens replaced at a time.

        ids: (B, n); prefix: kept from the clean pass over them; token_id: the replacement. The tokens before the
        first span and the first position are not run again.
        """
        read = [position % ids.shape[1] for position in positions]
        kept = min(*(span.start for span in spans), *read) if self._facts.keeps_prefix else 0
        suffixes = ids[:, None, kept:].repeat(1, len(spans), 1)
        for row, span in enumerate(spans):
            suffixes[:, row, span.start - kept : span.end - kept] = token_id
        states = self._forward.suffix_states(prefix, kept, suffixes.flatten(0, 1), positions)
        return states.view(len(ids), len(spans), len(positions), -1)
