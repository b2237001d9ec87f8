"""The three architectures of the paper's models, small enough to ship: about 1.7 to 2 million parameters each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformers import GPT2Config, GPTNeoXConfig, PretrainedConfig, Qwen2Config


@dataclass(frozen=True)
class Size:
    """Width must be a multiple of heads, heads of kv_heads."""

    layers: int = 5
    heads: int = 6
    kv_heads: int = 2
    width: int = 144
    positions: int = 512
    # Of the initial weights; the usual .02 is for models ten times as wide, and starts slowly here.
    spread: float = 0.06


SHIPPED = Size()
SMOKE = Size(layers=2, heads=2, kv_heads=1, width=32)


def gpt2(size: Size, vocabulary: int, eos: int) -> PretrainedConfig:
    """GPT-2: learned positions, LayerNorm, biases, tied unembedding."""
    return GPT2Config(
        vocab_size=vocabulary,
        n_positions=size.positions,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        initializer_range=size.spread,
        activation_function="gelu_pytorch_tanh",  # the same function as gelu_new, computed natively
        bos_token_id=eos,
        eos_token_id=eos,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
    )


def _rotary(size: Size, vocabulary: int, eos: int) -> dict[str, Any]:
    """What both models with rotary positions declare."""
    return {
        "vocab_size": vocabulary,
        "max_position_embeddings": size.positions,
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "initializer_range": size.spread,
        "bos_token_id": eos,
        "eos_token_id": eos,
    }


def gpt_neox(size: Size, vocabulary: int, eos: int) -> PretrainedConfig:
    """GPT-NeoX, as in Pythia: attention and MLP in parallel, rotary positions, separate unembedding."""
    common = _rotary(size, vocabulary, eos)
    return GPTNeoXConfig(intermediate_size=4 * size.width, tie_word_embeddings=False, **common)


def qwen2(size: Size, vocabulary: int, eos: int) -> PretrainedConfig:
    """Qwen2: grouped queries, RMSNorm, gated MLP, rotary positions, tied unembedding as in Qwen2.5-3B."""
    inner, common = 8 * size.width // 3, _rotary(size, vocabulary, eos)
    return Qwen2Config(intermediate_size=inner, num_key_value_heads=size.kv_heads, tie_word_embeddings=True, **common)


ARCHITECTURES = {"gpt2": gpt2, "gpt_neox": gpt_neox, "qwen2": qwen2}
