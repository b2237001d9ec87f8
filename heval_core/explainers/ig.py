"""Integrated gradients over the input embeddings.

Formula (Sun et al. 2025, eq. 8): (x - x') * mean over k = 1..m of the gradient of z_a at x' + k/m (x - x'), summed over
the embedding's width, signed; m = 10 (right Riemann sum); x' has the baseline token (fa's) in place of every ranked token;
position embeddings are not interpolated. z_a: the logit of the answer's first token at the last prompt position; for a
target of several tokens, the sum of their logits.
Reference: Sundararajan et al. 2017; Sun et al., arXiv 2510.02629. Engine: captum's LayerIntegratedGradients on the
embedding layer, `method="riemann_right"`, with a forward that computes the last position's logits only.
Departure: the baseline token is fa's, the word "and" and not the pad (`baseline=pad` is the paper's). Tokens that are never
ranked (a BOS, a chat template, solved examples) stay as they are, so that no share of the change is theirs. captum's own
default is Gauss-Legendre: option `method`, any of captum's. Option `baseline`: as fa's.
Cost: m forward and backward passes over the ranked tokens and what follows; prompts of one clean pass run as one batch.
`completeness_gap` = |sum phi - (f(x) - f(x'))| / |f(x) - f(x')| is stored with the scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heval_core.explainers.shared.ablated import check_baseline
from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.lm.shared_passes import CLEAN
from heval_core.records import BASELINE, Cost, HEvalError, Target

METHODS = ("riemann_right", "riemann_left", "riemann_middle", "riemann_trapezoid", "gausslegendre")


@dataclass(frozen=True)
class IntegratedGradients(Base):
    steps: int = 10
    method: str = "riemann_right"
    baseline: str = BASELINE

    key = "ig"
    title = "Integrated gradients"
    family = "gradient"
    default = True
    padded = True
    needs = ("gradients",)
    answers = "sentence"
    order = 3
    choices = (("method", "method", METHODS),)
    reference = "Sun et al. 2025, eq. 8 (arXiv 2510.02629); Sundararajan et al. 2017"

    def check(self) -> None:
        """Raise HEvalError for an unknown method, no steps, or no baseline."""
        super().check()
        if self.steps < 1:
            raise HEvalError(f"ig needs at least one step, not {self.steps}.")
        check_baseline(self.key, self.baseline)

    def cost(self, tokens: float) -> Cost:
        """Return the cost: every step goes forward and back; the prompt and its baseline go forward once more."""
        passes = 2 * self.steps + 2
        return Cost(passes, passes * tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        import torch

        from heval_core.lm.targets import positions_of, values

        lm = clean.lm
        baseline, baselines = lm.baseline(self.baseline), clean.ids.clone()
        for row, prompt in zip(baselines, clean.prompts, strict=True):
            row[prompt.ranked.start : prompt.ranked.stop] = baseline
        how = self.steps, self.method, clean.prefix, clean.ends
        scores = lm.gradients.integrated(clean.ids, baselines, targets, *how).cpu().numpy()
        with torch.no_grad():
            at_baseline = lm.forward.checked(lm.forward.logits_at(baselines, positions_of(targets), clean.ends))
        change = (values(clean.logits_of(targets), targets) - values(at_baseline, targets)).tolist()
        gaps = [_gap(float(row.sum()), rise) for row, rise in zip(scores, change, strict=True)]
        return scores, [{"details": (("completeness_gap", gap), ("baseline_id", float(baseline)))} for gap in gaps]


def _gap(attributed: float, change: float) -> float:
    """Return how far the attributions' sum is from f(x) - f(x'), as a share of that; NaN if f does not change."""
    return abs(attributed - change) / abs(change) if change else float("nan")


PLUGIN = IntegratedGradients()
