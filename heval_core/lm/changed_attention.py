"""Softmax attention whose backward pass follows `Rules`, through the library's own interface for attention.

Formula: S = scale Q K^T, masked; P = softmax(S); O = P V, all as the library computes them. Backwards, with G = d z / d O:
V gets `values` x P^T G; S gets P_T (G V^T - rowsum(P_T G V^T)) with P_T = softmax(S / temperature), as GIM's published code
has it (without a further factor 1 / temperature); Q and K get `query_key` x scale x that times K and Q.
Cost: forward as the plain model's; P is computed again backwards, in blocks of heads, so that nothing of size n² is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from heval_core.lm.rules import Rules

# Numbers of one block of patterns: 1 GiB in float32.
BLOCK = 2**28
# What some attention adds to its scores; the rules say nothing of it.
UNKNOWN = ("softcap", "s_aux", "position_bias")


def registered(rules: Rules) -> str:
    """The name of attention under these rules, for `set_attn_implementation`."""
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
    """(B, H, n, d_h) queries, (B, KV, n, d_h) keys and values ▶ (B, n, H, d_h), as the interface wants it.

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
        out, _ = sdpa_attention_forward(module, query, key, value, mask, **options)
        is_causal = options.get("is_causal")
        ctx.causal = mask is None and (getattr(module, "is_causal", True) if is_causal is None else is_causal)
        scale = options.get("scaling")
        ctx.save_for_backward(query, key, value, mask)
        ctx.rules, ctx.scale = rules, query.shape[-1] ** -0.5 if scale is None else scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, mask = ctx.saved_tensors
        out = grads[0].transpose(1, 2)
        batch, kv_heads, n = value.shape[:3]
        group = query.shape[1] // kv_heads
        if ctx.causal:
            mask = torch.ones(1, 1, n, n, dtype=torch.bool, device=query.device).tril()
        together = max(1, BLOCK // (batch * group * n * n))
        at = tuple(torch.empty_like(tensor) for tensor in (query, key, value))
        for start in range(0, kv_heads, together):
            own = slice(start, start + together)
            heads = slice(start * group, (start + together) * group)
            # Only ALiBi and the like have a mask for each head.
            seen = mask[:, heads] if mask is not None and mask.shape[1] > 1 else mask
            found = _passed_back(query[:, heads], key[:, own], value[:, own], seen, out[:, heads], ctx.scale, ctx.rules)
            for tensor, part, rows in zip(at, found, (heads, own, own), strict=True):
                tensor[:, rows] = part
        return *at, None, None, None, None


def _passed_back(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    out: torch.Tensor,
    scale: float,
    rules: Rules,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of (B, H, n, d_h) queries and (B, KV, n, d_h) keys and values; out: (B, H, n, d_h), that of the output."""
    batch, kv_heads, n, _ = value.shape
    group = query.shape[1] // kv_heads
    keys, values = (tensor.repeat_interleave(group, 1) for tensor in (key, value))
    scores = (query @ keys.transpose(-1, -2)).float() * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    pattern = scores.softmax(-1)
    at_values = rules.values * (pattern.to(out.dtype).transpose(-1, -2) @ out)
    if rules.query_key:
        at_pattern = (out @ values.transpose(-1, -2)).float()
        if rules.temperature != 1:
            pattern = (scores / rules.temperature).softmax(-1)
        at_scores = pattern * (at_pattern - (pattern * at_pattern).sum(-1, keepdim=True))
        at_scores = (rules.query_key * scale * at_scores).to(out.dtype)
        at_query, at_keys = at_scores @ keys, at_scores.transpose(-1, -2) @ query
    else:
        at_query, at_keys = torch.zeros_like(query), torch.zeros_like(keys)
    summed = (tensor.view(batch, kv_heads, group, n, -1).sum(2) for tensor in (at_keys, at_values))
    return at_query, *summed
