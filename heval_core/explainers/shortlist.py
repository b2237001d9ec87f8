"""Shortlist: a cheap method proposes tokens, and feature ablation decides among them.

Formula (ours): phi_i = z_a(x) - z_a(x with token i replaced by the baseline token), as fa's, for the `count` tokens that `by`
scores highest. Of the m others nothing is measured: they get (s / 1000) r / m², with r from 0 up a token's place among them by
the proposer's score, equal scores sharing one, and s the smallest size of a fall that is not 0. So they stand below each token
whose replacement lowers the answer, above each whose replacement does not, in the proposer's order; and all of them together
are less than a thousandth of any fall: a sum over a mention or a document is the sum of what was measured there.
Option `by`: `cdla` or `cgim` (see those; tokens of the question can be proposed too), or `lexical`, which reads text only:
every token that spells the answer's first one, white space aside; it needs no `count`, and all others get 0.
Reference: ours; feature ablation as in Sun et al. 2025, eq. 7 (arXiv 2510.02629).
Departure: a token that is not proposed cannot win, whatever the answer would lose by it; fa asks about each.
Limits: where a source is proved by replacing the answer's mentions, `lexical` asks nearly that; if both agree, it is no news.
Cost: what the proposer costs, and a pass for each proposed token, over the prompt from the first of them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from heval_core.explainers.shared.ablated import falls_of
from heval_core.explainers.shared.base import Base, CleanPass
from heval_core.explainers.shared.screened import strongest
from heval_core.lm import rules
from heval_core.lm.shared_passes import CLEAN, HEADS
from heval_core.records import BASELINE, Cost, HEvalError, Span, Target

LEXICAL = "lexical"
# What a model must offer for each proposer; replacing is not offered in bfloat16 on a processor, as fa is not.
NEEDS = {"cdla": ("softmax attention", "heads"), "cgim": ("gradients", "softmax attention"), LEXICAL: ()}
# Together, the tokens that nobody replaced have less than this share of the smallest fall.
UNMEASURED = 1e-3


@dataclass(frozen=True)
class Shortlist(Base):
    by: str = "cdla"
    count: int = 5

    key = "shortlist"
    title = "Shortlist (ours)"
    family = "perturbation"
    order = 18
    choices = (("by", "proposer", tuple(NEEDS)),)
    reference = "ours; cf. Sun et al. 2025, eq. 7 (arXiv 2510.02629)"

    @property
    def needs(self) -> tuple[str, ...]:
        return (*NEEDS[self.by], "float32")

    def check(self) -> None:
        """Raise HEvalError for an unknown proposer, or nothing to be proposed."""
        super().check()
        if self.count < 1:
            raise HEvalError(f"shortlist needs at least 1 token to replace, not {self.count}.")

    def cost(self, tokens: float) -> Cost:
        """Return the cost: with `lexical` of two mentions; replaced tokens run five sixths of the prompt."""
        passes = min(2 if self.by == LEXICAL else self.count, tokens)
        back = rules.cost(tokens)
        proposed = {"cdla": Cost(1, 1, (HEADS,)), "cgim": back, LEXICAL: Cost(0, 0)}[self.by]
        return Cost(
            1 + proposed.passes + passes, tokens + proposed.tokens + passes * tokens * 5 / 6, (CLEAN, *proposed.shared)
        )

    def scored(self, clean: CleanPass, targets: Sequence[Target]) -> Any:
        proposals = self._proposals(clean, targets)
        details = (("baseline_id", float(clean.lm.baseline(BASELINE))),)
        rows = [self._decided(clean.alone(row), targets[row], proposals[row]) for row in range(clean.size)]
        return np.stack(rows), [{"details": details}] * clean.size

    def _proposals(self, clean: CleanPass, targets: Sequence[Target]) -> np.ndarray:
        """Compute the proposer's scores, (B, n)."""
        if self.by == "cdla":
            return np.asarray(sum(layers.sum(1) for layers in clean.direct_effects(targets)).cpu())
        if self.by == "cgim":
            return clean.relevance(rules.CGIM, targets, contrast=True).cpu().numpy()
        answers = [clean.lm.decode(_first(target, clean.length)).strip() for target in targets]
        return np.array(
            [
                [float(bool(answer) and token.strip() == answer) for token in prompt.tokens]
                for prompt, answer in zip(clean.prompts, answers, strict=True)
            ]
        )

    def _decided(self, clean: CleanPass, target: Target, proposals: np.ndarray) -> np.ndarray:
        """Compute the scores of the one prompt of a pass, (n,) float32."""
        from heval_core.lm.targets import values

        (prompt,), n = clean.prompts, clean.length
        last = min(prompt.ranked.stop, max(position % n for position in target.positions) + 1)
        eligible = np.arange(prompt.ranked.start, last)
        best = strongest(proposals[None, eligible], self.count)
        chosen = eligible[proposals[eligible] > 0 if self.by == LEXICAL else sorted(best)]
        falls = np.zeros(0, np.float32)
        if len(chosen):
            measure = partial(values, targets=[target])
            ((*falls,),) = falls_of(clean, [target], measure, [Span(int(token), int(token) + 1) for token in chosen])
        scores = np.zeros(n, dtype=np.float32)
        others = np.setdiff1d(eligible, chosen)
        scores[others] = unmeasured(proposals[others], np.asarray(falls))
        scores[chosen] = falls
        return scores


def unmeasured(proposals: np.ndarray, falls: np.ndarray) -> np.ndarray:
    """Score the m tokens that were not replaced, (m,), by the proposer's scores of them, (m,), and the others' falls."""
    smallest = np.abs(falls[falls != 0]).min(initial=1.0) if len(falls) else 1.0
    _, order = np.unique(proposals, return_inverse=True)
    return UNMEASURED * smallest * order / max(len(proposals), 1) ** 2


def _first(target: Target, length: int) -> tuple[int, ...]:
    """Return the token expected at the first of a target's positions."""
    return min((position % length, token) for position, token in zip(target.positions, target.ids, strict=True))[1:]


PLUGIN = Shortlist()
