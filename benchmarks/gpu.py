"""What one card does, unattended, in minutes: seconds and memory of every explainer on random weights of the paper's shapes.

Each step starts only if what it is likely to take, by the tokens that it declares, still fits; a step that does not is a row
that says so. The batch is halved until memory suffices, as in the batch job. On a machine without a card it says that, and
measures nothing; tests run it on the CPU with tiny shapes.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import PretrainedConfig

from benchmarks.others import captum_ablation, captum_scale
from benchmarks.table import EXACT, as_text, gap
from benchmarks.timing import PAPER, Taken, matrix_rate, parameters_of_layers, prompts_of, random_model, taken
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.records import REGIMES, Target
from heval_core.statistics.correlation import spearman

LENGTHS = (100, 1000, 4000)
# Of the whole command; a card is lent by the minute.
SECONDS = 440.0
MOST = 64
# What takes fewer seconds is done twice. The explainer whose largest batch is looked for keeps the most.
LONG, LARGEST = 3.0, "gxi"
# The paper's grid (methods.md, section 1 and 5): explained instances per regime, and about how long their prompts are.
GRID = {"world_capital": (2000, 40), "counterfact": (802, 40), "fakepedia": (1000, 300), "conflictqa": (1000, 300)}
# Prompts on which bfloat16 with a float32 read-out is compared with float32.
COMPARED, CHECKED = 4, "gpt2-xl"
Row = dict[str, Any]


def on_gpu(
    say: Callable[[str], None],
    result: dict[str, Any],
    shapes: Mapping[str, Callable[[], PretrainedConfig]] = PAPER,
    lengths: Sequence[int] = LENGTHS,
    device: str = "cuda",
    seconds: float = SECONDS,
) -> None:
    """Fill in rows of every model, length and explainer, hours of the paper's grid, and how close bfloat16 is, as known."""
    rows = result["gpu_rows"] = list[Row]()
    if device == "cuda" and not torch.cuda.is_available():
        say("no NVIDIA GPU here: nothing was measured")
        return
    end, hours = time.monotonic() + seconds, result.setdefault("grid_hours", {})
    for number, (name, config) in enumerate(shapes.items()):
        until = time.monotonic() + (end - time.monotonic()) / (len(shapes) - number)
        dtype = torch.bfloat16 if device == "cuda" else torch.float32  # in which a processor explains by all of them
        lm = random_model(name, config(), torch.device(device), dtype)
        for row in _of_model(lm, [length for length in lengths if length <= lm.positions], until):
            rows.append(row)
            say(as_text(row))
        in_grid = grid_hours([row for row in rows if row["model"] == name])
        hours |= {} if in_grid is None else {name: in_grid}
        if name == CHECKED or len(shapes) == 1:
            close = result["spearman_with_float32"] = rounding(lm, config(), min(lengths))
            say("bfloat16 with a float32 read-out, Spearman with float32: " + _listed(close))
        del lm
        torch.cuda.empty_cache()
    say("hours of the paper's grid, the paper's four explainers: " + _listed(hours))


