"""How a cell's value is made of the values that are stored of its instances, so that it can be resampled without its tokens.

A mean over cells needs replicates of each cell's value. From the scores of all tokens these take seconds; from the values of
the instances, which the table `score` has, a tenth of one. A metric says here which of these values its own is made of.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from heval_core.groups import context_groups

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
