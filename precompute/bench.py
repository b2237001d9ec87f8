"""`bench`: this machine's speed beside captum's and inseq's, as ratios in one run; and what the paper's grid would take.

Every pair is timed alternately, the best of a few rounds, on random weights of real shapes, and its scores are compared:
a ratio of two things that do not compute the same would mean nothing. Ours is asked as the batch job asks it, with the
clean pass in its time. Captum's feature ablation is timed over `SAMPLED` of the positions and scaled (each position costs
the same), at the best of several `perturbations_per_eval`. `precision` says what bfloat16 does to the scores.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPTNeoXConfig, Qwen2Config

from heval_core.explainers import attn, fa, ig, mechlight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.lm.model import LanguageModel
from heval_core.prompts import assemble
from heval_core.records import Contrast, HEvalError
from heval_core.scores import average_ranks
from precompute import precision

TOKENIZER = Path(__file__).resolve().parent.parent / "cache" / "demo" / "models" / "demo-gpt2"
ROUNDS, SAMPLED = 3, 16
# Longer prompts are not given to inseq, nor is fa timed twice more for "all four": minutes for the same ratio.
LONGEST_OF_ALL = 100
PER_EVAL = (1, 4, 16)
SHORT, SHORT_TOKENS = 200, 25

# Random weights of these shapes: the first three on a CPU, the others where a GPU is at hand.
SMALL = {
    "gpt2-small": lambda: GPT2Config(),
    "gpt_neox-6x512": lambda: GPTNeoXConfig(
        hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048
    ),
    "qwen2-8x512": lambda: Qwen2Config(
        hidden_size=512, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=2, intermediate_size=1408,
        vocab_size=32000,
    ),
}  # fmt: skip
REAL = {
    "gpt2-xl": lambda: GPT2Config(n_embd=1600, n_layer=48, n_head=25),
    "pythia-6.9b": lambda: GPTNeoXConfig(
        hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, intermediate_size=16384, vocab_size=50432
    ),
    "qwen2.5-7b": lambda: Qwen2Config(
        hidden_size=3584, num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4, intermediate_size=18944,
        vocab_size=152064,
    ),
}  # fmt: skip
REAL_TOKENS = (40, 150, 300)
# The paper's grid (methods.md, section 1 and 5): explained instances per regime, and about how long their prompts are.
PAPER = {"world_capital": (2000, 40), "counterfact": (802, 40), "fakepedia": (1000, 300), "conflictqa": (1000, 300)}


@dataclass(frozen=True)
class Figure:
    """One line of the table. ratio: what is compared, higher is better unless `at_most`. aim: None where nothing was set."""

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


def random_model(name: str, config: Any, device: torch.device, dtype: torch.dtype) -> LanguageModel:
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    # inseq asks the configuration for them.
    model.config.pad_token_id = model.config.bos_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    return as_language_model(name, model.eval().requires_grad_(False).to(device), tokenizer)


def prompts_of(lm: LanguageModel, tokens: int, count: int, seed: int = 0) -> CleanPass:
    """`count` prompts of exactly `tokens` tokens that are words of the demo models' tokenizer."""
    words = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        ids = tuple(int(i) for i in words.integers(300, 2300, size=tokens))
        blank = lm.tokenise(assemble(("x",), (None,), "x"))
        found.append(type(blank)(lm.decode(list(ids)), ids, ("",) * tokens, (), blank.question, (), ()))
    return CleanPass(lm, found)


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
    return [min(own) for own in seconds]


def matrix_rate(device: torch.device, dtype: torch.dtype, rows: int = 512, width: int = 768) -> float:
    """Multiply-adds a second of the matrix products that a transformer of this width is made of, times two (FLOP/s)."""
    a = torch.randn(rows, width, device=device, dtype=dtype)
    b = torch.randn(width, 4 * width, device=device, dtype=dtype)

    def step() -> None:
        for _ in range(20):
            a @ b

    return 20 * 2 * rows * width * 4 * width / best(step, rounds=8)[0]


def body_parameters(lm: LanguageModel) -> int:
    """Parameters but for embeddings and unembedding."""
    total = sum(p.numel() for p in lm.model.parameters())
    tables = {
        id(w): w.numel() for w in (lm.model.get_input_embeddings().weight, lm.model.get_output_embeddings().weight)
    }
    positions = getattr(getattr(lm.model, "transformer", None), "wpe", None)
    return total - sum(tables.values()) - (positions.weight.numel() if positions is not None else 0)


