"""What a metric is computed from: all instances of one cell (model, dataset, regime, explainer) as padded arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.scores import average_ranks
from heval_core.statistics import weighted_means

KS = (3, 5, 9)
SMALLEST_GROUP = 30


@dataclass(frozen=True, eq=False)
class Layout:
    """Where things stand in the prompts of N instances, padded to the longest prompt n.

    ranked: (N, n) bool, real tokens that take part in ranks. documents, gold: per document, (N, n) bool.
    groups: (N,) str. lengths: (N,) how many tokens are ranked.
    """

    ranked: np.ndarray
    documents: tuple[np.ndarray, ...]
    gold: tuple[np.ndarray, ...]
    groups: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return self.ranked.sum(axis=1)

    @classmethod
    def of(
        cls,
        lengths: Sequence[int],
        first_ranked: Sequence[int],
        documents: Sequence[Sequence[tuple[int, int]]],
        answer_tokens: Sequence[Sequence[Sequence[int]]],
        groups: Sequence[str],
    ) -> Layout:
        """From ragged columns: per instance its length, spans of documents and gold tokens of each document."""
        shape = (len(lengths), max(lengths, default=0))
        places = np.arange(shape[1])
        ranked = (places >= np.asarray(first_ranked)[:, None]) & (places < np.asarray(lengths)[:, None])
        count = len(documents[0]) if len(documents) else 0
        spans, gold = [], []
        for number in range(count):
            starts = np.array([spans_of[number][0] for spans_of in documents])[:, None]
            ends = np.array([spans_of[number][1] for spans_of in documents])[:, None]
            spans.append((places >= starts) & (places < ends))
            marked = np.zeros(shape, dtype=bool)
            for row, tokens in enumerate(answer_tokens):
                marked[row, list(tokens[number])] = True
            gold.append(marked)
        return cls(ranked, tuple(spans), tuple(gold), np.asarray(groups, dtype=str))


@dataclass(frozen=True, eq=False)
class Cell:
    """One explainer's scores over a layout. scores: (N, n), padding ignored."""

    layout: Layout
    ranks: np.ndarray

    @classmethod
    def of(cls, layout: Layout, scores: np.ndarray) -> Cell:
        return cls(layout, average_ranks(scores, layout.ranked))


class Each(NamedTuple):
    """Values of single instances. part: which document or group; value, chance: (N,), NaN where undefined."""

    part: str
    value: np.ndarray
    chance: np.ndarray


class Estimate(NamedTuple):
    """A value of a whole cell. `of_weights` maps (resamples, N) weights to the (resamples,) values they give."""

    part: str
    value: float
    chance: float
    sizes: tuple[tuple[str, int], ...]
    unavailable: str | None
    of_weights: Callable[[np.ndarray], np.ndarray]


def mean_estimate(each: Each, smallest_group: int) -> Estimate:
    """The mean over the instances where a value is defined; not available below `smallest_group` of them."""
    used = np.isfinite(each.value)
    sizes = ((each.part, int(used.sum())),)
    reason = too_small(sizes, smallest_group)

    def of_weights(weights: np.ndarray) -> np.ndarray:
        return weighted_means(weights, each.value, used)

    value, chance = (float("nan"),) * 2 if reason else (each.value[used].mean(), each.chance[used].mean())
    return Estimate(each.part, float(value), float(chance), sizes, reason, of_weights)


def pool(first: Each, second: Each) -> Each:
    """Two parts of which each instance belongs to at most one, as one part."""
    belongs_to_first = np.isfinite(first.value)
    return Each(
        "pooled",
        np.where(belongs_to_first, first.value, second.value),
        np.where(belongs_to_first, first.chance, second.chance),
    )


def too_small(sizes: tuple[tuple[str, int], ...], needed: int) -> str | None:
    """Why a value is not available, as pages print it; None where every group is large enough."""
    for group, size in sizes:
        if size < needed:
            return f"group {group} has {size} of the {needed} instances needed"
    return None
