"""What the paper's grid asks of one card, by count, on a processor: its passes and tokens, and how many of them are padding.

A tiny model answers and explains shards of prompts with a GPU's budget: first prompts of equal length together, then those of
similar length. So passes and tokens are counted. Hours are an estimate: LAUNCH for each pass and layer, and for each token its
matrix products at RATE. Both fit what one H100 took for the shape of Qwen2.5-7B (docs/benchmarks.md): feature ablation .26 s
at 100 tokens and 15.6 at 1,000, integrated gradients .22 and .73.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from transformers import GPT2Config

from benchmarks.gpu import GRID
from benchmarks.timing import prompts_of, random_model
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import Named
from heval_core.explaining.pipeline import Prepared
from heval_core.lm.budget import Budget
from heval_core.lm.model import LanguageModel
from heval_core.lm.passes import Counted, counting
from heval_core.plugins import catalogue
from heval_core.records import REGIMES, Instance, TokenisedPrompt

TINY = GPT2Config(vocab_size=2400, n_positions=1024, n_embd=16, n_layer=2, n_head=2, initializer_range=0.2)
# Lengths of prompts in SmolLM2's tokens, the shortest, in steps of a tenth, the longest: with one document, and with two.
# Of ConflictQA no questions were at hand whose passages hold the answers: Natural Questions stand for them.
LENGTHS = {
    "world_capital": ((18, 18, 19, 19, 20, 20, 21, 22, 22, 24, 33), (25, 26, 27, 28, 29, 29, 30, 31, 32, 34, 48)),
    "counterfact": ((16, 21, 22, 24, 26, 27, 28, 30, 32, 36, 64), (24, 31, 34, 36, 39, 40, 42, 45, 48, 54, 96)),
    "fakepedia": (
        (101, 122, 129, 133, 138, 144, 148, 154, 162, 174, 419),
        (197, 240, 253, 262, 269, 277, 285, 296, 310, 339, 716),
    ),
    "conflictqa": (
        (25, 67, 87, 103, 118, 132, 142, 150, 159, 172, 427),
        (41, 139, 172, 201, 221, 241, 259, 276, 294, 319, 837),
    ),
}
SHARD = 50
# Layers, and parameters of the layers, of the paper's models.
MODELS = {
    "qwen2.5-7B": (28, 6.53e9),
    "gpt2-xl": (48, 1.48e9),
    "pythia-6.9b": (32, 6.44e9),
    "qwen2.5-3B": (36, 2.77e9),
    "pythia-2.8b": (32, 2.52e9),
}
# Seconds for each layer of a pass, and FLOP/s. A pass that goes back as well, through captum, took five times the first.
LAUNCH, RATE, RECORDED = 0.5e-3, 417e12, 5


def count(say: Callable[[str], None], result: dict[str, Any], most: float = 1.0) -> None:
    """Fill in rows of passes and tokens, by data set and number of documents, and the hours of all regimes, with and without
    padding. most: the share of a shard's prompts that are looked at.
    """
    lm = random_model("tiny", TINY)
    rows, hours = result.setdefault("counts", []), result.setdefault("estimated_hours", {})
    for what, padding in (("equal", 0.0), ("similar", Budget.of(None, torch.device("cuda")).padding)):
        taken = dict.fromkeys(MODELS, 0.0)
        for data, lengths in LENGTHS.items():
            for documents, deciles in enumerate(lengths, start=1):
                lm.budget = Budget(8192, torch.device("cuda"), growing=True, padding=padding)
                row = _of_shard(lm, _prompts(lm, deciles, round(most * SHARD)))
                rows.append({"lengths": what, "data": data, "documents": documents, **row})
                say(_line(rows[-1]))
                shards = GRID[data][0] / round(most * SHARD) * (2 if documents == 1 else len(REGIMES) - 2)
                for name in MODELS:
                    taken[name] += shards * seconds(name, row) / 3600
        hours[what] = taken
        each = ", ".join(f"{name} {value:.1f}" for name, value in taken.items())
        say(f"{what} lengths: an estimated {sum(taken.values()):.0f} hours on one H100 ({each})")


def seconds(model: str, row: dict[str, float]) -> float:
    """Estimate the seconds of some passes of one of the paper's models."""
    layers, parameters = MODELS[model]
    return LAUNCH * layers * (row["passes"] + RECORDED * row["recorded"]) + 2 * parameters * row["tokens"] / RATE


def _line(row: dict[str, Any]) -> str:
    of = f"{row['lengths']:8} {row['data']:14} {row['documents']} document{'s' * (row['documents'] > 1):1}"
    batches = f"{row['prompts']} prompts in {row['batches']:2} batches, {row['padded']:.1%} padding"
    passes = f"{row['passes']:.0f} passes, {row['fa_passes']:.0f} of them feature ablation's"
    return f"{of} {batches}: {passes}; {row['tokens'] / row['prompts']:,.0f} tokens a prompt"


def _prompts(lm: LanguageModel, deciles: tuple[int, ...], number: int) -> list[TokenisedPrompt]:
    lengths = np.interp((np.arange(number) + 0.5) / number * 10, range(11), deciles).round().astype(int)
    return [prompts_of(lm, int(tokens), 1).prompts[0] for tokens in lengths]


def _of_shard(lm: LanguageModel, prompts: list[TokenisedPrompt]) -> dict[str, float]:
    """Answer and explain a shard as the batch job does, and count. The budget has grown before: in a run's first shards."""
    instance, names = Instance("", "", "", "", "", "", "?", "", ()), (Named("memory", "x", (5,)),)
    prepared, batches = [Prepared(instance, prompt, "x", names) for prompt in prompts], list[list[int]]()
    by_part: dict[str, Counted] = {}

    def grow(batch: list[Prepared]) -> None:
        pipeline.explain(pipeline.answer(lm, batch), catalogue.method("fa"))

    def work(batch: list[Prepared]) -> None:
        batches.append([len(one.prompt.ids) for one in batch])
        with counting(lm) as counted:
            answered = pipeline.answer(lm, batch)
        _add(by_part, "answer", counted)
        for key in catalogue.default_methods():
            with counting(lm) as counted:
                pipeline.explain(answered, catalogue.method(key))
            _add(by_part, key, counted)

    pipeline.in_batches(lm, prepared[:: len(prepared) // 3], grow)
    pipeline.in_batches(lm, prepared, work)
    read, run = sum(map(sum, batches)), sum(len(batch) * max(batch) for batch in batches)
    totals = {name: sum(getattr(each, name) for each in by_part.values()) for name in ("times", "recorded", "tokens")}
    return {
        "prompts": len(prompts),
        "batches": len(batches),
        "padded": run / read - 1,
        "passes": totals["times"],
        "recorded": totals["recorded"],
        "fa_passes": by_part["fa"].times,
        "tokens": totals["tokens"],
    }


def _add(by_part: dict[str, Counted], key: str, counted: Counted) -> None:
    total = by_part.setdefault(key, Counted())
    for name in ("tokens", "times", "recorded"):
        setattr(total, name, getattr(total, name) + getattr(counted, name))