def _contrast(logits: torch.Tensor) -> Contrast:
    first, second = logits.topk(2).indices.tolist()
    return Contrast(first, second, "runner-up token")


def explain(clean: CleanPass, *explainers: Any) -> list[Any]:
    """As the batch job does: a fresh clean pass, shared by the explainers."""
    fresh = CleanPass(clean.lm, clean.prompts)
    contrasts = [_contrast(row) for row in fresh.logits]
    return [explainer.explain(fresh, contrasts) for explainer in explainers]


def figures(name: str, lm: LanguageModel, tokens: int) -> Iterator[Figure]:
    """All ratios of one model at one prompt length."""
    clean = prompts_of(lm, tokens, 1)
    target = int(clean.logits[0].argmax())
    yield from _fa_figures(name, lm, clean, target)
    yield from _ig_figures(name, lm, clean, target)
    heads, forward = best(lambda: explain(clean, attn.PLUGIN, mechlight.PLUGIN), lambda: lm.model(clean.ids), rounds=8)
    yield Figure(
        name, tokens, "attn + mechlight / one plain forward", heads / forward, 1.3, True, f"{1e3 * forward:.0f} ms"
    )
    if tokens > LONGEST_OF_ALL:
        return
    four, both = best(
        lambda: explain(clean, fa.PLUGIN, ig.PLUGIN, attn.PLUGIN, mechlight.PLUGIN),
        lambda: (explain(clean, fa.PLUGIN), explain(clean, ig.PLUGIN)),
        rounds=1,
    )
    yield Figure(name, tokens, "all four / (fa + ig)", four / both, 1.15, True, f"{four:.2f} s")


def _fa_figures(name: str, lm: LanguageModel, clean: CleanPass, target: int) -> Iterator[Figure]:
    from captum.attr import FeatureAblation

    tokens = clean.length
    # The first positions are features of their own, all others are one: every evaluation runs the whole prompt.
    mask = torch.arange(tokens, device=lm.device).clamp(max=SAMPLED)[None]
    engine = FeatureAblation(lambda ids: lm.model(ids).logits[:, -1, target])

    def captum(per_eval: int) -> torch.Tensor:
        return engine.attribute(clean.ids, baselines=lm.baseline_id, feature_mask=mask, perturbations_per_eval=per_eval)

    ours, *theirs = best(lambda: explain(clean, fa.PLUGIN), *(partial(captum, p) for p in PER_EVAL), rounds=1)
    scale = tokens / min(SAMPLED + 1, tokens)
    fastest = min(theirs) * scale
    ((found,),) = explain(clean, fa.PLUGIN)
    count = min(SAMPLED, tokens)
    gap = float(np.abs(found.scores[:count] - captum(1)[0, :count].float().cpu().numpy()).max())
    aim = 3.0 if tokens <= 100 else 4.0
    per_eval = PER_EVAL[theirs.index(min(theirs))]
    detail = f"{ours:.2f} s against {fastest:.1f} s at {per_eval} per eval; largest difference {gap:.0e}"
    yield Figure(name, tokens, "captum FeatureAblation / fa", fastest / ours, aim, detail=detail)
    bound = tokens * (tokens + 1) / 2 * 2 * body_parameters(lm) / matrix_rate(lm.device, lm.model.dtype, width=lm.width)
    yield Figure(name, tokens, "matrix-product bound / fa", bound / ours, 0.75, detail=f"bound {bound:.2f} s")
    seconds = _inseq(lm, clean) if tokens <= LONGEST_OF_ALL else None
    if seconds is not None:
        yield Figure(name, tokens, "inseq occlusion / fa", seconds / ours, 2.0, detail=f"{seconds:.1f} s")


def _inseq(lm: LanguageModel, clean: CleanPass) -> float | None:
    """Seconds of inseq's occlusion, as people call it; None where inseq is not installed."""
    try:
        import inseq
    except ImportError:
        return None
    text = lm.decode(list(clean.prompts[0].ids))
    model = inseq.load_model(lm.model, "occlusion", tokenizer=lm.tokenizer)
    answer = lm.decode([1000])  # any word of the tokenizer's: the model's own best token may be none

    def step() -> None:
        model.attribute(text, text + answer, show_progress=False, pretty_progress=False)

    return best(step, rounds=1)[0]


