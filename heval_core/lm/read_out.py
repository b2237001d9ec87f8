"""The last step of a model in float32: states after the final norm, times the unembedding, plus its bias.

A bfloat16 model rounds its logits to eight bits: differences of two logits of about 20 come in steps of an eighth, so most
scores of feature ablation are tied or exactly 0. Its last states are as coarse, but a logit sums over all of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any

import torch

from heval_core.lm.facts import ModelFacts

# What two ways of one pass may differ by in float32, as a share of what they give.
SAME = 1e-4
# Rows of the unembedding that are float32 at a time: for a vocabulary of 152,000, all rows would take gigabytes.
BLOCK = 32_768


class _Product(torch.autograd.Function):
    """states @ weight.T in float32, one block of the vocabulary at a time, also in the backward pass."""

    @staticmethod
    def forward(ctx: Any, states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(weight)
        ctx.dtype = states.dtype
        wide = states.float()
        out = wide.new_empty((*states.shape[:-1], weight.shape[0]))
        for start in range(0, weight.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            out[..., rows] = wide @ weight[rows].float().T
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        (weight,), (grad,) = ctx.saved_tensors, grads
        at_states = grad.new_zeros((*grad.shape[:-1], weight.shape[1]))
        for start in range(0, weight.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            at_states += grad[..., rows] @ weight[rows].float()
        return at_states.to(ctx.dtype), None


def float32_logits(head: torch.nn.Linear, states: torch.Tensor) -> torch.Tensor:
    """Compute logits in float32: (…, d) states in the model's dtype ▶ (…, V); gradients flow to the states, not to the
    weights.
    """
    if head.weight.dtype == torch.float32:
        return torch.nn.functional.linear(states.float(), head.weight, head.bias)
    logits: torch.Tensor = _Product.apply(states, head.weight.detach())
    return logits if head.bias is None else logits + head.bias.float()


@contextmanager
def in_float32(head: torch.nn.Module) -> Iterator[None]:
    """Make a model with this unembedding give float32 logits inside; its scales and soft caps then apply to these."""
    if not isinstance(head, torch.nn.Linear) or head.weight.dtype == torch.float32 or "forward" in vars(head):
        yield  # nothing to change, or a caller has changed it already
        return
    head.forward = lambda states: float32_logits(head, states)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del head.forward  # the class's own again


@torch.no_grad()
def agrees(model: Any, head: torch.nn.Module) -> bool:
    """Check whether a model's logits inside `in_float32` are float32, and equal its plain logits up to its dtype's
    rounding.
    """
    if not isinstance(head, torch.nn.Linear):
        return False
    ids = torch.arange(1, 5, device=model.device)[None]
    plain = model(input_ids=ids, use_cache=False).logits.float()
    with in_float32(head):
        exact = model(input_ids=ids, use_cache=False).logits
    rounding = 4 * torch.finfo(model.dtype).eps * float(plain.abs().max())
    return exact.dtype == torch.float32 and bool((exact - plain).abs().max() <= rounding)


def largest_difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Measure how far two passes over the same prompts are apart: the largest share of the spread of what the second reads."""
    # Logits may all be equal: after a token whose embedding is zero, for instance.
    spread = (other - other.mean(-1, keepdim=True)).norm(dim=-1).clamp_min(torch.finfo(other.dtype).tiny)
    return float(((one - other).norm(dim=-1) / spread).max())


def may_differ(dtype: torch.dtype) -> float:
    """Return how far two passes may be apart.

    25 random architectures reach 2e-6 in float32 with hooks; in bfloat16, where two passes round differently, .06, and .14 if
    rounding sends a token to another expert.
    """
    return max(SAME, 25 * torch.finfo(dtype).eps)


class ReadOut:
    """From the last states of a model to its logits."""

    def __init__(self, facts: ModelFacts):
        self._facts, self._model = facts, facts.model

    @property
    def head(self) -> torch.nn.Module:
        """The unembedding."""
        head: torch.nn.Module = self._model.get_output_embeddings()
        return head

    def float32(self) -> AbstractContextManager[None]:
        """Make the model give float32 logits inside if it can (`is_float32`), else its plain ones."""
        return in_float32(self.head) if self.is_float32 else nullcontext()

    @cached_property
    def is_float32(self) -> bool:
        """Whether logits are computed in float32 from the last states. If not, they are as coarse as the model's dtype.

        They are not if the unembedding is no plain matrix, or if float32 logits differ from the plain ones beyond rounding.
        """
        return self._model.dtype == torch.float32 or agrees(self._model, self.head)

    @cached_property
    def is_plain(self) -> bool:
        """Whether logits are just the unembedding of the decoder's output (no soft cap, no scale)."""
        config = self._model.config.get_text_config()
        scales = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier", "output_multiplier")
        if any(getattr(config, name, None) not in (None, 1, 1.0) for name in scales) or not self._facts.keeps_prefix:
            return False
        if self._model.base_model is self._model:  # Llama 4's stack of layers has another name than its class says
            return False
        ids = torch.arange(1, 5, device=self._facts.device)[None]
        with torch.no_grad(), self.float32():
            states = self._model.base_model(input_ids=ids, use_cache=False).last_hidden_state[:, -1]
            whole = self._model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1]
            return torch.allclose(self.head(states), whole, rtol=1e-3, atol=1e-4)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Compute logits: (…, d) states of last positions ▶ (…, V) float32; gradients flow if enabled.

        Separate from `Forward.suffix_states`, because the unembedding is too large a matrix to read for a few rows.
        """
        if not self.is_plain:
            return states.float()
        with self.float32():
            return torch.as_tensor(self.head(states)).float()

    def uncapped(self, logits: torch.Tensor) -> torch.Tensor:
        """Undo a final soft cap c tanh(z / c) on logits, if the model has one: their order is the same."""
        cap = getattr(self._model.config.get_text_config(), "final_logit_softcapping", None)
        return logits if cap is None else cap * torch.atanh(logits / cap)

    def unembeddings(self, token_ids: Sequence[int]) -> torch.Tensor:
        """Return (B, d) raw rows of W_U, float32."""
        weight: torch.Tensor = self.head.weight  # type: ignore[assignment]
        return weight[list(token_ids)].detach().float()
