"""How a cell's value is made of the values that are stored of its instances, so that it can be resampled without its tokens.

A mean over cells needs replicates of each cell's value. From the scores of all tokens these take seconds; from the values of
the instances, which the table `score` has, a tenth of one. A metric says here which of these values its own is made of; those
that the batch job measures by running the model again are nothing but their means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from heval_core.groups import context_groups
from heval_core.metrics.shared.cell import Cell
from heval_core.replacements import REPLACEMENTS
from heval_core.statistics.values import SMALLEST_GROUP, Column, Each, Value, mean_of

# Suffix of parts in which the question is protected: only tokens of the documents are taken out.
PROTECTED = "_protected"


class Mean(NamedTuple):
    """A mean over instances of the values that `score` has of a metric and a part.

    groups: whose instances; empty for all that have a value. factor: with which the mean enters the cell's value.
    """

    metric: str
    part: str
    groups: tuple[str, ...] = ()
    factor: float = 1.0


@runtime_checkable
class SumOfMeans(Protocol):
    """A metric whose values of cells are sums of such means."""

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        """Of a part, in prompts with so many documents; empty if the part is not made of stored values."""


@runtime_checkable
class Limited(Protocol):
    """A metric with a least and a most possible value, which sums of resampled means could pass."""

    limits: tuple[float, float]


def means_of_used(metric: str, part: str, documents: int) -> tuple[Mean, ...]:
    """For values of the group whose document was used, and `balanced`, in which these groups weigh the same."""
    groups = context_groups(documents)
    if part == "balanced":
        return tuple(Mean(metric, group, factor=1 / documents) for group in groups)
    return (Mean(metric, part),) if part in groups else ()


def aopc(before: np.ndarray | float, after: np.ndarray) -> np.ndarray | float:
    """Mean loss of log-probability over the last axis: (…,) before and (…, |K|) after ▶ (…,)."""
    lost = (np.asarray(before)[..., None] - np.asarray(after)).mean(axis=-1)
    return float(lost) if lost.ndim == 0 else lost


@dataclass(frozen=True)
class MeasuredMetric:
    """parts: what replaced the tokens that were taken out, and `all`, the mean over these; each also with PROTECTED."""

    smallest_group: int = SMALLEST_GROUP

    key: ClassVar[str]
    uses_k = False
    parts: ClassVar[tuple[str, ...]] = tuple(f"{part}{how}" for how in ("", PROTECTED) for part in ("all", *REPLACEMENTS))

    def each(self, cell: Cell, k: int) -> list[Each]:
        """The batch job's measurements, by part; empty if it made none."""
        return [
            Each(part, value, np.where(np.isfinite(value), chance, np.nan), np.full(len(value), np.nan))
            for (metric, part), (value, chance) in cell.measured.items()
            if metric == self.key
        ]

    def over(self, cell: Cell, k: int) -> list[Value]:
        values = []
        for each in self.each(cell, k):
            value = mean_of(each.part, [each], self.smallest_group)
            if np.isfinite(value.chance):
                value = value._replace(chance_columns=(Column.of(each.chance),))
            values.append(value)
        return values

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        return (Mean(self.key, part),) if part in self.parts else ()
