"""Softmax attention whose backward pass follows `Rules`, through the library's own interface for attention.

Formula: S = scale Q K^T, masked; P = softmax(S); O = P V, all as the library computes them. Backwards, with G = d z / d O:
V gets `values` x P^T G; S gets P_T (G V^T - rowsum(P_T G V^T)) with P_T = softmax(S / temperature), as GIM's published code
has it (without a further factor 1 / temperature); Q and K get `query_key` x scale x that times K and Q. Where scores have a
soft cap (Gemma 2), S = f(scale Q K^T) with f(x) = c tanh(x / c), and what S gets is passed on times the detached f(x) / x, as
at an activation.
Cost: forward as the plain model's, with a soft cap in blocks of heads; P is computed again backwards, in blocks of heads, so
that nothing of size n² is kept.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from heval_core.lm.changed_modules import NEARLY_ZERO
from heval_core.lm.rules import Rules

# Numbers of one block of patterns: 1 GiB in float32.
BLOCK = 2**28
# What some attention adds to its scores; the rules say nothing of it.
UNKNOWN = ("s_aux", "position_bias")


def registered(rules: Rules) -> str:
    """Register attention under these rules. Returns its name, for `set_attn_implementation`."""
    name = f"heval_rules_{rules.query_key}_{rules.values}_{rules.temperature}"
    AttentionInterface.register(name, partial(_attend, rules=rules))
    AttentionMaskInterface.register(name, sdpa_mask)
    return name


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    rules: Rules,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention as the interface wants it: (B, H, n, d_h) queries, (B, KV, n, d_h) keys and values ▶ (B, n, H, d_h).

    Raises ValueError for attention that the rules do not know.
    """
    for name in UNKNOWN:
        if options.get(name) is not None:
            raise ValueError(f"its attention has a {name}, of which the rules say nothing")
    return _Attention.apply(query, key, value, attention_mask, module, options, rules), None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        module: torch.nn.Module,
        options: dict[str, Any],
        rules: Rules,
    ) -> torch.Tensor:
        cap, is_causal = options.pop("softcap", None), options.get("is_causal")
        ctx.causal = mask is None and (getattr(module, "is_causal", True) if is_causal is None else is_causal)
        scale = options.get("scaling")
        ctx.save_for_backward(query, key, value, mask)
        ctx.rules, ctx.scale, ctx.cap = rules, query.shape[-1] ** -0.5 if scale is None else scale, cap
        if cap is None:
            return sdpa_attention_forward(module, query, key, value, mask, **options)[0]
        out = torch.empty_like(query)
        for key_heads, heads, seen in _blocks(query, value, mask, ctx.causal):
            keys, values = (_for_each(tensor[:, key_heads], query.shape[1] // value.shape[1]) for tensor in (key, value))
            pattern = _scores(query[:, heads], keys, seen, ctx.scale, cap)[0].softmax(-1)
            out[:, heads] = pattern.to(value.dtype) @ values
        return out.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, mask = ctx.saved_tensors
        out = grads[0].transpose(1, 2)
        at = tuple(torch.empty_like(tensor) for tensor in (query, key, value))
        for key_heads, heads, seen in _blocks(query, value, mask, ctx.causal):
            gradients = _passed_back(query[:, heads], key[:, key_heads], value[:, key_heads], seen, out[:, heads], ctx)
            for tensor, part, rows in zip(at, gradients, (heads, key_heads, key_heads), strict=True):
                tensor[:, rows] = part
        return *at, None, None, None, None


def _blocks(
    query: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, causal: bool
) -> Iterator[tuple[slice, slice, torch.Tensor | None]]:
    """Yield heads whose patterns are in memory together: key heads, query heads, and their mask."""
    batch, kv_heads, n = value.shape[:3]
    group = query.shape[1] // kv_heads
    if causal:
        mask = torch.ones(1, 1, n, n, dtype=torch.bool, device=query.device).tril()
    together = max(1, BLOCK // (batch * group * n * n))
    for start in range(0, kv_heads, together):
        heads = slice(start * group, (start + together) * group)
        # Only ALiBi and the like have a mask for each head.
        yield slice(start, start + together), heads, mask[:, heads] if mask is not None and mask.shape[1] > 1 else mask


def _for_each(tensor: torch.Tensor, group: int) -> torch.Tensor:
    """Repeat (B, KV, n, d_h) ▶ (B, H, n, d_h), one for each query head."""
    return tensor.repeat_interleave(group, 1)


def _scores(
    query: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor | None, scale: float, cap: float | None
) -> tuple[torch.Tensor, torch.Tensor | float]:
    """Compute (B, H, n, n) masked scores, float32, and what a soft cap multiplied them by."""
    scores, factor = (query @ keys.transpose(-1, -2)).float() * scale, 1.0
    if cap is not None:
        capped = cap * torch.tanh(scores / cap)
        scores, factor = capped, torch.where(scores.abs() < NEARLY_ZERO, 1.0, capped / scores)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return scores, factor


def _passed_back(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, out: torch.Tensor, ctx: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute gradients of (B, H, n, d_h) queries and (B, KV, n, d_h) keys and values; out: (B, H, n, d_h), that of the
    output.
    """
    batch, kv_heads, n, _ = value.shape
    group, rules = query.shape[1] // kv_heads, ctx.rules
    keys, values = (_for_each(tensor, group) for tensor in (key, value))
    scores, factor = _scores(query, keys, mask, ctx.scale, ctx.cap)
    pattern = scores.softmax(-1)
    at_values = rules.values * (pattern.to(out.dtype).transpose(-1, -2) @ out)
    if rules.query_key:
        at_pattern = (out @ values.transpose(-1, -2)).float()
        if rules.temperature != 1:
            pattern = (scores / rules.temperature).softmax(-1)
        at_scores = pattern * (at_pattern - (pattern * at_pattern).sum(-1, keepdim=True))
        at_scores = (rules.query_key * ctx.scale * at_scores * factor).to(out.dtype)
        at_query, at_keys = at_scores @ keys, at_scores.transpose(-1, -2) @ query
    else:
        at_query, at_keys = torch.zeros_like(query), torch.zeros_like(keys)
    summed = (tensor.view(batch, kv_heads, group, n, -1).sum(2) for tensor in (at_keys, at_values))
    return at_query, *summed