def _ig_figures(name: str, lm: LanguageModel, clean: CleanPass, target: int) -> Iterator[Figure]:
    from captum.attr import LayerIntegratedGradients

    engine = LayerIntegratedGradients(lambda ids: lm.model(ids).logits[:, -1, target], lm.gradients.embedding_layer)
    baselines = torch.full_like(clean.ids, lm.baseline_id)

    def usual() -> torch.Tensor:
        return engine.attribute(clean.ids, baselines, n_steps=10, method="riemann_right")

    ours, theirs = best(lambda: explain(clean, ig.PLUGIN), usual)
    ((found,),) = explain(clean, ig.PLUGIN)
    gap = float(np.abs(found.scores - usual()[0].sum(-1).detach().float().cpu().numpy()).max())
    detail = f"{ours:.2f} s against {theirs:.2f} s; largest difference {gap:.0e}"
    yield Figure(name, clean.length, "captum IntegratedGradients / ig", theirs / ours, 1.3, detail=detail)


def short_figure(name: str, lm: LanguageModel) -> Figure:
    """Many short prompts together, against captum one prompt and one position at a time (timed over 10, and scaled)."""
    from captum.attr import FeatureAblation

    clean = prompts_of(lm, SHORT_TOKENS, SHORT)
    size = lm.budget.holds(SHORT_TOKENS)

    def ours() -> None:
        for start in range(0, SHORT, size):
            explain(CleanPass(lm, clean.prompts[start : start + size]), fa.PLUGIN)

    def theirs() -> None:
        for row in clean.ids[:10]:
            target = int(lm.model(row[None]).logits[0, -1].argmax())
            engine = FeatureAblation(lambda ids, t=target: lm.model(ids).logits[:, -1, t])
            engine.attribute(row[None], baselines=lm.baseline_id)

    one, other = best(ours, theirs, rounds=1)
    other *= SHORT / 10
    detail = f"{SHORT} prompts in {one:.1f} s against {other:.0f} s"
    return Figure(name, SHORT_TOKENS, "captum one at a time / fa, 200 short prompts", other / one, 5.0, detail=detail)


def agreement(lm: LanguageModel, clean: CleanPass) -> dict[str, list[float]]:
    """Explainer ▶ per prompt the Spearman correlation of the scores it gets together with others and alone."""
    explainers: tuple[Any, ...] = (fa.PLUGIN, ig.PLUGIN, attn.PLUGIN, mechlight.PLUGIN)
    together = explain(clean, *explainers)
    alone = [explain(CleanPass(lm, [prompt]), *explainers) for prompt in clean.prompts]
    return {
        explainer.key: [spearman(own.scores, alone[row][place][0].scores) for row, own in enumerate(together[place])]
        for place, explainer in enumerate(explainers)
    }


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.corrcoef(average_ranks(first), average_ranks(second))[0, 1])


def rounding_figures(name: str) -> Iterator[Figure]:
    """In bfloat16, whether the batch a prompt is in changes the order of its tokens; 8 prompts of 40 tokens."""
    lm = random_model(name, SMALL[name](), torch.device("cpu"), torch.bfloat16)
    for key, found in agreement(lm, prompts_of(lm, 40, 8)).items():
        what = f"bfloat16, Spearman in a batch / alone, {key}"
        yield Figure(name, 40, what, float(np.mean(found)), detail=f"lowest of {len(found)} prompts {min(found):.4f}")


