"""Shuffled weights: does an explainer look at the model, or would it say the same of any?

Formula: Spearman's rank correlation, over the ranked tokens of a prompt, between an explainer's scores on the model and its
scores on the same model with shuffled weights, for the same answer token and the same competitor. Parts: `last`, the last
block is shuffled; `half`, the later half of the blocks; `all`, all of them (`heval_core/lm/shuffled.py`). An explainer whose
ranks survive does not look at the model: controls, which read the text alone, have 1.
Reference: Adebayo et al. 2018, Sanity Checks for Saliency Maps (arXiv 1810.03292), Spearman without absolute values.
Departure: see there. A low value says no more than that the model matters; it does not make an explanation right.
Range: [-1, 1]. Best: 0. Chance: the random control's value on the same answers, which is 1, for it does not look at the model.
Undefined where one of the two gives every token the same score, as string match does to answers from memory.
Cost: four times the explainer's own, on a few questions of each regime (`--randomised`).

Worked by hand: a model under which two of four tokens change places.

>>> from heval_core.statistics.correlation import spearman
>>> round(spearman(np.array([4.0, 3.0, 2.0, 1.0]), np.array([4.0, 2.0, 3.0, 1.0])), 1)
0.8
"""

from dataclasses import dataclass

import numpy as np  # noqa: F401  the example above uses it

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.measured import MeasuredMetric
from heval_core.records import DEPTHS
from heval_core.statistics.values import Each


@dataclass(frozen=True)
class Randomised(MeasuredMetric):
    smallest_group: int = 10

    key = "randomised"
    title = "Weights shuffled"
    higher_is_better = False
    parts = DEPTHS
    ends = (-1.0, 1.0)
    reference = "Adebayo et al. 2018 (arXiv 1810.03292)"
    measures = (
        Measure(
            "randomised",
            "Weights shuffled",
            DEPTHS,
            "rank correlation",
            "How much of an explainer's ranking of the tokens is left when the model's weights are shuffled, from the last "
            "block down. 1: it does not look at the model; 0: nothing is left.",
            best="zero",
            whole=("all",),
            part_titles=(("last", "last block"), ("half", "later half"), ("all", "all blocks")),
            needs="--randomised",
            sections=(),
        ),
    )

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return the rank correlation of each answer, by part."""
        return [each._replace(best=each.value * 0) for each in super().each(cell, k)]


PLUGIN = Randomised()
