"""How steps are timed, and one line of the table of results."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
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
from heval_core.records import Span, Target, TokenisedPrompt

ROUNDS = 3


@dataclass(frozen=True)
class Figure:
    """One line of the table. ratio: higher is better unless `at_most`. aim: None if there is none."""

    model: str
    tokens: int
    what: str
    ratio: float
    aim: float | None = None
    at_most: bool = False
    detail: str = ""

    @property
    def reached(self) -> bool | None:
        if self.aim is None:
            return None
        return self.ratio <= self.aim if self.at_most else self.ratio >= self.aim


def as_line(figure: Figure) -> str:
    sign = {True: "reached", False: "MISSED", None: ""}[figure.reached]
    aim = "" if figure.aim is None else f"{'at most' if figure.at_most else 'at least'} {figure.aim:g}"
    return f"{figure.model:14} {figure.tokens:5}  {figure.what:48} {figure.ratio:7.2f}  {aim:14} {sign:8} {figure.detail}"


def best(*steps: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Seconds of each step, the best of some rounds in which they take turns; after one round to warm up."""
    seconds = [[] for _ in steps]  # type: list[list[float]]
    for number in range(rounds + 1):
        for index, step in enumerate(steps):
            gc.collect()
            started = time.perf_counter()
            step()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if number or rounds == 0:
                seconds[index].append(time.perf_counter() - started)
    return [min(rounds_of) for rounds_of in seconds]


def matrix_rate(device: torch.device, dtype: torch.dtype, rows: int = 512, width: int = 768) -> float:
    """The rate of matrix products of a transformer's width, in FLOP/s."""
    a = torch.randn(rows, width, device=device, dtype=dtype)
    b = torch.randn(width, 4 * width, device=device, dtype=dtype)

    def step() -> None:
        for _ in range(20):
            a @ b

    return 20 * 2 * rows * width * 4 * width / best(step, rounds=8)[0]


def explain(clean: CleanPass, *explainers: Any) -> list[Any]:
    """As the batch job does: a fresh clean pass, shared by the explainers."""
    fresh = CleanPass(clean.lm, clean.prompts)
    targets = [Target.next_token(*pair) for pair in fresh.logits.topk(2).indices.tolist()]
    return [explainer.explain(fresh, targets) for explainer in explainers]


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
