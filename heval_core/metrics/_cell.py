"""What a metric is computed from: all instances of one cell (model, dataset, regime, explainer) as padded arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heval_core.scores import average_ranks
from heval_core.statistics import weighted_means

KS = (3, 5, 9)
SMALLEST_GROUP = 30


@dataclass(frozen=True, eq=False)
class Layout:
    """Where things stand in the prompts of N instances, padded to the longest prompt n.

    ranked: (N, n) bool, real tokens that take part in ranks. documents, gold, first_mention: per document, (N, n) bool.
    groups: (N,) str. lengths: (N,) how many tokens are ranked.
    """

    ranked: np.ndarray
    documents: tuple[np.ndarray, ...]
    gold: tuple[np.ndarray, ...]
    first_mention: tuple[np.ndarray, ...]
    groups: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return self.ranked.sum(axis=1)

    @property
    def context(self) -> np.ndarray:
        """(N, n) bool: tokens of any document."""
        return np.any(self.documents, axis=0) if self.documents else np.zeros_like(self.ranked)

    @classmethod
    def of(
        cls,
        lengths: Sequence[int],
        first_ranked: Sequence[int],
        documents: Sequence[Sequence[tuple[int, int]]],
        answer_tokens: Sequence[Sequence[Sequence[int]]],
        groups: Sequence[str],
        first_mention: Sequence[Sequence[Sequence[int]]] | None = None,
    ) -> Layout:
        """From ragged columns: per instance its length, spans of documents, gold tokens and those of their first mention.

        Raises ValueError for tokens outside their prompt.
        """
        shape = (len(lengths), max(lengths, default=0))
        places, ends = np.arange(shape[1]), np.asarray(lengths, dtype=int)[:, None]
        ranked = (places >= np.asarray(first_ranked, dtype=int)[:, None]) & (places < ends)
        count = len(documents[0]) if len(documents) else 0
        spans = []
        for number in range(count):
            start, end = (np.array([spans_of[number][side] for spans_of in documents])[:, None] for side in (0, 1))
            spans.append((places >= start) & (places < end) & (places < ends))
        gold = [_marked(shape, lengths, answer_tokens, number) for number in range(count)]
        first = [_marked(shape, lengths, first_mention, number) for number in range(count)] if first_mention else gold
        return cls(ranked, tuple(spans), tuple(gold), tuple(first), np.asarray(groups, dtype=str))

    def rows(self, chosen: np.ndarray) -> Layout:
        """The instances that (N,) bools or indices choose."""

        def cut(marks: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
            return tuple(own[chosen] for own in marks)

        return Layout(
            self.ranked[chosen], cut(self.documents), cut(self.gold), cut(self.first_mention), self.groups[chosen]
        )


def _marked(
    shape: tuple[int, int], lengths: Sequence[int], tokens: Sequence[Sequence[Sequence[int]]], number: int
) -> np.ndarray:
    marked = np.zeros(shape, dtype=bool)
    for row, own in enumerate(tokens):
        places = list(own[number])
        if places and not 0 <= min(places) <= max(places) < lengths[row]:
            raise ValueError(f"answer tokens {places} are outside a prompt of {lengths[row]} tokens")
        marked[row, places] = True
    return marked


class Measured(NamedTuple):
    """(N,) values that the batch job measured with the model, and what random scores got; NaN where it did not."""

    value: np.ndarray
    chance: np.ndarray


@dataclass(frozen=True, eq=False)
class Cell:
    """One explainer's scores over a layout.

    scores: (N, n) as metrics use them (normalised), padding 0. ranks: (N, n), NaN where a token takes part in none.
    measured: by metric key, what cannot be computed from scores.
    """

    layout: Layout
    scores: np.ndarray
    ranks: np.ndarray
    measured: Mapping[str, Measured] = field(default_factory=dict)
    _memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, layout: Layout, scores: np.ndarray, measured: Mapping[str, Measured] | None = None) -> Cell:
        return cls(layout, scores, average_ranks(scores, layout.ranked), measured or {})

    def rows(self, chosen: np.ndarray) -> Cell:
        """The instances that (N,) bools or indices choose."""
        measured = {key: Measured(*(values[chosen] for values in own)) for key, own in self.measured.items()}
        return Cell(self.layout.rows(chosen), self.scores[chosen], self.ranks[chosen], measured)

    def narrowed(self, pool: str, drop_first: int) -> Cell:
        """The same scores with fewer tokens ranked: those of the documents, or all but each prompt's first ones."""
        if pool == "prompt" and not drop_first:
            return self
        key = (pool, drop_first)
        if key not in self._memo:
            ranked = self.layout.ranked & self.layout.context if pool == "context" else self.layout.ranked.copy()
            ranked[:, :drop_first] = False
            self._memo[key] = Cell.of(dataclasses.replace(self.layout, ranked=ranked), self.scores, self.measured)
        found: Cell = self._memo[key]
        return found

    def leading(self, document: int, count: int) -> np.ndarray:
        """(N, count) a document's best ranks, ascending; infinite where it has fewer ranked tokens."""
        kept = max(count, *KS)
        if (document, kept) not in self._memo:
            inside = np.where(self.layout.documents[document] & self.layout.ranked, self.ranks, np.inf)
            if inside.shape[1] > kept:
                inside = np.partition(inside, kept - 1, axis=1)[:, :kept]
            self._memo[document, kept] = np.sort(inside, axis=1)
        return np.asarray(self._memo[document, kept][:, :count])


