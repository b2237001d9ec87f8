"""Feature ablation: how much the answer's logit falls when one token is replaced.

Formula (Sun et al. 2025, eq. 7): phi_i = z_a(x) - z_a(x with token i replaced by the baseline token), one token at a
time, positions fixed, attention mask 1; z_a is the logit of the answer's first token at the last prompt position. For a target
of several tokens, z_a is the sum of their logits.
Reference: Sun et al., arXiv 2510.02629; Zeiler & Fergus 2014 (occlusion).
Departure: the baseline token is the word "and", which never ends a text or a turn as the paper's pad may (docs/metrics.md has
what was measured; `baseline=pad` is the paper's); stored with the result.
Options: `target` in logit, logprob, prob, contrast (z_a - z_b); `baseline`: a word, `pad`, or a token's number; `screen`, for
whole answers alone: `sentences:N` or `cgim:N`, the tokens that are worth it (`shared/screened.py`).
Cost: n(n+1)/2 token-forwards instead of n²: tokens before i do not change, so their keys and values are kept from the
clean pass and only the suffix is run. A block of w neighbouring positions of B prompts runs as one batch, from the
block's first position on: this wastes B n w / 2 tokens, and takes n / w passes. The last layer's MLP runs for the last
position only. Models without keys and values run the whole prompt every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from heval_core.explainers.shared import screened
from heval_core.explainers.shared.ablated import ablation_cost, ablation_scores, check_baseline, falls
from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.lm.shared_passes import CLEAN
from heval_core.prompting.units import Matrix
from heval_core.records import BASELINE, Cost, HEvalError, Target

TARGETS = ("logit", "logprob", "prob", "contrast")  # `lm.targets` computes them


@dataclass(frozen=True)
class FeatureAblation(Base):
    target: str = "logit"
    baseline: str = BASELINE
    screen: str = ""

    key = "fa"
    title = "Feature ablation"
    family = "perturbation"
    default = True
    padded = True
    order = 2
    choices = (("target", "target", TARGETS),)
    reference = "Sun et al. 2025, eq. 7 (arXiv 2510.02629)"

    def __repr__(self) -> str:
        """Return its settings, by which results are found: also those of before there were screens."""
        screen = f", screen={self.screen!r}" if self.screen else ""
        return f"{type(self).__name__}(target={self.target!r}, baseline={self.baseline!r}{screen})"

    @property
    def needs(self) -> tuple[str, ...]:
        return () if self.screen.startswith("sentences") else ("float32",)

    @property
    def answers_only(self) -> bool:
        """Whether it leaves tokens without a score of their own, so that no batch job can rank them."""
        return bool(self.screen)

    def check(self) -> None:
        """Raise HEvalError for an unknown target or screen, or no baseline."""
        super().check()
        check_baseline(self.key, self.baseline)
        if self.screen:
            screened.parsed(self.screen)

    def cost(self, tokens: float) -> Cost:
        """Return the cost: the clean pass, and one for each token over the rest of the prompt, which is half of it on
        average.
        """
        part = screened.cost(tokens, self.screen) if self.screen else ablation_cost(tokens)
        return Cost(1 + part.passes, tokens + part.tokens, (CLEAN,))

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        if self.answers_only:  # ranks of tokens that were not looked at would be made up
            raise HEvalError(f"{self!r} does not score every token: it explains whole answers, and nothing is ranked by it.")
        details = (("baseline_id", float(clean.lm.baseline(self.baseline))),)
        return ablation_scores(clean, targets, self.target, self.baseline), [{"details": details}] * clean.size

    def matrix(self, clean: CleanPass, target: Target, sentences: Sequence[range]) -> Matrix:
        """Measure in nats (`logprob`), whatever the target option: all tokens of the answer are read from the same passes."""
        from heval_core.lm.targets import values_of_each

        self.check()
        measure = partial(values_of_each, targets=[target], scale="logprob")
        if self.screen:
            return screened.screened(clean, target, sentences, measure, self.screen, self.baseline)
        (scores,) = falls(clean, [target], measure, self.baseline)
        return Matrix.of_tokens(clean.prompts[0], scores)


PLUGIN = FeatureAblation()
