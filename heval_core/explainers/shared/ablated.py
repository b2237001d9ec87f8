"""Scores of single tokens by replacing each of them, as `fa` gives and `origin` may share out.

Blocks of tokens are replaced together, each in a row of its own; the tokens before a block are not run again. A block is of
several prompts, those of one clean pass: of unequal length, where that is padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from heval_core.records import BASELINE, PAD, Cost, HEvalError, Span, Target

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass

    Measure = Callable[[torch.Tensor], torch.Tensor]


# The fixed cost of a pass, in tokens: a CPU reads the weights, a GPU also starts many kernels.
PASS_OVERHEAD = {"cpu": 32, "other": 512}
LARGEST_BLOCK = 32
# So many last positions are read out together: the unembedding is too large a matrix to read for a few rows.
READ_TOGETHER = 256


def check_baseline(key: str, baseline: str) -> None:
    """Raise HEvalError for a baseline that names nothing."""
    if not baseline.strip():
        raise HEvalError(f"{key} has no baseline ''; name a word, {PAD}, or a token's number.")


def ablation_cost(tokens: float) -> Cost:
    """Return the cost: a pass for each token, over the rest of the prompt, which is half of it on average.

    The clean pass is not counted.
    """
    return Cost(tokens, tokens * tokens / 2)


def ablation_scores(clean: CleanPass, targets: Sequence[Target], scale: str = "logit", baseline: str = BASELINE) -> np.ndarray:
    """Compute how much each target's value falls when a token becomes the baseline token: (B, n) float32; 0 for unranked
    tokens.

    scale: see `lm.targets.values`. baseline: see `lm.baseline`.
    """
    from heval_core.lm.targets import values

    return falls(clean, targets, partial(values, targets=targets, scale=scale), baseline)


def falls(clean: CleanPass, targets: Sequence[Target], measure: Measure, baseline: str = BASELINE) -> np.ndarray:
    """Compute how much a measure of logits falls when a token becomes the baseline token: (B, n, …) float32; 0 for unranked
    tokens.

    measure: (B, …, P, V) logits at the targets' positions ▶ (B, …), or (B, …, P).
    """
    from heval_core.lm.targets import positions_of

    ranked, n = [prompt.ranked for prompt in clean.prompts], clean.length
    # No later token can matter.
    last = min(max(span.stop for span in ranked), max(clean.read_at(positions_of(targets))) + 1)
    first = min(span.start for span in ranked)
    drops = falls_of(clean, targets, measure, [Span(token, token + 1) for token in range(first, last)], baseline)
    scores = np.zeros((len(ranked), n, *drops.shape[2:]), dtype=np.float32)
    scores[:, first:last] = drops
    for row, tokens in zip(scores, ranked, strict=True):
        row[: tokens.start], row[tokens.stop :] = 0, 0
    return scores


def falls_of(
    clean: CleanPass, targets: Sequence[Target], measure: Measure, spans: Sequence[Span], baseline: str = BASELINE
) -> np.ndarray:
    """Compute how much a measure falls when all tokens of a span become the baseline token: (B, spans, …) float32, in their
    order.
    """
    import torch

    from heval_core.lm.targets import positions_of

    lm, positions, prompts = clean.lm, positions_of(targets), len(clean.ids)
    value = measure(clean.logits_at(positions))[:, None].cpu().numpy()
    scores = np.zeros((prompts, len(spans), *value.shape[2:]), dtype=np.float32)
    width = block_size(prompts, clean.length, lm.budget.tokens, lm.budget.device.type)
    width = max(1, min(width, READ_TOGETHER // (prompts * len(positions)))) if len(positions) > 1 else width
    waiting: list[torch.Tensor] = []
    first = 0
    for start in range(0, len(spans), width):
        stop = min(start + width, len(spans))
        waiting.append(replaced(clean, spans[start:stop], lm.baseline(baseline), positions))
        if prompts * len(positions) * (stop - first) >= READ_TOGETHER or stop == len(spans):
            logits = lm.read_out.logits(torch.cat(waiting, 1)).detach()
            scores[:, first:stop] = value - measure(logits).cpu().numpy()
            waiting, first = [], stop
    lm.budget.grow(prompts * min(width, len(spans)) * clean.length)  # blocks fill it where the prompts alone do not
    return scores


def replaced(clean: CleanPass, spans: Sequence[Span], token_id: int, positions: Sequence[int]) -> torch.Tensor:
    """Compute states at some positions, one span of tokens replaced at a time: (B, len(spans), P, …), for `ReadOut.logits`."""
    import torch

    first = min(*(span.start for span in spans), *clean.read_at(positions)) if clean.prefix.layers else 0
    ends = None if clean.ends is None else clean.ends.repeat_interleave(len(spans))
    suffixes = clean.ids[:, None, first:].repeat(1, len(spans), 1)
    for row, span in enumerate(spans):
        suffixes[:, row, span.start - first : span.end - first] = token_id
    with torch.no_grad():
        states = clean.lm.forward.suffix_states(clean.prefix, first, suffixes.flatten(0, 1), positions, None, ends)
    return states.view(clean.size, len(spans), len(positions), -1)


def block_size(prompts: int, length: int, budget: int, device: str) -> int:
    """Return the cheapest width w of a block: sqrt(2 · overhead / B), within the budget of tokens."""
    best = round((2 * PASS_OVERHEAD.get(device, PASS_OVERHEAD["other"]) / prompts) ** 0.5)
    return max(1, min(best, LARGEST_BLOCK, budget // (prompts * length)))