def _listed(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {value:.3g}" for what, value in numbers.items()) or "not measured"


def _of_model(lm: LanguageModel, lengths: Sequence[int], until: float) -> Iterator[Row]:
    """Yield the rows of one model: short prompts first, which tell what longer ones will take, and of one length what is
    quick.
    """
    rate = matrix_rate(lm.device, lm.model.dtype, rows=4096, width=lm.width)
    explainers = [one for one in catalogue.explainers().values() if not catalogue.needs_fit(one)]
    a_token = dict.fromkeys((each.key for each in explainers), 2 * parameters_of_layers(lm.model) / (rate / 4))
    share = (until - time.monotonic()) / (8 * len(lengths) * len(explainers))
    for tokens in lengths:
        takes = {each.key: a_token[each.key] * each.cost(tokens).tokens for each in explainers}
        for explainer in sorted(explainers, key=lambda each: takes[each.key]):
            likely, left = takes[explainer.key], until - time.monotonic()
            row: Row = {"model": lm.key, "tokens": tokens, "explainer": explainer.key}
            if likely > left:
                yield row | {"left_out": f"about {likely:.0f} s a prompt, and the time was up"}
                continue
            row |= _measured(lm, explainer, tokens, int(np.clip(share / likely, 1, MOST)))
            if "seconds" in row:
                a_token[explainer.key] = row["seconds"] / explainer.cost(tokens).tokens
            if explainer.key == LARGEST and "seconds" in row and lm.device.type == "cuda":
                row["largest_batch"] = largest(lm, tokens, row["batch"])
            if explainer.key == "fa" and "seconds" in row:
                work = tokens * (tokens + 1) * parameters_of_layers(lm.model)
                row["share_of_matrix_rate"] = work / row["seconds"] / rate
                row |= _beside_captum(lm, tokens, row["seconds"], until)
            yield row


def largest(lm: LanguageModel, tokens: int, count: int) -> int:
    """Return how many prompts fit together, `count` and its doubles, in a pass and its gradient."""
    try:
        while True:
            explained(prompts_of(lm, tokens, 2 * count), catalogue.method(LARGEST))
            count *= 2
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return count


def _measured(lm: LanguageModel, explainer: Method, tokens: int, most: int = MOST) -> Row:
    """Measure the seconds a prompt, in the largest batch that fits, of at most `most`, and the peak above the model's own
    memory.
    """
    budget = lm.budget.tokens

    def attempt() -> tuple[int, Taken]:
        together = min(most, lm.budget.batch_size(tokens))
        return together, _quicker(partial(explained, prompts_of(lm, tokens, together), explainer), lm.device)

    try:
        require(lm, explainer.needs)
        explained(prompts_of(lm, 8, 1), explainer)  # what a model or a kind of pass needs only once
        together, result = lm.budget.within(tokens, attempt)
    except Exception as error:  # too little memory, or a model that it cannot explain: the others are measured all the same
        return {"left_out": f"{type(error).__name__}: {error}"}
    finally:
        lm.budget.tokens = budget
    return {"batch": together, "seconds": result.seconds / together, "gigabytes": result.gigabytes}


def _quicker(step: Callable[[], Any], device: torch.device) -> Taken:
    """Time a step twice, since a card prepares itself for each new shape of a matrix, and take the less; once, where it takes
    long.
    """
    first = taken(step, device)
    return first if first.seconds > LONG else min(first, taken(step, device), key=lambda each: each.seconds)


def explained(clean: CleanPass, explainer: Method) -> list[np.ndarray]:
    """Compute scores, with a clean pass of its own, as the batch job does: the first answer against the runner-up."""
    fresh = CleanPass(clean.lm, clean.prompts)
    targets = [Target.next_token(*pair) for pair in fresh.logits.topk(2).indices.tolist()]
    return [result.scores for result in explainer.explain(fresh, targets)]


def _beside_captum(lm: LanguageModel, tokens: int, seconds: float, until: float) -> Row:
    """Time captum's feature ablation over some positions, scaled to all, and measure how far its scores are from ours."""
    if time.monotonic() + 2 * seconds > until:
        return {}
    clean = prompts_of(lm, tokens, 1)
    (prompt,), (scores,) = clean.prompts, explained(clean, catalogue.method(EXACT))
    target = int(clean.logits.argmax())
    try:
        result = _quicker(partial(captum_ablation(lm), prompt, target), lm.device)
    except torch.OutOfMemoryError as error:  # it asks for the logits of all tokens
        return {"captum_left_out": str(error).splitlines()[0]}
    return {"captum_times": result.seconds * captum_scale(prompt) / seconds, "captum_gap": gap(result.result, scores, prompt)}


def grid_hours(rows: Sequence[Row]) -> float | None:
    """Estimate the hours of the paper's data sets under six regimes with its four explainers, from the shortest prompts
    measured, by the tokens that each explainer declares. None where one of them was not measured.
    """
    shortest = min((row["tokens"] for row in rows), default=0)
    took = {row["explainer"]: row["seconds"] for row in rows if row["tokens"] == shortest and "seconds" in row}
    costs = {key: catalogue.method(key).cost for key in catalogue.default_methods()}
    if not took.keys() >= costs.keys():
        return None
    once = sum(n * took[key] * cost(t).tokens / cost(shortest).tokens for key, cost in costs.items() for n, t in GRID.values())
    return len(REGIMES) * once / 3600


def rounding(lm: LanguageModel, config: PretrainedConfig, tokens: int) -> dict[str, float]:
    """Compute explainer ▶ mean Spearman correlation of bfloat16's scores, read out in float32, with float32's of the same
    weights.
    """
    exact = random_model(lm.key, config, lm.device, torch.float32)
    exact.model.load_state_dict(lm.model.state_dict())
    clean, result = prompts_of(lm, tokens, COMPARED), {}
    targets = [Target.next_token(*pair) for pair in clean.logits.topk(2).indices.tolist()]
    for key in catalogue.default_methods():
        both = [catalogue.method(key).explain(CleanPass(each, clean.prompts), targets) for each in (lm, exact)]
        result[key] = float(np.mean([spearman(a.scores, b.scores) for a, b in zip(*both, strict=True)]))
    return result