def precisions(say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A bfloat16 run beside a float32 run of the same weights: the demo models, whose answers and documents are known."""
    for folder in sorted(path for path in precision.DEMO.iterdir() if path.is_dir()):
        for found in precision.compare(str(folder)):
            say(precision.as_line(found))
            yield precision.as_row(found)


def memory_figure(name: str) -> Figure:
    """MiB that attn and mechlight add to the peak of a plain forward of 1,024 tokens, in a process of its own."""
    code = f"from precompute import bench; print(bench.memory_above_forward({name!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    mebibytes = float(done.stdout.strip().splitlines()[-1])
    return Figure(name, 1024, "MiB above a plain forward's peak, attn + mechlight", mebibytes, 50, at_most=True)


def memory_above_forward(name: str) -> float:
    config = SMALL[name]()
    config.max_position_embeddings = max(1024, config.max_position_embeddings)
    lm = random_model(name, config, torch.device("cpu"), torch.float32)
    explain(prompts_of(lm, 8, 1), attn.PLUGIN, mechlight.PLUGIN)
    clean = prompts_of(lm, 1024, 1)
    with torch.no_grad():
        lm.model(clean.ids)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    explain(clean, attn.PLUGIN, mechlight.PLUGIN)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def throughput(name: str, lm: LanguageModel, tokens: int) -> dict[str, Any]:
    """Instances a second of each explainer on a GPU, as the batch job asks, and fa's share of the matrix-product rate."""
    size = min(64, lm.budget.holds(tokens))
    clean = prompts_of(lm, tokens, size)
    rate = matrix_rate(lm.device, lm.model.dtype, rows=8192, width=lm.width)
    steps = {"fa": (fa.PLUGIN,), "ig": (ig.PLUGIN,), "attn + mechlight": (attn.PLUGIN, mechlight.PLUGIN)}
    found = {what: size / best(partial(explain, clean, *used), rounds=2)[0] for what, used in steps.items()}
    work = tokens * (tokens + 1) / 2 * 2 * body_parameters(lm)
    return {"model": name, "tokens": tokens, "batch": size, "instances_per_second": found,
            "share_of_matrix_rate": found["fa"] * work / rate, "matrix_rate": rate,
            "spearman_batch_alone": agreement(lm, CleanPass(lm, clean.prompts[:4]))}  # fmt: skip


def paper_hours(rows: list[dict[str, Any]], regimes: int = 6) -> dict[str, float]:
    """Per model, the hours of the paper's four datasets under six regimes with all explainers."""
    hours: dict[str, float] = {}
    for model in dict.fromkeys(row["model"] for row in rows):
        at = {row["tokens"]: row["instances_per_second"] for row in rows if row["model"] == model}
        seconds = sum(count * regimes * sum(1 / s for s in at[tokens].values()) for count, tokens in PAPER.values())
        hours[model] = seconds / 3600
    return hours


def run(names: list[str], tokens: list[int], out: Path | None, say: Callable[[str], None]) -> dict[str, Any]:
    """The whole benchmark; also as JSON where `out` says. names: of SMALL, or local folders and hub ids."""
    cpu = torch.device("cpu")
    rows: list[Figure] = []
    for name in names or list(SMALL):
        if name in SMALL:
            lm = random_model(name, SMALL[name](), cpu, torch.float32)
        else:
            config = AutoConfig.from_pretrained(name, trust_remote_code=False)
            lm = random_model(name, config, cpu, torch.float32)
        for length in tokens:
            if length > lm.positions:
                raise HEvalError(f"{name} reads at most {lm.positions} tokens; --tokens asks for {length}.")
            for figure in figures(name, lm, length):
                rows.append(figure)
                say(as_line(figure))
        rows.append(short_figure(name, lm))
        say(as_line(rows[-1]))
        if name in SMALL:
            for figure in (memory_figure(name), *rounding_figures(name)):
                rows.append(figure)
                say(as_line(figure))
    compared = list(precisions(say))
    result = {
        "machine": machine(), "figures": [asdict(f) | {"reached": f.reached} for f in rows], "precision": compared,
    } | on_gpu(say)  # fmt: skip
    if out is not None:
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def on_gpu(say: Callable[[str], None]) -> dict[str, Any]:
    if not torch.cuda.is_available():
        say("no NVIDIA GPU here: the real sizes were not run")
        return {"gpu": None}
    rows = []
    for name, config in REAL.items():
        lm = random_model(name, config(), torch.device("cuda"), torch.bfloat16)
        for tokens in REAL_TOKENS:
            rows.append(throughput(name, lm, tokens))
            speeds = ", ".join(f"{what} {speed:.1f}" for what, speed in rows[-1]["instances_per_second"].items())
            say(f"{name:14} {tokens:4} tokens: instances/s {speeds}; fa at {rows[-1]['share_of_matrix_rate']:.0%}")
        del lm
        torch.cuda.empty_cache()
    hours = paper_hours(rows)
    say("the paper's grid: " + ", ".join(f"{model} {value:.1f} h" for model, value in hours.items()))
    return {"gpu": torch.cuda.get_device_name(), "throughput": rows, "paper_hours": hours}


def as_line(figure: Figure) -> str:
    sign = {True: "reached", False: "MISSED", None: ""}[figure.reached]
    aim = "" if figure.aim is None else f"{'at most' if figure.at_most else 'at least'} {figure.aim:g}"
    return (
        f"{figure.model:14} {figure.tokens:5}  {figure.what:48} {figure.ratio:7.2f}  {aim:14} {sign:8} {figure.detail}"
    )


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(), "cpu": _cpu(), "threads": torch.get_num_threads(),
        "cores": os.cpu_count(), "torch": torch.__version__, "python": platform.python_version(),
    }  # fmt: skip


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
