"""The model's logits when something is ablated: tokens of the prompt, or heads."""

from collections.abc import Sequence
from typing import Any

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.lm.hooks import Hooked
from heval_core.records import HEvalError, Span

WAYS = ("zero", "mean")


class Ablation:
    """Passes of one model with some spans of tokens, or some heads, ablated."""

    def __init__(self, facts: ModelFacts, forward: Forward, hooked: Hooked):
        self._facts, self._forward, self._hooked = facts, forward, hooked

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

    @torch.no_grad()
    def heads(self, ids: torch.Tensor, heads: Sequence[tuple[int, int]], how: str = "zero") -> torch.Tensor:
        """Logits at the last position of (1, n) ids without one head at a time: (len(heads), V) float32.

        how: the head's output becomes 0 at every position (`zero`), or its mean over the prompt's positions (`mean`). Raises
        HEvalError for any other value, a head that does not exist, or a model without softmax attention.
        """
        facts, names = self._facts, self._hooked.output_names
        if how not in WAYS:
            raise HEvalError(f"Heads cannot be ablated by {how!r}; the ways are: {', '.join(WAYS)}.")
        for layer, head in heads:
            if not (0 <= layer < facts.layers and 0 <= head < facts.heads_per_layer):
                raise HEvalError(f"{facts.key} has no head L{layer}H{head}.")

        def without(tensor: torch.Tensor, hook: Any) -> torch.Tensor:
            hooked_layer = names.index(hook.name)
            outputs = tensor.reshape(*tensor.shape[:2], facts.heads_per_layer, -1).clone()
            for row, (layer, head) in enumerate(heads):
                if layer == hooked_layer:
                    outputs[row, :, head] = 0 if how == "zero" else outputs[row, :, head].mean(0)
            return outputs.reshape(tensor.shape)

        rows = ids.expand(len(heads) + 1, -1)  # the last one keeps all its heads
        logits = self._hooked.run(rows, [(name, without) for name in names], 0, use_cache=False)
        self._hooked.check_same(logits[-1:], self._forward.logits(ids))
        return logits[:-1]
