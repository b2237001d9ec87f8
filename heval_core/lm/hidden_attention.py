"""Attention hidden: from some position on, nothing attends to some earlier ones, in any layer and head.

Formula: the scores of hidden keys are -inf before the softmax. The model runs as always over a kept prefix; each layer's own
mask loses the hidden keys, and stays as it is elsewhere. So windows and chunks hold, and soft caps, ALiBi and keys that heads
share, of which a mask knows nothing, need nothing. A token always sees itself.
Reference: attention knockout, Geva et al. 2023 (arXiv 2304.14767). Departure: in all layers, not in a window of them.
Cost: a pass over the tokens from which keys are hidden.
Checked once, on eight tokens: with nothing hidden the logits are the model's, and what stands at a hidden position changes
nothing. A model that fails is refused by name.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch

from heval_core.lm.facts import ModelFacts
from heval_core.lm.forward import Forward, Prefix
from heval_core.lm.needs import lacks, require
from heval_core.lm.read_out import largest_difference, may_differ
from heval_core.records import HEvalError, Span

NEED = "hidden attention"
MASK = "attention_mask"
# The number of a prompt of a pass; the positions that are hidden; and from which position on they are.
Query = tuple[int, Span, int]


class HiddenAttention:
    """Passes of one model with attention hidden. Raises HEvalError for a model in which it cannot be."""

    def __init__(self, facts: ModelFacts, forward: Forward):
        self._facts, self._forward = facts, forward

    def last_logits(self, prefix: Prefix, ids: torch.Tensor, queries: Sequence[Query]) -> torch.Tensor:
        """Compute the logits of the last position with keys hidden, (b, V) float32, for each of b queries.

        prefix: of the clean pass over (B, n) ids.
        """
        if self.refusal is not None:
            raise self.refusal
        return self._passed(prefix, ids, queries)

    @torch.no_grad()
    def _passed(self, prefix: Prefix, ids: torch.Tensor, queries: Sequence[Query]) -> torch.Tensor:
        prompts, start = [row for row, *_ in queries], min(since for *_, since in queries)
        keys = torch.arange(ids.shape[1], device=ids.device)
        tokens = keys[start:, None]
        masks = [(keys >= span.start) & (keys < span.end) & (tokens >= since) & (keys < tokens) for _, span, since in queries]
        with self._hiding(torch.stack(masks)[:, None], (keys <= tokens)[None, None]):
            logits = self._forward.suffix_logits(prefix, start, ids[prompts, start:], (-1,), prompts)
        return self._forward.checked(logits)[:, 0]

    @contextmanager
    def _hiding(self, hidden: torch.Tensor, causal: torch.Tensor) -> Iterator[None]:
        """Hide keys from queries in each layer inside: (b, 1, q, k) bool. causal: what a layer without a mask sees."""

        def changed(layer: torch.nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any]:
            call = inspect.signature(layer.forward).bind(*inputs, **options)
            states, mask = next(iter(call.arguments.values())), call.arguments.get(MASK)
            mask, rows = causal if mask is None else mask, hidden[: len(states)]
            if not isinstance(mask, torch.Tensor) or mask.ndim != 4 or mask.shape[-2:] != rows.shape[-2:]:
                raise lacks(self._facts, NEED, "gives its layers no mask of queries and keys")
            call.arguments[MASK] = mask & ~rows if mask.dtype == torch.bool else mask.masked_fill(rows, float("-inf"))
            return call.args, call.kwargs

        handles = [layer.register_forward_pre_hook(changed, with_kwargs=True) for layer in self._layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @property
    def _layers(self) -> Sequence[torch.nn.Module]:
        stacks = (module for module in self._facts.model.modules() if isinstance(module, torch.nn.ModuleList))
        layers = next((stack for stack in stacks if len(stack) == self._facts.layers), None)
        if layers is None or not all(MASK in inspect.signature(layer.forward).parameters for layer in layers):
            raise lacks(self._facts, NEED, "has no layers that take an attention mask")
        return layers

    @cached_property
    def refusal(self) -> HEvalError | None:
        """Why this model's attention cannot be hidden; None where it can."""
        try:
            self._check()
        except HEvalError as error:
            return error
        return None

    def _check(self) -> None:
        require(self._facts, ("softmax attention",))
        ids = torch.arange(1, 9, device=self._facts.device).repeat(2, 1)
        ids[1, 3] = 9
        _, prefix = self._forward.clean(ids)
        # A suffix's first pass tries how the model can be read, before any layer is hooked.
        plain = self._forward.suffix_logits(prefix, 4, ids[:, 4:], (-1,), (0, 1))[:, 0]
        for span, expected in ((Span(0, 0), plain), (Span(3, 4), None)):
            logits = self._passed(prefix, ids, [(0, span, 4), (1, span, 4)])
            share = largest_difference(logits, logits.flip(0) if expected is None else expected)
            if not share <= may_differ(self._facts.model.dtype):
                raise lacks(self._facts, NEED, f"still sees what is hidden, or sees less: its logits differ by {share:.2%}")
