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
from heval_core import catalogue
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.needs import require
from heval_core.protocols import Method
from heval_core.records import REGIMES, HEvalError, Target
from heval_core.statistics.correlation import spearman

LENGTHS = (100, 1000, 4000)
# Of the whole command; a card is lent by the minute.
SECONDS = 440.0
MOST = 64
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
        found = grid_hours([row for row in rows if row["model"] == name])
        hours |= {} if found is None else {name: found}
        if name == CHECKED or len(shapes) == 1:
            close = result["spearman_with_float32"] = rounding(lm, config(), min(lengths))
            say("bfloat16 with a float32 read-out, Spearman with float32: " + _said(close))
        del lm
        if device == "cuda":
            torch.cuda.empty_cache()
    say("hours of the paper's grid, the paper's four explainers: " + _said(hours))


def _said(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {value:.3g}" for what, value in numbers.items()) or "not measured"


def _of_model(lm: LanguageModel, lengths: Sequence[int], until: float) -> Iterator[Row]:
    """The rows of one model, shortest prompts first, so that they tell what longer ones will take."""
    rate, before = matrix_rate(lm.device, lm.model.dtype, rows=4096, width=lm.width), dict[str, float]()
    for tokens in lengths:
        for explainer in _able(tokens):
            likely, left = before.get(explainer.key, 0.0) * explainer.cost(tokens).tokens, until - time.monotonic()
            row: Row = {"model": lm.key, "tokens": tokens, "explainer": explainer.key}
            if likely > left:
                row["left_out"] = f"about {likely:.0f} s a prompt, and the time was up"
            else:
                # A batch takes at most a quarter of what is left, as far as shorter prompts tell.
                row |= _measured(lm, explainer, tokens, int(np.clip(left / 4 / likely, 1, MOST)) if likely else MOST)
            if "seconds" in row:
                before[explainer.key] = row["seconds"] / explainer.cost(tokens).tokens
            if explainer.key == "fa" and "seconds" in row:
                work = tokens * (tokens + 1) / 2 * 2 * parameters_of_layers(lm.model)
                row |= {"share_of_matrix_rate": work / row["seconds"] / rate} | _beside_captum(
                    lm, tokens, row["seconds"], until
                )
            yield row


def _able(tokens: int) -> list[Method]:
    """Explainers without parameters to fit, the cheapest first: what does not fit into the time are the dear ones."""
    found = [one for one in catalogue.explainers().values() if not catalogue.needs_fit(one)]
    return sorted(found, key=lambda explainer: explainer.cost(tokens).tokens)


def _measured(lm: LanguageModel, explainer: Method, tokens: int, most: int = MOST) -> Row:
    """Seconds a prompt, in the largest batch that fits, of at most `most`, and the peak above the model's own memory."""
    together = 0

    def attempt() -> Taken:
        nonlocal together
        together = min(most, lm.budget.holds(tokens))
        clean = prompts_of(lm, tokens, together)
        return taken(partial(explained, clean, explainer), lm.device)

    try:
        require(lm, explainer.needs)
        explained(prompts_of(lm, 8, 1), explainer)  # the first pass of each kind is slower
        found = lm.budget.within(tokens, attempt)
    except HEvalError as error:  # too little memory for one prompt, or a model that it cannot explain
        return {"left_out": str(error)}
    return {"batch": together, "seconds": found.seconds / together, "gigabytes": found.gigabytes}


def explained(clean: CleanPass, explainer: Method) -> list[np.ndarray]:
    """Scores, with a clean pass of its own, as the batch job computes them: the first answer against the runner-up."""
    fresh = CleanPass(clean.lm, clean.prompts)
    targets = [Target.next_token(*pair) for pair in fresh.logits.topk(2).indices.tolist()]
    return [found.scores for found in explainer.explain(fresh, targets)]


def _beside_captum(lm: LanguageModel, tokens: int, own: float, until: float) -> Row:
    """captum's feature ablation over some positions, scaled to all, and how far its scores are from ours."""
    if time.monotonic() + 2 * own > until:
        return {}
    clean = prompts_of(lm, tokens, 1)
    (prompt,), (scores,) = clean.prompts, explained(clean, catalogue.method(EXACT))
    target = int(clean.logits.argmax())
    try:
        found = taken(partial(captum_ablation(lm), prompt, target), lm.device)
    except torch.OutOfMemoryError as error:  # it asks for the logits of all tokens
        return {"captum_left_out": str(error).splitlines()[0]}
    return {"captum_times": found.seconds * captum_scale(prompt) / own, "captum_gap": gap(found.result, scores, prompt)}


def grid_hours(rows: Sequence[Row]) -> float | None:
    """Of the paper's data sets under six regimes with its four explainers, from the shortest prompts measured, by the tokens
    that each explainer declares. None where one of them was not measured."""
    total, shortest = 0.0, min((row["tokens"] for row in rows), default=0)
    for key in catalogue.default_methods():
        at = [row for row in rows if (row["explainer"], row["tokens"]) == (key, shortest) and "seconds" in row]
        if not at:
            return None
        cost = catalogue.method(key).cost
        each = at[0]["seconds"] / cost(shortest).tokens
        total += sum(count * len(REGIMES) * each * cost(tokens).tokens for count, tokens in GRID.values())
    return total / 3600


def rounding(lm: LanguageModel, config: PretrainedConfig, tokens: int) -> dict[str, float]:
    """Explainer ▶ the mean Spearman correlation of its scores in bfloat16, read out in float32, with float32's of the same
    weights."""
    exact = random_model(lm.key, config, lm.device, torch.float32)
    exact.model.load_state_dict(lm.model.state_dict())
    clean, found = prompts_of(lm, tokens, COMPARED), {}
    targets = [Target.next_token(*pair) for pair in clean.logits.topk(2).indices.tolist()]
    for key in catalogue.default_methods():
        both = [catalogue.method(key).explain(CleanPass(each, clean.prompts), targets) for each in (lm, exact)]
        found[key] = float(np.mean([spearman(a.scores, b.scores) for a, b in zip(*both, strict=True)]))
    return found
