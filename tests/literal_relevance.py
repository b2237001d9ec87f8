"""Relevance word by word in numpy: each architecture's block from its weights, forward and backward by explicit rules.

Nothing of heval_core and no autograd is used. Float64. One prompt at a time; causal attention without a cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erf


@dataclass(frozen=True)
class Literal:
    """The rules. query_key, values: shares of the gradient; temperature: of the softmax, backwards."""

    query_key: float = 0.25
    values: float = 0.5
    temperature: float = 1.0


ATTNLRP, CGIM = Literal(), Literal(temperature=2.0)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def gelu_tanh(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


ACTIVATIONS = {"silu": silu, "gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh}


def softmax(scores):
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


class Linear:
    def __init__(self, weights, name, transposed=False):
        self.weight = weights[f"{name}.weight"] if transposed else weights[f"{name}.weight"].T  # (in, out)
        self.bias = weights.get(f"{name}.bias", 0.0)

    def forward(self, x):
        return x @ self.weight + self.bias

    def backward(self, g):
        return g @ self.weight.T


class Norm:
    """A LayerNorm if `centred`, else an RMSNorm; its divisor counts as a constant backwards."""

    def __init__(self, weights, name, eps, centred, offset=0.0):
        self.gain, self.bias = weights[f"{name}.weight"] + offset, weights.get(f"{name}.bias", 0.0)
        self.eps, self.centred = eps, centred

    def forward(self, x):
        x = x - x.mean(-1, keepdims=True) if self.centred else x
        self.divisor = np.sqrt((x**2).mean(-1, keepdims=True) + self.eps)
        return x / self.divisor * self.gain + self.bias

    def backward(self, g):
        g = g * self.gain / self.divisor
        return g - g.mean(-1, keepdims=True) if self.centred else g


class Attention:
    """Heads of d_h with rotated queries and keys; `heads // kv_heads` queries share a key. norms: of queries and of keys."""

    def __init__(self, shape, rotary, theta, window, norms=(None, None), scale=None):
        self.heads, self.kv_heads, self.width = shape
        self.rotary, self.theta, self.window = rotary, theta, window
        self.norms, self.scale = norms, scale or self.width**-0.5

    def rotated(self, x, back=False):
        """The first `rotary` dimensions of (h, n, d_h) turned by position, or turned back."""
        if not self.rotary:
            return x
        half = self.rotary // 2
        angles = np.arange(x.shape[1])[:, None] / self.theta ** (np.arange(half) / half)
        cos, sin = np.cos(angles), np.sin(angles) * (-1 if back else 1)
        one, other, rest = x[..., :half], x[..., half : self.rotary], x[..., self.rotary :]
        return np.concatenate([one * cos - other * sin, other * cos + one * sin, rest], -1)

    def forward(self, q, k, v):
        """(n, H, d_h), (n, KV, d_h) twice ▶ (n, H d_h)"""
        repeats = self.heads // self.kv_heads
        q, k = (norm.forward(x) if norm else x for norm, x in zip(self.norms, (q, k), strict=True))
        self.q = self.rotated(q.swapaxes(0, 1))
        self.k = np.repeat(self.rotated(k.swapaxes(0, 1)), repeats, 0)
        self.v = np.repeat(v.swapaxes(0, 1), repeats, 0)
        n = q.shape[0]
        back = np.arange(n)[:, None] - np.arange(n)
        hidden = (back < 0) | (back >= (self.window or n))
        self.scores = np.where(hidden, -np.inf, self.q @ self.k.swapaxes(1, 2) * self.scale)
        self.pattern = softmax(self.scores)
        return (self.pattern @ self.v).swapaxes(0, 1).reshape(n, -1)

    def backward(self, g, rules):
        n = g.shape[0]
        g = g.reshape(n, self.heads, self.width).swapaxes(0, 1)
        at_v = rules.values * self.pattern.swapaxes(1, 2) @ g
        at_pattern = g @ self.v.swapaxes(1, 2)
        flat = softmax(self.scores / rules.temperature)
        at_scores = np.zeros_like(flat)
        for head in range(self.heads):
            for row in range(n):  # the softmax's Jacobian, written out
                p = flat[head, row]
                at_scores[head, row] = (np.diag(p) - np.outer(p, p)) @ at_pattern[head, row]
        at_scores *= rules.query_key * self.scale
        at_q = self.rotated(at_scores @ self.k, back=True)
        at_k = at_scores.swapaxes(1, 2) @ self.q
        at_k, at_v = (x.reshape(self.kv_heads, -1, n, self.width).sum(1) for x in (at_k, at_v))
        at_q, at_k = at_q.swapaxes(0, 1), self.rotated(at_k, back=True).swapaxes(0, 1)
        at_q, at_k = (norm.backward(x) if norm else x for norm, x in zip(self.norms, (at_q, at_k), strict=True))
        return at_q, at_k, at_v.swapaxes(0, 1)


class Normed:
    """A part between two norms, as Gemma 3 has them."""

    def __init__(self, part, norm):
        self.part, self.norm = part, norm

    def forward(self, x):
        return self.norm.forward(self.part.forward(x))

    def backward(self, g, *rules):
        return self.part.backward(self.norm.backward(g), *rules)


class FusedAttention:
    """Queries, keys and values by one matrix: one after the other (GPT-2), or head by head (GPT-NeoX)."""

    def __init__(self, inner, qkv, out, by_head):
        self.inner, self.qkv, self.out, self.by_head = inner, qkv, out, by_head

    def forward(self, x):
        heads, width = self.inner.heads, self.inner.width
        fused = self.qkv.forward(x)
        if self.by_head:
            parts = np.split(fused.reshape(len(x), heads, 3 * width), 3, -1)
        else:
            parts = [part.reshape(len(x), heads, width) for part in np.split(fused, 3, -1)]
        return self.out.forward(self.inner.forward(*parts))

    def backward(self, g, rules):
        parts = self.inner.backward(self.out.backward(g), rules)
        if self.by_head:
            fused = np.concatenate(parts, -1).reshape(len(g), -1)
        else:
            fused = np.concatenate([part.reshape(len(g), -1) for part in parts], -1)
        return self.qkv.backward(fused)


class SeparateAttention:
    def __init__(self, inner, projections, out):
        self.inner, self.projections, self.out = inner, projections, out

    def forward(self, x):
        width = self.inner.width
        return self.out.forward(self.inner.forward(*(own.forward(x).reshape(len(x), -1, width) for own in self.projections)))

    def backward(self, g, rules):
        parts = self.inner.backward(self.out.backward(g), rules)
        return sum(own.backward(part.reshape(len(g), -1)) for own, part in zip(self.projections, parts, strict=True))


class Mlp:
    """down(f(gate x) * up x) with a gate; down(f(up x)) without."""

    def __init__(self, activation, up, down, gate=None):
        self.activation, self.up, self.down, self.gate = ACTIVATIONS[activation], up, down, gate

    def forward(self, x):
        self.before = (self.gate or self.up).forward(x)
        self.active = self.activation(self.before)
        if self.gate is None:
            return self.down.forward(self.active)
        self.factor = self.up.forward(x)
        return self.down.forward(self.active * self.factor)

    def backward(self, g):
        g, slope = self.down.backward(g), self.active / self.before
        if self.gate is None:
            return self.up.backward(g * slope)
        return self.gate.backward(g / 2 * self.factor * slope) + self.up.backward(g / 2 * self.active)


class Model:
    """A decoder of blocks. chosen: the tokens whose logits it gives; by default all."""

    def __init__(self, model: Any, chosen: Any = slice(None)):
        self.weights = {name: own.detach().double().numpy() for name, own in model.named_parameters()}
        self.config, self.kind = model.config, model.config.model_type
        self.head = model.get_output_embeddings().weight.detach()[chosen].double().numpy()
        build = {"gpt2": self._gpt2, "gpt_neox": self._neox, "gemma3_text": self._gemma3}.get(self.kind, self._llama)
        self.blocks = [build(layer) for layer in range(self.config.num_hidden_layers)]

    def _shape(self):
        heads = self.config.num_attention_heads
        width = getattr(self.config, "head_dim", None) or self.config.hidden_size // heads
        return heads, getattr(self.config, "num_key_value_heads", None) or heads, width

    def _gpt2(self, layer):
        at = f"transformer.h.{layer}"
        linear = {name: Linear(self.weights, f"{at}.{name}", transposed=True) for name in GPT2_PARTS}
        attention = FusedAttention(Attention(self._shape(), 0, 1, None), linear["attn.c_attn"], linear["attn.c_proj"], False)
        mlp = Mlp(self.config.activation_function, linear["mlp.c_fc"], linear["mlp.c_proj"])
        eps = self.config.layer_norm_epsilon
        self.final = Norm(self.weights, "transformer.ln_f", eps, True)
        self.table, self.added = self.weights["transformer.wte.weight"], self.weights["transformer.wpe.weight"]
        return [Norm(self.weights, f"{at}.ln_{which}", eps, True) for which in (1, 2)], attention, mlp

    def _neox(self, layer):
        at = f"gpt_neox.layers.{layer}"
        linear = {name: Linear(self.weights, f"{at}.{name}") for name in NEOX_PARTS}
        heads, kv_heads, width = self._shape()
        rope = self.config.rope_parameters
        inner = Attention((heads, kv_heads, width), int(width * rope["partial_rotary_factor"]), rope["rope_theta"], None)
        attention = FusedAttention(inner, linear["attention.query_key_value"], linear["attention.dense"], True)
        mlp = Mlp(self.config.hidden_act, linear["mlp.dense_h_to_4h"], linear["mlp.dense_4h_to_h"])
        eps = self.config.layer_norm_eps
        self.final = Norm(self.weights, "gpt_neox.final_layer_norm", eps, True)
        self.table, self.added = self.weights["gpt_neox.embed_in.weight"], None
        names = ("input_layernorm", "post_attention_layernorm")
        return [Norm(self.weights, f"{at}.{name}", eps, True) for name in names], attention, mlp

    def _gemma3(self, layer):
        """As Gemma, with norms of queries and keys and behind each part, and with layers of two reaches."""
        at, shape, local = f"model.layers.{layer}", self._shape(), self.config.layer_types[layer]
        window = self.config.sliding_window if local == "sliding_attention" else None

        def norm(name):
            return Norm(self.weights, f"{at}.{name}", self.config.rms_norm_eps, False, 1.0)

        norms, scale = [norm(f"self_attn.{name}_norm") for name in "qk"], self.config.query_pre_attn_scalar**-0.5
        inner = Attention(shape, shape[2], self.config.rope_parameters[local]["rope_theta"], window, norms, scale)
        _, attention, mlp = self._llama(layer, inner)
        behind = norm("post_attention_layernorm"), norm("post_feedforward_layernorm")
        parts = [Normed(*pair) for pair in zip((attention, mlp), behind, strict=True)]
        return [norm("input_layernorm"), norm("pre_feedforward_layernorm")], *parts

    def _llama(self, layer, inner=None):
        """Llama, Qwen2, Mistral and Gemma."""
        at, shape = f"model.layers.{layer}", self._shape()
        q, k, v, o = (Linear(self.weights, f"{at}.self_attn.{name}_proj") for name in "qkvo")
        window = self.config.sliding_window if self.kind == "mistral" else None
        inner = inner or Attention(shape, shape[2], self.config.rope_parameters["rope_theta"], window)
        gate, up, down = (Linear(self.weights, f"{at}.mlp.{name}_proj") for name in ("gate", "up", "down"))
        offset, eps = float(self.kind.startswith("gemma")), self.config.rms_norm_eps
        self.final = Norm(self.weights, "model.norm", eps, False, offset)
        self.table, self.added = self.weights["model.embed_tokens.weight"], None
        names = ("input_layernorm", "post_attention_layernorm")
        norms = [Norm(self.weights, f"{at}.{name}", eps, False, offset) for name in names]
        activation = getattr(self.config, "hidden_activation", None) or self.config.hidden_act
        return norms, SeparateAttention(inner, (q, k, v), o), Mlp(activation, up, down, gate)

    def forward(self, ids):
        """(n,) ids ▶ (n, V) logits"""
        self.ids, self.scale = ids, self.config.hidden_size**0.5 if self.kind.startswith("gemma") else 1.0
        x = self.table[ids] * self.scale
        if self.added is not None:
            x = x + self.added[: len(ids)]
        for (before, between), attention, mlp in self.blocks:
            if self.kind == "gpt_neox" and self.config.use_parallel_residual:
                x = x + attention.forward(before.forward(x)) + mlp.forward(between.forward(x))
            else:
                x = x + attention.forward(before.forward(x))
                x = x + mlp.forward(between.forward(x))
        return self.final.forward(x) @ self.head.T

    def relevance(self, ids, wanted, rules, against=None):
        """(n,) scores; wanted: (position, token, sign) of each logit in the target's sum; against: ids that are taken off."""
        at_logits = np.zeros((len(ids), len(self.head)))
        self.forward(ids)
        for position, token, sign in wanted:
            at_logits[position, token] += sign
        g = self.final.backward(at_logits @ self.head)
        for (before, between), attention, mlp in reversed(self.blocks):
            if self.kind == "gpt_neox" and self.config.use_parallel_residual:
                g = g + before.backward(attention.backward(g, rules)) + between.backward(mlp.backward(g))
            else:
                g = g + between.backward(mlp.backward(g))
                g = g + before.backward(attention.backward(g, rules))
        embeddings = self.table[ids] - (0 if against is None else self.table[against])
        return (embeddings * self.scale * g).sum(-1)


GPT2_PARTS = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
NEOX_PARTS = ("attention.query_key_value", "attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h")
