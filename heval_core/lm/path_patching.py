"""Path patching of single heads: how much an answer depends on what one head writes at the last position.

The head's z at the last position becomes that of a twin prompt, or 0. Every other z stays as in the clean run, at every
position, so nothing changes but the last position's residual stream from that head on; MLPs and norms read what it has become.
As z is given, no attention is computed: a patched run is a pass over one token, without the keys and values of those before
it. So rows of different prompts, layers and heads share a batch, and a head costs about 1/n of a forward of n tokens.

Cost: one clean pass over each prompt and its twin, then one token for each head and prompt.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward
from heval_core.lm.heads import Heads
from heval_core.lm.hooks import Hooked
from heval_core.records import TokenisedPrompt

# A row is one token, but brings a logit for each word: it takes as much of the budget as a short prompt.
ROW_TOKENS = 16
UNPATCHED = -1


@dataclass(frozen=True, eq=False)
class LastPositions:
    """P prompts at their last positions. ids: (P, 1) tokens; positions: (P, 1), from 0.

    outputs: (P, L, H, d_h), every head's z before the output projection; logits: (P, V). Both float32.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    outputs: torch.Tensor
    logits: torch.Tensor


class PathPatching:
    """Patched passes of one model. Raises HEvalError for a model whose heads cannot be read."""

    def __init__(self, facts: ModelFacts, forward: Forward, hooked: Hooked, heads: Heads):
        self._facts, self._forward, self._hooked, self._heads = facts, forward, hooked, heads

    @torch.no_grad()
    def last_positions(self, prompts: Sequence[TokenisedPrompt]) -> LastPositions:
        """Run one clean pass over prompts of any lengths, those of equal length together; their order is kept."""

        def work(numbers: list[int], _: int) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
            ids = torch.tensor([prompts[number].ids for number in numbers], device=self._facts.device)
            logits, prefix = self._forward.clean(ids)
            outputs = self._heads.read(ids, prefix).outputs
            return zip(outputs, self._forward.checked(logits), strict=True)

        each = self._facts.budget.longest_first([len(prompt.ids) for prompt in prompts], work, alike=True)
        outputs, logits = map(torch.stack, zip(*each, strict=True))
        ends = torch.tensor([[prompt.ids[-1], len(prompt.ids) - 1] for prompt in prompts], device=self._facts.device)
        return LastPositions(ends[:, :1], ends[:, 1:], outputs, logits)

    @torch.no_grad()
    def effects(self, clean: LastPositions, others: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """Compute log P(token) in the clean run less that with one head patched: (P, L, H, T) float32, in nats.

        others: (P, L, H, d_h), every head's z as it is patched in: `outputs` of a twin prompt, or 0. token_ids: (P, T).
        Raises HEvalError if the model with frozen heads, but none patched, gives other logits than it does by itself.
        """
        size, layers, heads = clean.outputs.shape[:3]
        rows = [(prompt, UNPATCHED, 0) for prompt in range(size)]
        rows += [(p, layer, head) for p in range(size) for layer in range(layers) for head in range(heads)]

        def work(indices: list[int], _: int) -> torch.Tensor:
            prompts, row_layers, row_heads = torch.tensor([rows[p] for p in indices], device=self._facts.device).unbind(1)
            logits = self._frozen(clean, others, prompts, row_layers, row_heads)
            unpatched = row_layers == UNPATCHED
            if unpatched.any():
                self._hooked.check_same(logits[unpatched], clean.logits[prompts[unpatched]])
            return (logits.gather(1, token_ids[prompts]) - logits.logsumexp(-1, keepdim=True)).cpu()

        differences = torch.stack(self._facts.budget.longest_first([ROW_TOKENS] * len(rows), work))
        return differences[:size, None, None] - differences[size:].view(size, layers, heads, -1)

    def _frozen(
        self, clean: LastPositions, others: torch.Tensor, prompts: torch.Tensor, layers: torch.Tensor, heads: torch.Tensor
    ) -> torch.Tensor:
        """Compute the logits, (b, V), of rows that each have every z of a prompt's clean run, but for that of one layer's
        head.
        """
        names = self._hooked.output_names

        def given(tensor: torch.Tensor, hook: Any) -> torch.Tensor:
            layer = names.index(hook.name)
            outputs = clean.outputs[prompts, layer]
            patched = (layers == layer).nonzero()[:, 0]
            outputs[patched, heads[patched]] = others[prompts[patched], layer, heads[patched]]
            return outputs.to(tensor.dtype).reshape(tensor.shape)

        hooks, at = [(name, given) for name in names], clean.positions[prompts]
        return self._hooked.run(clean.ids[prompts], hooks, 0, at, use_cache=False)