class Each(NamedTuple):
    """Values of single instances, (N,) each, NaN where undefined.

    part: which document or group. chance: what random scores get. best: what perfect ones get.
    """

    part: str
    value: np.ndarray
    chance: np.ndarray
    best: np.ndarray


class Column(NamedTuple):
    """(N,) values of instances, and (N,) bool which of them are averaged."""

    values: np.ndarray
    used: np.ndarray

    def mean(self) -> float:
        return float(self.values[self.used].mean()) if self.used.any() else float("nan")


class Estimate(NamedTuple):
    """A value of a whole cell: `combine` of the means of its columns, so that it can be bootstrapped.

    chance, best: what random and perfect scores get. sizes: group ▶ instances. unavailable: why value is NaN.
    combine: (…, C) means ▶ (…) values. shares: (N,) what each instance adds to the value (of compression: to minus its bits),
    up to a constant that is the same for every explainer: exchanging two explainers within an instance exchanges them.
    p: of the value under chance, where a permutation test gives one. details: what else there is to tell. chance_columns: like
    columns, where chance was measured on a sample of random scores and so has noise of its own.
    """

    part: str
    value: float
    chance: float
    best: float
    sizes: tuple[tuple[str, int], ...]
    unavailable: str | None
    columns: tuple[Column, ...]
    combine: Callable[[np.ndarray], np.ndarray]
    shares: np.ndarray | None = None
    p: float = float("nan")
    details: tuple[tuple[str, float], ...] = ()
    chance_columns: tuple[Column, ...] = ()

    @property
    def normalised(self) -> float:
        return float(normalised(self.value, self.chance, self.best))

    def of_weights(self, weights: np.ndarray) -> np.ndarray:
        """(resamples,) values under (resamples, N) weights."""
        return replicates([self], weights)[0]


def normalised(value: Any, chance: Any, best: Any) -> Any:
    """0 at chance, 1 at best; NaN where the two are the same."""
    span = np.asarray(best, dtype=np.float64) - chance
    return np.divide(np.subtract(value, chance), span, out=np.full(np.shape(span), np.nan), where=span != 0)


