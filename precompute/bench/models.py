"""Random weights of real shapes, and prompts of given lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPTNeoXConfig, Qwen2Config

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.lm.model import LanguageModel
from heval_core.records import Span, TokenisedPrompt

TOKENIZER = Path(__file__).resolve().parents[2] / "cache" / "demo" / "models" / "demo-gpt2"
# Random weights of these shapes: the first three on a CPU, the others where a GPU is at hand.
SMALL = {
    "gpt2-small": lambda: GPT2Config(),
    "gpt_neox-6x512": lambda: GPTNeoXConfig(
        hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048
    ),
    "qwen2-8x512": lambda: Qwen2Config(
        hidden_size=512,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=2,
        intermediate_size=1408,
        vocab_size=32000,
    ),
}
REAL = {
    "gpt2-xl": lambda: GPT2Config(n_embd=1600, n_layer=48, n_head=25),
    "pythia-6.9b": lambda: GPTNeoXConfig(
        hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, intermediate_size=16384, vocab_size=50432
    ),
    "qwen2.5-7b": lambda: Qwen2Config(
        hidden_size=3584,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
        intermediate_size=18944,
        vocab_size=152064,
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


def body_parameters(lm: LanguageModel) -> int:
    """Parameters without embeddings and unembedding."""
    total = sum(p.numel() for p in lm.model.parameters())
    tables = {
        id(w): w.numel() for w in (lm.model.get_input_embeddings().weight, lm.model.get_output_embeddings().weight)
    }
    positions = getattr(getattr(lm.model, "transformer", None), "wpe", None)
    return total - sum(tables.values()) - (positions.weight.numel() if positions is not None else 0)
