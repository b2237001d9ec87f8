"""Random weights of real shapes, and prompts of given lengths."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Cohere2Config,
    GPT2Config,
    GPTNeoXConfig,
    PretrainedConfig,
    Qwen2Config,
)

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.lm.model import LanguageModel
from heval_core.records import Span, TokenisedPrompt

TOKENIZER = Path(__file__).resolve().parents[1] / "cache" / "demo" / "models" / "demo-gpt2"


def _neox(layers: int, heads: int, width: int) -> GPTNeoXConfig:
    return GPTNeoXConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width)


def _qwen2(layers: int, heads: int, kv_heads: int, width: int, inner: int, vocabulary: int) -> Qwen2Config:
    return Qwen2Config(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        intermediate_size=inner,
        vocab_size=vocabulary,
    )


# Random weights of these shapes: the first three on a CPU, the others on a GPU.
SMALL: dict[str, Callable[[], PretrainedConfig]] = {
    "gpt2-small": GPT2Config,
    "gpt_neox-6x512": partial(_neox, 6, 8, 512),
    "qwen2-8x512": partial(_qwen2, 8, 8, 2, 512, 1408, 32000),
}
REAL: dict[str, Callable[[], PretrainedConfig]] = {
    "gpt2-xl": partial(GPT2Config, n_embd=1600, n_layer=48, n_head=25),
    "pythia-6.9b": partial(_neox, 32, 32, 4096),
    "qwen2.5-7B": partial(_qwen2, 28, 28, 4, 3584, 18944, 152064),
}
# CUB's models; base and instruct models have the same shape.
CUB_SHAPES: dict[str, Callable[[], PretrainedConfig]] = {
    **REAL,
    "qwen2.5-1.5B": partial(_qwen2, 28, 12, 2, 1536, 8960, 151936),
    "qwen2.5-32B": partial(_qwen2, 64, 40, 8, 5120, 27648, 152064),
    "command-a": partial(
        Cohere2Config,
        hidden_size=12288,
        num_hidden_layers=64,
        num_attention_heads=96,
        num_key_value_heads=8,
        intermediate_size=36864,
        vocab_size=256000,
    ),
}


def random_model(name: str, config: Any, device: torch.device, dtype: torch.dtype) -> LanguageModel:
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    # inseq asks the configuration for them.
    model.config.pad_token_id = model.config.bos_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    return as_language_model(name, model.eval().requires_grad_(False).to(device), tokenizer)


def prompts_of(lm: LanguageModel, tokens: int, count: int) -> CleanPass:
    """`count` prompts of exactly `tokens` tokens that are words of the demo models' tokenizer."""
    words = np.random.default_rng(0)
    prompts = []
    for _ in range(count):
        ids = tuple(int(i) for i in words.integers(300, 2300, size=tokens))
        prompts.append(TokenisedPrompt(lm.decode(list(ids)), ids, ("",) * tokens, (), Span(0, 1), (), ()))
    return CleanPass(lm, prompts)


def parameters_of_layers(model: Any) -> int:
    """Parameters without embeddings and unembedding."""
    total: int = sum(p.numel() for p in model.parameters())
    tables = {id(w): w.numel() for w in (model.get_input_embeddings().weight, model.get_output_embeddings().weight)}
    positions = getattr(getattr(model, "transformer", None), "wpe", None)
    return total - sum(tables.values()) - (positions.weight.numel() if positions is not None else 0)


def inseq_of(many: CleanPass, method: str) -> Callable[[], None] | None:
    """A method of inseq's on each prompt, as people call it; None where inseq is not installed."""
    try:
        import inseq
    except ImportError:
        return None
    lm = many.lm
    model = inseq.load_model(lm.model, method, tokenizer=lm.tokenizer)
    texts = [lm.decode(list(prompt.ids)) for prompt in many.prompts]
    answer = lm.decode([1000])  # any word of the tokenizer's: the model's own best token may be none

    def step() -> None:
        for text in texts:
            model.attribute(text, text + answer, show_progress=False, pretty_progress=False)

    return step