def replicates(estimates: Sequence[Estimate], weights: np.ndarray) -> list[np.ndarray]:
    """(resamples,) values of each estimate under (resamples, N) weights; () for one that is not available.

    All columns of all estimates go through one matrix product.
    """
    available = [estimate for estimate in estimates if estimate.unavailable is None]
    columns = [column for estimate in available for column in estimate.columns]
    if not columns:
        return [np.array([]) for _ in estimates]
    means = weighted_means(
        weights, np.stack([c.values for c in columns], axis=1), np.stack([c.used for c in columns], axis=1)
    )
    found, start = [], 0
    for estimate in estimates:
        if estimate.unavailable is not None:
            found.append(np.array([]))
            continue
        stop = start + len(estimate.columns)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(np.asarray(estimate.combine(means[:, start:stop]), dtype=np.float64))
        start = stop
    return found


def not_available(part: str, sizes: tuple[tuple[str, int], ...], reason: str) -> Estimate:
    nothing = float("nan")
    return Estimate(part, nothing, nothing, nothing, sizes, reason, (), _only)


def mean_estimate(each: Each, smallest_group: int) -> Estimate:
    """The mean over the instances where a value is defined; not available below `smallest_group` of them."""
    used = np.isfinite(each.value)
    sizes = ((each.part, int(used.sum())),)
    reason = too_small(sizes, smallest_group)
    if reason:
        return not_available(each.part, sizes, reason)
    value, chance, best = (float(own[used].mean()) for own in (each.value, each.chance, each.best))
    shares = np.where(used, each.value, 0.0) / used.sum()
    return Estimate(each.part, value, chance, best, sizes, None, (Column(each.value, used),), _only, shares)


def _only(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def difference(part: str, first: Each, second: Each, names: tuple[str, str], smallest_group: int) -> Estimate:
    """The mean of `first` minus that of `second`, over the instances where each is defined; names: of the two groups."""
    return _of_two(part, (first, second), names, smallest_group, (1.0, -1.0))


def balanced(part: str, first: Each, second: Each, names: tuple[str, str], smallest_group: int) -> Estimate:
    """Half the mean of `first` and half that of `second`, however many instances each has; names: of the two groups."""
    return _of_two(part, (first, second), names, smallest_group, (0.5, 0.5))


def _of_two(
    part: str, both: tuple[Each, Each], names: tuple[str, str], smallest_group: int, factors: tuple[float, float]
) -> Estimate:
    used = tuple(np.isfinite(each.value) for each in both)
    sizes = tuple((name, int(own.sum())) for name, own in zip(names, used, strict=True))
    reason = too_small(sizes, smallest_group)
    if reason:
        return not_available(part, sizes, reason)
    pairs = list(zip(both, used, factors, strict=True))
    value, chance, best = (
        float(sum(factor * own[use].mean() for own, (_, use, factor) in zip(values, pairs, strict=True)))
        for values in zip(*((each.value, each.chance, each.best) for each in both), strict=True)
    )
    shares = sum(factor * np.where(use, each.value, 0.0) / use.sum() for each, use, factor in pairs)
    columns = tuple(Column(each.value, use) for each, use, _ in pairs)
    combine = partial(_weighted, factors=np.array(factors))
    return Estimate(part, value, chance, best, sizes, None, columns, combine, np.asarray(shares))


def _weighted(means: np.ndarray, factors: np.ndarray) -> np.ndarray:
    return np.asarray(means @ factors)


def pool(first: Each, second: Each) -> Each:
    """Two parts of which each instance belongs to at most one, as one part."""
    belongs_to_first = np.isfinite(first.value)
    pairs = zip(first[1:], second[1:], strict=True)
    return Each("pooled", *(np.where(belongs_to_first, one, two) for one, two in pairs))


def too_small(sizes: tuple[tuple[str, int], ...], needed: int) -> str | None:
    """Why a value is not available, as pages print it; None where every group is large enough."""
    for group, size in sizes:
        if size < needed:
            return f"group {group} has {size} of the {needed} instances needed"
    return None
