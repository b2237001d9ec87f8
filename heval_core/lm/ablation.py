"""The model's logits when something is ablated: tokens of the prompt, or heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.lm.hooks import Hooked
from heval_core.records import HEvalError

WAYS = ("zero", "mean")


class Ablation:
    """Passes of one model with some tokens or heads ablated."""

    def __init__(self, facts: ModelFacts, forward: Forward, hooked: Hooked):
        self._facts, self._forward, self._hooked = facts, forward, hooked

    def tokens(self, ids: torch.Tensor, prefix: Prefix, block: range, token_id: int) -> torch.Tensor:
        """(B, len(block), …) last states, for `ReadOut.logits`, with the positions of a block replaced one at a time.

        ids: (B, n); prefix: kept from the clean pass over them; token_id: the replacement. The tokens before the block are
        not run again.
        """
        kept = block.start if self._facts.keeps_prefix else 0
        suffixes = ids[:, None, kept:].repeat(1, len(block), 1)
        for row, position in enumerate(block):
            suffixes[:, row, position - kept] = token_id
        states = self._forward.suffix_states(prefix, kept, suffixes.flatten(0, 1))
        return states.view(len(ids), len(block), -1)

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
