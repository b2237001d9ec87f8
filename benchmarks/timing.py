"""How steps are timed and their memory is taken, random models of real shapes, and the prompts that are asked."""

import ctypes
import gc
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPTNeoXConfig, PretrainedConfig, Qwen2Config

from heval_core.datasets.world_capital import statement
from heval_core.generated import tokenised
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.lm.model import LanguageModel
from heval_core.pipeline import Request
from heval_core.prompt_styles import style_of
from heval_core.records import Span, TokenisedPrompt
from heval_core.sources import neutral_sentences
from precompute.questions import load_questions
from precompute.timing import ROUNDS, in_turns


@dataclass(frozen=True)
class Figure:
    """One line of a table of ratios. ratio: higher is better unless `at_most`. aim: None if there is none."""

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
    """Seconds of each step, the least of some rounds in which they take turns."""
    least, failed = in_turns({str(number): step for number, step in enumerate(steps)}, rounds=rounds)
    for error in failed.values():
        raise error
    return list(least.values())


class Taken(NamedTuple):
    """What a step gave and took. seconds: of the processor, which other programs do not change much; of the clock on a GPU.
    gigabytes: its peak above what was held before; NaN where the system does not tell."""

    result: Any
    seconds: float
    gigabytes: float


def taken(step: Callable[[], Any], device: torch.device) -> Taken:
    gc.collect()
    held, on_card = _begin(device), device.type == "cuda"
    clock = time.perf_counter if on_card else time.process_time
    started = clock()
    result = step()
    if on_card:
        torch.cuda.synchronize()
        return Taken(result, clock() - started, (torch.cuda.max_memory_allocated() - held) / 2**30)
    return Taken(result, clock() - started, (_status("VmHWM") - held) / 2**20)


def _begin(device: torch.device) -> float:
    """Forget the peak so far ▶ what is held: bytes of a GPU, or KiB of this process."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return float(torch.cuda.memory_allocated())
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")
    return _status("VmRSS")


def _status(name: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next((float(line.split()[1]) for line in lines if line.startswith(name)), float("nan"))


def matrix_rate(device: torch.device, dtype: torch.dtype, rows: int = 512, width: int = 768) -> float:
    """The rate of matrix products of a transformer's width, in FLOP/s: of the seconds that `taken` counts."""
    a = torch.randn(rows, width, device=device, dtype=dtype)
    b = torch.randn(width, 4 * width, device=device, dtype=dtype)

    def step() -> None:
        for _ in range(20):
            a @ b

    return 20 * 2 * rows * width * 4 * width / min(taken(step, device).seconds for _ in range(8))


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


# Random weights of these shapes: the first three on a CPU, the paper's on a GPU, the largest first.
SMALL: dict[str, Callable[[], PretrainedConfig]] = {
    "gpt2-small": GPT2Config,
    "gpt_neox-6x512": partial(_neox, 6, 8, 512),
    "qwen2-8x512": partial(_qwen2, 8, 8, 2, 512, 1408, 32000),
}
PAPER: dict[str, Callable[[], PretrainedConfig]] = {
    "qwen2.5-7B": partial(_qwen2, 28, 28, 4, 3584, 18944, 152064),
    "gpt2-xl": partial(GPT2Config, n_embd=1600, n_layer=48, n_head=25),
    "pythia-6.9b": partial(_neox, 32, 32, 4096),
    "qwen2.5-3B": partial(_qwen2, 36, 16, 2, 2048, 11008, 151936),
    "pythia-2.8b": partial(_neox, 32, 32, 2560),
}


def random_model(name: str, config: Any, device: torch.device, dtype: torch.dtype) -> LanguageModel:
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    return as_language_model(name, model.eval().requires_grad_(False).to(device), tokenizer)


def prompts_of(lm: LanguageModel, tokens: int, count: int) -> CleanPass:
    """`count` prompts of exactly `tokens` tokens, words of the demo models' tokenizer: two documents and a question."""
    drawn = np.random.default_rng(0).integers(300, 2300, size=(count, tokens))
    words = {int(i): lm.decode([int(i)]) for i in np.unique(drawn)}
    ends = [tokens // 3, 2 * tokens // 3, tokens]
    documents, question = (Span(0, ends[0]), Span(ends[0], ends[1])), Span(ends[1], ends[2])
    prompts = []
    for row in drawn.tolist():
        read = tuple(words[i] for i in row)
        prompts.append(TokenisedPrompt("".join(read), tuple(row), read, documents, question, ((), ()), ((), ())))
    return CleanPass(lm, prompts)


def capitals(lm: LanguageModel, tokens: int, count: int) -> list[TokenisedPrompt]:
    """Questions of World Capital with two documents, filled up to `tokens` or some more with sentences of other things."""
    facts = load_questions("world_capital", count + 2, 0, style_of(lm)).facts
    found, fillers = [], cycle(neutral_sentences())
    for place, fact in enumerate(facts[:count]):
        others = [facts[place - step].answer for step in (1, 2)]
        documents = [statement(fact.subject, other).text for other in others]
        prompt = tokenised(lm, Request(tuple(documents), fact.question))
        while len(prompt.ids) < tokens:
            documents = [f"{text} {next(fillers)}" for text in documents]
            prompt = tokenised(lm, Request(tuple(documents), fact.question))
        found.append(prompt)
    return found


def parameters_of_layers(model: Any) -> int:
    """Parameters without embeddings and unembedding."""
    total: int = sum(p.numel() for p in model.parameters())
    tables = {id(w): w.numel() for w in (model.get_input_embeddings().weight, model.get_output_embeddings().weight)}
    positions = getattr(getattr(model, "transformer", None), "wpe", None)
    return total - sum(tables.values()) - (positions.weight.numel() if positions is not None else 0)


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
