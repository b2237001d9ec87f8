"""Feature ablation: how much the answer's logit falls when one token is replaced.

Formula (Sun et al. 2025, eq. 7): phi_i = z_a(x) - z_a(x with token i replaced by the baseline token), one token at a
time, positions fixed, attention mask 1; z_a is the logit of the answer's first token at the last prompt position.
Reference: Sun et al., arXiv 2510.02629; Zeiler & Fergus 2014 (occlusion).
Departure: none. Baseline token (our decision): the tokenizer's pad if defined, else its end of text; stored with the result.
Options: `target` in logit, logprob, prob, contrast (z_a - z_b); `baseline_id`.
Cost: n(n+1)/2 token-forwards instead of n²: tokens before i do not change, so their keys and values are kept from the
clean pass and only the suffix is run. A block of w neighbouring positions of B prompts runs as one batch, from the
block's first position on: this wastes B n w / 2 tokens, and takes n / w passes. The last layer's MLP runs for the last
position only. Models without keys and values run the whole prompt every time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.records import Attribution, Contrast, Cost, HEvalError

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass

# The fixed cost of a pass, in tokens: a CPU reads the weights, a GPU also starts many kernels.
PASS_OVERHEAD = {"cpu": 32, "other": 512}
LARGEST_BLOCK = 32
# So many last positions are read out together: the unembedding is too large a matrix to read for a few rows.
READ_TOGETHER = 256
TARGETS = ("logit", "logprob", "prob", "contrast")


def target_values(logits: torch.Tensor, contrasts: Sequence[Contrast], target: str) -> torch.Tensor:
    """(B, w, V) logits ▶ (B, w) values of what is explained."""

    def of(token_ids: list[int]) -> torch.Tensor:
        import torch

        index = torch.tensor(token_ids, device=logits.device)[:, None, None]
        return logits.gather(-1, index.expand(-1, logits.shape[1], 1))[..., 0]

    value = of([contrast.target for contrast in contrasts])
    if target == "contrast":
        return value - of([contrast.foil for contrast in contrasts])
    if target == "logit":
        return value
    log_probability = value - logits.logsumexp(-1)
    return log_probability if target == "logprob" else log_probability.exp()


def block_size(prompts: int, length: int, budget: int, device: str) -> int:
    """The cheapest width w of a block: sqrt(2 · overhead / B), within the budget of tokens."""
    best = round((2 * PASS_OVERHEAD.get(device, PASS_OVERHEAD["other"]) / prompts) ** 0.5)
    return max(1, min(best, LARGEST_BLOCK, budget // (prompts * length)))


@dataclass(frozen=True)
class FeatureAblation:
    target: str = "logit"
    baseline_id: int | None = None

    key = "fa"
    title = "Feature ablation"
    signed = True
    family = "perturbation"
    control = False
    default = True
    needs = ()
    order = 2
    reference = "Sun et al. 2025, eq. 7 (arXiv 2510.02629)"

    def check(self) -> None:
        """Raises HEvalError for an unknown target."""
        if self.target not in TARGETS:
            raise HEvalError(f"fa has no target {self.target!r}; there are: {', '.join(TARGETS)}.")

    def cost(self, tokens: float) -> Cost:
        """A pass for each token, over the rest of the prompt: half of it on average."""
        return Cost(tokens, tokens * tokens / 2)

    def explain(self, clean: CleanPass, contrasts: Sequence[Contrast]) -> list[Attribution]:
        import torch

        self.check()

        started = time.perf_counter()
        baseline = clean.lm.baseline(self.baseline_id)
        value = target_values(clean.logits[:, None], contrasts, self.target)
        prompts, n = clean.ids.shape
        ablated = np.empty((prompts, n), dtype=np.float32)
        width = block_size(prompts, n, clean.lm.budget.tokens, clean.lm.device.type)
        waiting: list[torch.Tensor] = []
        first = 0
        for start in range(0, n, width):
            stop = min(start + width, n)
            waiting.append(clean.lm.ablation.tokens(clean.ids, clean.prefix, range(start, stop), baseline))
            if prompts * (stop - first) >= READ_TOGETHER or stop == n:
                logits = clean.lm.read_out.logits(torch.cat(waiting, 1))
                ablated[:, first:stop] = target_values(logits, contrasts, self.target).cpu().numpy()
                waiting, first = [], stop
        scores = value.cpu().numpy() - ablated
        seconds = (time.perf_counter() - started) / prompts
        details = (("baseline_id", float(baseline)),)
        return [Attribution(self.key, row, seconds, repr(self), details=details) for row in scores]


PLUGIN = FeatureAblation()
