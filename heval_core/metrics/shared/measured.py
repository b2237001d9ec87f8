"""Metrics that the batch job measures by running the model again; here their values are only averaged."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heval_core.metrics.shared.cell import Cell
from heval_core.metrics.shared.measure import PROTECTED, Mean
from heval_core.records import REPLACEMENTS
from heval_core.records.groups import MEMORY, document_of
from heval_core.statistics.values import SMALLEST_GROUP, Each, Sums, Value, mean_of


def aopc(before: np.ndarray | float, after: np.ndarray) -> np.ndarray | float:
    """Average the loss of log-probability over the last axis.

    Args:
        before: (…,), log-probability of the answer with the whole prompt, in nats.
        after: (…, |K|), at each of the K levels of masking.

    Returns:
        (…,), in nats.
    """
    lost = (np.asarray(before)[..., None] - np.asarray(after)).mean(axis=-1)
    return float(lost) if lost.ndim == 0 else lost


@dataclass(frozen=True)
class MeasuredMetric:
    """A metric of what the batch job has measured.

    parts: what replaced the tokens that were taken out, and `all`, the mean over these; each also with PROTECTED. ends: the
    least and the largest possible value, where there are any.
    """

    smallest_group: int = SMALLEST_GROUP

    key: ClassVar[str]
    uses_k = False
    ends: ClassVar[tuple[float, float] | None] = None
    parts: ClassVar[tuple[str, ...]] = tuple(f"{part}{how}" for how in ("", PROTECTED) for part in ("all", *REPLACEMENTS))

    def each(self, cell: Cell, k: int) -> list[Each]:
        """Return the batch job's measurements of answers that a document or memory gave, by part; empty if it made none."""
        ours = np.array([group == MEMORY or document_of(group) is not None for group in cell.layout.groups])
        return [
            Each(part, value, chance, np.full(len(value), np.nan)).within(ours & np.isfinite(value))
            for (metric, part), (value, chance) in cell.measured.items()
            if metric == self.key and part in self.parts and np.isfinite(value).any()
        ]

    def over(self, cell: Cell, k: int) -> list[Value]:
        values = []
        for each in self.each(cell, k):
            value = mean_of(each.part, [each], self.smallest_group, ends=self.ends)
            if np.isfinite(value.chance):
                value = value._replace(chance_columns=(Sums.of(each.chance),))
            elif value.unavailable is None:  # it says something above random scores alone
                value = Value(value.part, sizes=value.sizes, unavailable="the random control lacks some of these answers")
            values.append(value)
        return values

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        return (Mean(self.key, part),) if part in self.parts else ()
