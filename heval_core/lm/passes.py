"""Passes as they are made: what an explainer really asks of a model, beside what it declares.

Each block of each pass over some tokens counts them; a pass through all blocks over all tokens of a prompt is one. A pass that
is recorded for a gradient counts twice, as its backward pass does as much work again. Head directions, regressions and other
arithmetic beside the blocks are no passes: seconds tell of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from heval_core.lm.model import LanguageModel


@dataclass
class Counted:
    """tokens: those that went through all blocks, backward passes too."""

    tokens: float = 0.0

    def passes(self, prompts: int, length: int) -> float:
        """Whole passes for each of some prompts of one length."""
        return self.tokens / (prompts * length)


@contextmanager
def counting(lm: LanguageModel) -> Iterator[Counted]:
    """Counts what goes through the model, and through copies of it with other backward rules, until the end of the context."""
    layers = next(m for m in lm.model.modules() if isinstance(m, torch.nn.ModuleList) and len(m) == lm.layers)
    block, counted = type(layers[0]), Counted()

    def count(module: torch.nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(module, block):
            states = output[0] if isinstance(output, tuple) else output
            times = 2 if torch.is_grad_enabled() and states.requires_grad else 1
            counted.tokens += times * states.shape[0] * states.shape[1] / lm.layers

    with torch.nn.modules.module.register_module_forward_hook(count):
        yield counted
