"""Feature ablation: how much the answer's logit falls when one token is replaced.

Formula (Sun et al. 2025, eq. 7): phi_i = z_a(x) - z_a(x with token i replaced by the baseline token), one token at a
time, positions fixed, attention mask 1; z_a is the logit of the answer's first token at the last prompt position. For a target
of several tokens, z_a is the sum of their logits.
Reference: Sun et al., arXiv 2510.02629; Zeiler & Fergus 2014 (occlusion).
Departure: none. Baseline token (our decision): the tokenizer's pad if defined, else its end of text; stored with the result.
Options: `target` in logit, logprob, prob, contrast (z_a - z_b); `baseline_id`.
Cost: n(n+1)/2 token-forwards instead of n²: tokens before i do not change, so their keys and values are kept from the
clean pass and only the suffix is run. A block of w neighbouring positions of B prompts runs as one batch, from the
block's first position on: this wastes B n w / 2 tokens, and takes n / w passes. The last layer's MLP runs for the last
position only. Models without keys and values run the whole prompt every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heval_core.records import Attribution, Cost, HEvalError, Span, Target

if TYPE_CHECKING:
    import torch

    from heval_core.lm.clean_pass import CleanPass

# The fixed cost of a pass, in tokens: a CPU reads the weights, a GPU also starts many kernels.
PASS_OVERHEAD = {"cpu": 32, "other": 512}
LARGEST_BLOCK = 32
# So many last positions are read out together: the unembedding is too large a matrix to read for a few rows.
READ_TOGETHER = 256
TARGETS = ("logit", "logprob", "prob", "contrast")  # `lm.targets` computes them


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
        """The clean pass, and one for each token over the rest of the prompt: half of it on average."""
        return Cost(tokens + 1, tokens * tokens / 2 + tokens)

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        import torch

        from heval_core.lm.targets import positions_of, values

        self.check()
        clock = clean.clock()
        lm, positions = clean.lm, positions_of(targets)
        baseline = lm.baseline(self.baseline_id)
        value = values(clean.logits_at(positions), targets, self.target)[:, None].cpu().numpy()
        prompts, n = clean.ids.shape
        last = max(position % n for position in positions) + 1  # no later token can matter
        scores = np.zeros((prompts, n), dtype=np.float32)
        width = block_size(prompts, n, lm.budget.tokens, lm.device.type)
        waiting: list[torch.Tensor] = []
        first = 0
        for start in range(0, last, width):
            stop = min(start + width, last)
            tokens = [Span(token, token + 1) for token in range(start, stop)]
            waiting.append(lm.ablation.spans(clean.ids, clean.prefix, tokens, baseline, positions))
            if prompts * len(positions) * (stop - first) >= READ_TOGETHER or stop == last:
                logits = lm.read_out.logits(torch.cat(waiting, 1))
                scores[:, first:stop] = value - values(logits, targets, self.target).cpu().numpy()
                waiting, first = [], stop
        seconds = clock.stop()
        details = (("baseline_id", float(baseline)),)
        return [Attribution(self.key, row, seconds, repr(self), details=details) for row in scores]


PLUGIN = FeatureAblation()
