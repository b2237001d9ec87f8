"""Effects about techniques: a mean over cells, or the largest or the least of several means.

Formula: the largest of m means lies, at 95 %, between the highest of their lower limits, each at 1 - .05/m, and the highest of
their upper limits, each at 95 %. For the largest is nowhere below any of the means, and its own upper limit is nowhere above
the highest one. The least of them likewise, with the sides exchanged. So nothing is chosen first and then measured on the same
questions: the choice is in the interval. The value beside it is the mean whose limit decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.evaluation.findings.effects import Effect, differ
from heval_core.evaluation.findings.technique_evidence import Mean
from heval_core.statistics.bootstrap import percentile_interval

PLAIN, LARGEST, LEAST = "mean", "largest", "least"


@dataclass(frozen=True)
class Asked:
    """One effect that a sentence claims: a mean, or the largest or least of some, should lie in (least, most)."""

    means: tuple[Mean, ...]
    least: float = -np.inf
    most: float = np.inf
    which: str = PLAIN

    def effect(self, family: int) -> Effect:
        """family: how many effects the sentence has."""
        chosen = self._deciding()
        own, noise = chosen.values[0], np.nanvar(chosen.values[1:], axis=0)
        return Effect(
            chosen.label,
            chosen.value,
            *self._interval(0.05),
            *self._interval(0.05 / family),
            self.least,
            self.most,
            chosen.values.shape[1],
            chosen.n,
            agree=int(sum(self.least < one < self.most for one in own)),
            places=len(own),
            models=len(chosen.models),
            datasets=len(chosen.datasets),
            smallest=float(own.min()),
            largest=float(own.max()),
            apart=differ(own, noise),
        )

    def _interval(self, alpha: float) -> tuple[float, float]:
        corrected = alpha / len(self.means)
        sides = {PLAIN: (alpha, alpha), LARGEST: (corrected, alpha), LEAST: (alpha, corrected)}[self.which]
        lows, highs = (_ends(self.means, side, place) for place, side in enumerate(sides))
        if self.which == LEAST:
            return float(np.min(lows)), float(np.min(highs))
        return float(np.max(lows)), float(np.max(highs))

    def _deciding(self) -> Mean:
        """The mean whose limit is the effect's."""
        corrected = 0.05 / len(self.means)
        if self.which == LEAST:
            highs = _ends(self.means, corrected, 1)
            return min(zip(highs, self.means, strict=True), key=lambda pair: (pair[0], pair[1].value))[1]
        lows = _ends(self.means, corrected, 0)
        return max(zip(lows, self.means, strict=True), key=lambda pair: (pair[0], pair[1].value))[1]


def _ends(means: Sequence[Mean], alpha: float, place: int) -> list[float]:
    """The lower (0) or upper (1) limit of each mean at 1 - alpha."""
    return [float(percentile_interval(mean.drawn, 1 - alpha)[place]) for mean in means]
