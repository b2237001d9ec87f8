"""Length sensitivity: does an explainer get worse as prompts get longer?

Formula: the slope of a least-squares line through the instances' normalised values (0 = chance, 1 = best, which removes the
effect of length on chance) against their number of tokens, per 100 tokens. With two documents, the mean of two slopes: of the
instances that used the first and of those that used the second, so that both weigh the same. Parts: `mrr` and
`instance_rank_margin`.
Reference: ours; Sun et al. 2025 report falling accuracy with context length (arXiv 2510.02629). Departure: the paper compares
datasets; within one, everything but length is more alike.
Range: real; 0 is no sensitivity, negative means worse with length. Chance: 0. Best: not defined.
Each group needs 30 instances, with prompts of at least 5 different lengths; otherwise the value is not available.

Worked by hand: values .9, .7, .5 at 100, 200, 300 tokens fall by .2 per 100.

>>> slope(np.array([100, 200, 300]), np.array([0.9, 0.7, 0.5]))
-0.2
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heval_core.metrics.shared.broken_ties import reciprocal
from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import Measure
from heval_core.metrics.shared.ranks import Base, Ranked, of_answer
from heval_core.statistics.values import SMALLEST_GROUP, Each, Sums, Value, normalised, too_small

PER = 100.0
FEWEST_LENGTHS = 5


def slope(lengths: np.ndarray, values: np.ndarray) -> float:
    """Fit the least-squares slope of values against lengths, per 100 tokens; NaN if all lengths are equal."""
    x = np.asarray(lengths, dtype=np.float64) / PER
    centred = x - x.mean()
    spread = float((centred**2).mean())
    return round(float((centred * values).mean()) / spread, 12) if spread else float("nan")


@dataclass(frozen=True)
class LengthSensitivity(Base):
    smallest_group: int = SMALLEST_GROUP

    key = "length_sensitivity"
    title = "Length sensitivity"
    reference = "ours; the effect: Sun et al. 2025 (arXiv 2510.02629)"
    measures = (
        Measure(
            "length",
            "Length sensitivity",
            ("mrr",),
            "normalised MRR per 100 tokens",
            "How much the normalised MRR changes per 100 tokens of prompt; below 0, longer prompts are explained worse.",
            question="RQ3",
            order=70,
            best="zero",
            used_only=True,
            paper="ours, for the paper's text",
        ),
    )

    def over(self, cell: Cell, k: int) -> list[Value]:
        values = {"mrr": of_answer(cell, reciprocal), "instance_rank_margin": Ranked().margins(cell, k)}
        return [self._slope(part, each, cell.layout.lengths) for part, each in values.items() if each]

    def _slope(self, part: str, parts: Sequence[Each], lengths: np.ndarray) -> Value:
        values = [normalised(each.value, each.chance, each.best) for each in parts]
        used = [np.isfinite(of_group) for of_group in values]
        sizes = tuple((each.part, int(defined.sum())) for each, defined in zip(parts, used, strict=True))
        different = min(len(np.unique(lengths[defined])) for defined in used)
        reason = too_small(sizes, self.smallest_group)
        if reason is None and different < FEWEST_LENGTHS:
            reason = f"prompts have {different} of the {FEWEST_LENGTHS} different lengths needed"
        if reason:
            return Value(part, sizes=sizes, unavailable=reason)
        columns: list[Sums] = []
        for of_group, defined in zip(values, used, strict=True):
            # Centred first, because the means of squares below would lose digits otherwise.
            x = (lengths - lengths[defined].mean()) / PER
            y = np.where(defined, of_group, 0.0)
            columns += [Sums.of(column, defined) for column in (x, y, x * y, x * x)]
        slopes = [slope(lengths[defined], of_group[defined]) for of_group, defined in zip(values, used, strict=True)]
        spread = float(np.sqrt(np.mean([lengths[defined].var() for defined in used])))
        return Value(
            part,
            float(np.mean(slopes)),
            0.0,
            float("nan"),
            sizes,
            columns=tuple(columns),
            combine=_slopes,
            details=(("length_sd", spread),),
        )


def _slopes(means: np.ndarray) -> np.ndarray:
    x, y, xy, xx = np.moveaxis(means.reshape(*means.shape[:-1], -1, 4), -1, 0)
    return np.asarray(((xy - x * y) / (xx - x * x)).mean(axis=-1))


PLUGIN = LengthSensitivity()
