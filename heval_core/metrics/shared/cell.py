"""What a metric is computed from: all instances of one cell (model, dataset, regime, explainer) as padded arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from heval_core.metrics.shared.broken_ties import Leading, leading
from heval_core.statistics.scores import Ties, ties

KS = (3, 5, 9)
DEFAULT_K = 5


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


class Fixed(NamedTuple):
    """(N, n) scores of the first document's answer whatever was answered, and (N,) bool of which instances there are any."""

    scores: np.ndarray
    there: np.ndarray


@dataclass(frozen=True, eq=False)
class Cell:
    """One explainer's scores over a layout.

    scores: (N, n) as metrics use them (normalised), padding 0. ties: where each stands, however ties are broken.
    measured: by metric key and part, what cannot be computed from scores. priorities: (S, N), the order of the instances by
    which halves are taken (`subsampling`), the same for all cells of a dataset; of the instances as they stand by default.
    fixed: what the explainer says with its target held fixed, where that was computed.
    """

    layout: Layout
    scores: np.ndarray
    ties: Ties
    measured: Mapping[tuple[str, str], Measured] = field(default_factory=dict)
    priorities: np.ndarray | None = None
    fixed: Fixed | None = None
    _memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        layout: Layout,
        scores: np.ndarray,
        measured: Mapping[tuple[str, str], Measured] | None = None,
        priorities: np.ndarray | None = None,
        fixed: Fixed | None = None,
    ) -> Cell:
        return cls(layout, scores, ties(scores, layout.ranked), measured or {}, priorities, fixed)

    def rows(self, chosen: np.ndarray) -> Cell:
        """The instances that (N,) bools or indices choose."""
        measured = {key: Measured(*(values[chosen] for values in own)) for key, own in self.measured.items()}
        own = Ties(*(places[chosen] for places in self.ties))
        order = None if self.priorities is None else self.priorities[:, chosen]
        fixed = self.fixed and Fixed(*(values[chosen] for values in self.fixed))
        return Cell(self.layout.rows(chosen), self.scores[chosen], own, measured, order, fixed)

    def narrowed(self, pool: str, drop_first: int) -> Cell:
        """The same scores with fewer tokens ranked: those of the documents, or all but each prompt's first ones."""
        if pool == "prompt" and not drop_first:
            return self
        key = (pool, drop_first)
        if key not in self._memo:
            ranked = self.layout.ranked & self.layout.context if pool == "context" else self.layout.ranked.copy()
            ranked[:, :drop_first] = False
            layout = dataclasses.replace(self.layout, ranked=ranked)
            self._memo[key] = Cell.of(layout, self.scores, self.measured, self.priorities)
        found: Cell = self._memo[key]
        return found

    def leading(self, document: int, count: int) -> Leading:
        """The `count` best tokens of each prompt's document."""
        kept = max(count, *KS)
        if (document, kept) not in self._memo:
            inside = self.layout.documents[document] & self.layout.ranked
            self._memo[document, kept] = leading(self.ties, inside, kept)
        return Leading(*(own[:, :count] for own in self._memo[document, kept]))
