"""Pruned heads: for a while, the rows of the output matrix that belong to some heads are zero.

This is an edit of the weights, which the plain model and the one with hooks share, so that everything downstream sees it:
passes, generation, gradients, explanations. A pruned head still attends, but writes nothing.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch
from transformers.pytorch_utils import Conv1D

from heval_core.lm.facts import ModelFacts
from heval_core.lm.hooks import Hooked
from heval_core.lm.needs import lacks
from heval_core.records import HEvalError, head_name


class Pruning:
    """The heads of one model, some of which may be made to write nothing."""

    def __init__(self, facts: ModelFacts, hooked: Hooked):
        self._facts, self._hooked = facts, hooked

    def unit(self, layer: int, head: int) -> tuple[tuple[int, int], ...]:
        """Return the query heads that share keys and values with this one, itself among them."""
        size = self._facts.heads_per_layer // self._facts.kv_heads
        first = head // size * size
        return tuple((layer, other) for other in range(first, first + size))

    @contextmanager
    def without(self, heads: Collection[tuple[int, int]]) -> Iterator[None]:
        """Silence some heads inside, besides those that are pruned already; `facts.pruned` names all of them.

        Afterwards every weight is bit by bit as before, whatever happened inside. Raises HEvalError for a head that does not
        exist, and for a model whose output matrices cannot be cut into heads.
        """
        facts, before = self._facts, self._facts.pruned
        for layer, head in heads:
            if not (0 <= layer < facts.layers and 0 <= head < facts.heads_per_layer):
                raise HEvalError(f"{facts.key} has no head {head_name(layer, head)}.")
        rows = [self._rows(layer, head) for layer, head in sorted(set(heads))]
        saved = [weight.clone() for weight in rows]
        try:
            with torch.no_grad():
                for view in rows:
                    view.zero_()
            facts.pruned = before | frozenset(heads)
            yield
        finally:
            facts.pruned = before
            with torch.no_grad():
                for view, values in zip(rows, saved, strict=True):
                    view.copy_(values)

    def _rows(self, layer: int, head: int) -> torch.Tensor:
        """Return a view into the weight that projects one head's output: (d_h, d), or (d, d_h) as the module stores it."""
        matrices = [block.attn.o.original_component for block in self._hooked.bridge.blocks]
        module = matrices[layer]
        whole = isinstance(module, (Conv1D, torch.nn.Linear)) and self._is_read(module.weight)
        if not whole or sum(other.weight is module.weight for other in matrices) > 1:
            raise lacks(self._facts, "heads", "has no output matrix of its own in each layer, so its heads cannot be pruned")
        weight = module.weight.detach() if isinstance(module, Conv1D) else module.weight.detach().T
        width = weight.shape[0] // self._facts.heads_per_layer
        return weight[head * width : (head + 1) * width]

    def _is_read(self, weight: torch.Tensor) -> bool:
        """Return whether the plain model reads this very weight, in floating point."""
        return weight.is_floating_point() and any(weight is parameter for parameter in self._facts.model.parameters())
