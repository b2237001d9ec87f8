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
from heval_core.explaining.answer_steps import tokenised
from heval_core.explaining.pipeline import Request
from heval_core.explaining.word_origins import neutral_sentences
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.lm.model import LanguageModel
from heval_core.prompting.styles import style_of
from heval_core.records import Span, TokenisedPrompt
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
    """Time each step in seconds of the processor, the least of some rounds in which they take turns."""
    least, failed = in_turns({str(number): step for number, step in enumerate(steps)}, time.process_time, rounds)
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
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before, started = torch.cuda.memory_allocated(), time.perf_counter()
        result = step()
        torch.cuda.synchronize()
        return Taken(result, time.perf_counter() - started, (torch.cuda.max_memory_allocated() - before) / 2**30)
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        held = _kilobytes("VmRSS")
    except OSError:
        held = float("nan")
    started = time.process_time()
    result = step()
    return Taken(result, time.process_time() - started, (_kilobytes("VmHWM") - held) / 2**20)


def _kilobytes(name: str) -> float:
    return float(_field("/proc/self/status", name).partition(" ")[0] or "nan")


def _field(file: str, name: str) -> str:
    """Read what a file of the system says first of something; empty where it says nothing, or where there is no such file."""
    lines = Path(file).read_text().splitlines() if Path(file).is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def matrix_rate(device: torch.device, dtype: torch.dtype, rows: int = 512, width: int = 768) -> float:
    """Measure the rate of matrix products of a transformer's width, in FLOP/s: of the seconds that `taken` counts."""
    a = torch.randn(rows, width, device=device, dtype=dtype)
    b = torch.randn(width, 4 * width, device=device, dtype=dtype)

    def step() -> None:
        for _ in range(20):
            a @ b

    return 20 * 2 * rows * width * 4 * width / min(taken(step, device).seconds for _ in range(8))


TOKENIZER = Path(__file__).resolve().parents[1] / "cache" / "demo" / "models" / "demo-gpt2"


def _shape(kind: Any, layers: int, heads: int, width: int, inner: int, **others: int) -> Callable[[], PretrainedConfig]:
    sizes = {"num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": width, "intermediate_size": inner}
    return partial(kind, **sizes, **others)


# Random weights of these shapes: the first three on a CPU, the paper's on a GPU, the largest first.
SMALL: dict[str, Callable[[], PretrainedConfig]] = {
    "gpt2-small": GPT2Config,
    "gpt_neox-6x512": _shape(GPTNeoXConfig, 6, 8, 512, 2048),
    "qwen2-8x512": _shape(Qwen2Config, 8, 8, 512, 1408, num_key_value_heads=2, vocab_size=32000),
}
PAPER: dict[str, Callable[[], PretrainedConfig]] = {
    "qwen2.5-7B": _shape(Qwen2Config, 28, 28, 3584, 18944, num_key_value_heads=4, vocab_size=152064),
    "gpt2-xl": partial(GPT2Config, n_embd=1600, n_layer=48, n_head=25),
    "pythia-6.9b": _shape(GPTNeoXConfig, 32, 32, 4096, 16384),
    "qwen2.5-3B": _shape(Qwen2Config, 36, 16, 2048, 11008, num_key_value_heads=2, vocab_size=151936),
    "pythia-2.8b": _shape(GPTNeoXConfig, 32, 32, 2560, 10240),
}


def random_model(name: str, config: Any, device: Any = "cpu", dtype: torch.dtype = torch.float32) -> LanguageModel:
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    return as_language_model(name, model.eval().requires_grad_(False).to(device), tokenizer)


def prompts_of(lm: LanguageModel, tokens: int, count: int) -> CleanPass:
    """Make `count` prompts of exactly `tokens` tokens, words of the demo models' tokenizer: two documents and a question."""
    sampled = np.random.default_rng(0).integers(300, 2300, size=(count, tokens))
    words = {int(i): lm.decode([int(i)]) for i in np.unique(sampled)}
    ends = [tokens // 3, 2 * tokens // 3, tokens]
    documents, question = (Span(0, ends[0]), Span(ends[0], ends[1])), Span(ends[1], ends[2])
    prompts = []
    for row in sampled.tolist():
        read = tuple(words[i] for i in row)
        prompts.append(TokenisedPrompt("".join(read), tuple(row), read, documents, question, ((), ()), ((), ())))
    return CleanPass(lm, prompts)


def capitals(lm: LanguageModel, tokens: int, count: int) -> list[TokenisedPrompt]:
    """Make questions of World Capital with two documents, filled up to `tokens` or some more with sentences of other
    things.
    """
    facts = load_questions("world_capital", count + 2, 0, style_of(lm)).facts
    prompts, fillers = [], cycle(neutral_sentences())
    for number, fact in enumerate(facts[:count]):
        documents = [statement(fact.subject, facts[number - step].answer).text for step in (1, 2)]
        prompt = tokenised(lm, Request(tuple(documents), fact.question))
        while len(prompt.ids) < tokens:
            documents = [f"{text} {next(fillers)}" for text in documents]
            prompt = tokenised(lm, Request(tuple(documents), fact.question))
        prompts.append(prompt)
    return prompts


def parameters_of_layers(model: Any) -> int:
    """Count parameters without embeddings, of tokens and of positions, and unembedding."""
    tables = [module.weight for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    left_out = {id(weight) for weight in (*tables, model.get_output_embeddings().weight)}
    return sum(parameter.numel() for parameter in model.parameters() if id(parameter) not in left_out)


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
