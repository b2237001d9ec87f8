"""Feature ablation: how much the answer's logit falls when one token is replaced.

Formula (Sun et al. 2025, eq. 7): phi_i = z_a(x) - z_a(x with token i replaced by the baseline token), one token at a
time, positions fixed, attention mask 1; z_a is the logit of the answer's first token at the last prompt position.
Reference: Sun et al., arXiv 2510.02629; Zeiler & Fergus 2014 (occlusion).
Departure: none. Baseline token (decision): the tokenizer's pad if defined, else its end of text; stored with the result.
Options: `target` in logit, logprob, prob, contrast (z_a - z_b); `baseline_id`.
Cost: n(n+1)/2 token-forwards instead of n²: tokens before i do not change, so their keys and values are kept from the
clean pass and only the suffix is run; neighbouring positions share a prefix and go in one batch.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.records import Attribution, Contrast, HEvalError

if TYPE_CHECKING:
    import torch

    from heval_core.lm.model import CleanPass

# Larger blocks share less of their prefix: every row of a block runs from the block's first position.
LARGEST_BLOCK = 16
TARGETS = ("logit", "logprob", "prob", "contrast")


def target_value(logits: torch.Tensor, contrast: Contrast, target: str) -> torch.Tensor:
    """(b, V) logits ▶ (b,) values of what is explained. Raises HEvalError for an unknown target."""
    if target not in TARGETS:
        raise HEvalError(f"fa has no target {target!r}; there are: {', '.join(TARGETS)}.")
    if target == "logit":
        return logits[:, contrast.target]
    if target == "contrast":
        return logits[:, contrast.target] - logits[:, contrast.foil]
    log_probability = logits.log_softmax(-1)[:, contrast.target]
    return log_probability if target == "logprob" else log_probability.exp()


@dataclass(frozen=True)
class FeatureAblation:
    target: str = "logit"
    baseline_id: int | None = None

    key = "fa"
    title = "Feature ablation"
    signed = True
    control = False
    reference = "Sun et al. 2025, eq. 7 (arXiv 2510.02629)"

    def explain(self, clean: CleanPass, contrast: Contrast) -> Attribution:
        started = time.perf_counter()
        baseline = clean.lm.baseline_id if self.baseline_id is None else self.baseline_id
        value = target_value(clean.logits[None], contrast, self.target)
        n = clean.ids.shape[1]
        scores = np.empty(n, dtype=np.float32)
        start = 0
        while start < n:
            stop = min(start + max(1, min(LARGEST_BLOCK, clean.lm.batch_tokens // (n - start))), n)
            suffixes = clean.ids[:, start:].repeat(stop - start, 1)
            for row in range(stop - start):
                suffixes[row, row] = baseline
            logits = clean.lm.suffix_logits(clean.prefix, start, suffixes)
            scores[start:stop] = (value - target_value(logits, contrast, self.target)).cpu().numpy()
            start = stop
        return Attribution(
            self.key,
            scores,
            time.perf_counter() - started,
            repr(self),
            details=(("baseline_id", float(baseline)),),
        )


PLUGIN = FeatureAblation()
