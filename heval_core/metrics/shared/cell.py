"""The input of metrics: all instances of one cell (model, dataset, regime, technique, explainer) as padded arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from heval_core.metrics.shared.broken_ties import Leading, leading
from heval_core.statistics.blocks import row_blocks
from heval_core.statistics.scores import Ties, ties

KS = (3, 5, 9)
DEFAULT_K = 5


@dataclass(frozen=True, eq=False)
class Layout:
    """Token positions in the prompts of N instances, padded to the longest prompt n.

    ranked: (N, n) bool, the tokens that are ranked. documents, gold, first_mention: per document, (N, n) bool.
    groups: (N,) str. lengths: (N,) how many tokens are ranked.
    """

    ranked: np.ndarray
    documents: tuple[np.ndarray, ...]
    gold: tuple[np.ndarray, ...]
    first_mention: tuple[np.ndarray, ...]
    groups: np.ndarray

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return self.ranked.sum(axis=1)

    @property
    def context(self) -> np.ndarray:
        """(N, n) bool: tokens of any document."""
        return np.any([*self.documents, np.zeros_like(self.ranked)], axis=0)

    @classmethod
    def of(
        cls,
        lengths: Sequence[int],
        first_ranked: Sequence[int],
        documents: Sequence[Sequence[tuple[int, int]]],
        answer_tokens: Sequence[Sequence[Sequence[int]]],
        groups: Sequence[str],
        first_mention: Sequence[Sequence[Sequence[int]]] | None = None,
        ranked_end: Sequence[int] | None = None,
    ) -> Layout:
        """From ragged columns: each instance's length, spans of documents, gold tokens, gold tokens of the first mention,
        and the token after the last ranked one (by default its length).

        Raises ValueError for tokens outside their prompt.
        """
        shape = (len(lengths), max(lengths, default=0))
        places, ends = np.arange(shape[1]), np.asarray(lengths, dtype=int)[:, None]
        last = ends if ranked_end is None else np.asarray(ranked_end, dtype=int)[:, None]
        ranked = (places >= np.asarray(first_ranked, dtype=int)[:, None]) & (places < last)
        count = len(documents[0]) if len(documents) else 0
        spans = []
        for number in range(count):
            start, end = (np.array([spans_of[number][side] for spans_of in documents])[:, None] for side in (0, 1))
            spans.append((places >= start) & (places < end) & (places < ends))
        gold = [_marked(shape, lengths, answer_tokens, number) for number in range(count)]
        first = [_marked(shape, lengths, first_mention, number) for number in range(count)] if first_mention else gold
        return cls(ranked, tuple(spans), tuple(gold), tuple(first), np.asarray(groups, dtype=str))

    def rows(self, chosen: np.ndarray) -> Layout:
        """The instances chosen by (N,) bools or indices."""

        def cut(marks: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
            return tuple(own[chosen] for own in marks)

        return Layout(self.ranked[chosen], cut(self.documents), cut(self.gold), cut(self.first_mention), self.groups[chosen])


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


def _ties(scores: np.ndarray, ranked: np.ndarray) -> Ties:
    """`ties` of all rows in the narrowest type: for prompts of 8,000 tokens they would take twice the scores' memory."""
    kind = np.int16 if scores.shape[1] < np.iinfo(np.int16).max else np.int32
    found = Ties(np.empty(scores.shape, kind), np.empty(scores.shape, kind))
    for rows in row_blocks(*scores.shape):
        found.above[rows], found.size[rows] = ties(scores[rows], ranked[rows])
    return found


class Measured(NamedTuple):
    """(N,) values that the batch job measured with the model, and the random control's; NaN if not measured."""

    value: np.ndarray
    chance: np.ndarray


class Fixed(NamedTuple):
    """(N, n) scores for the first document's answer, whatever the model answered; there: (N,) bool, which have any."""

    scores: np.ndarray
    there: np.ndarray


@dataclass(frozen=True, eq=False)
class Cell:
    """One explainer's scores over a layout.

    scores: (N, n) as metrics use them (normalised), padded with 0. ties: each score's tie.
    measured: values that cannot be computed from scores, by metric key and part. priorities: (S, N), the orders of the
    instances that are cut in halves (`subsampling`), the same for all cells of a dataset; by default drawn for these
    instances. fixed: the explainer's scores for the first document's answer, if they were computed.
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
        return cls(layout, scores, _ties(scores, layout.ranked), measured or {}, priorities, fixed)

    def rows(self, chosen: np.ndarray) -> Cell:
        """The instances chosen by (N,) bools or indices."""
        measured = {key: Measured(*(values[chosen] for values in own)) for key, own in self.measured.items()}
        own = Ties(*(places[chosen] for places in self.ties))
        order = None if self.priorities is None else self.priorities[:, chosen]
        fixed = self.fixed and Fixed(*(values[chosen] for values in self.fixed))
        return Cell(self.layout.rows(chosen), self.scores[chosen], own, measured, order, fixed)

    def narrowed(self, pool: str, drop_first: int) -> Cell:
        """The same scores with fewer ranked tokens: only the documents' (pool="context"), or without each prompt's first."""
        if pool == "prompt" and not drop_first:
            return self
        key = (pool, drop_first)
        if key not in self._memo:
            ranked = self.layout.ranked & self.layout.context if pool == "context" else self.layout.ranked.copy()
            ranked[:, :drop_first] = False
            layout = dataclasses.replace(self.layout, ranked=ranked)
            self._memo[key] = Cell.of(layout, self.scores, self.measured, self.priorities, self.fixed)
        found: Cell = self._memo[key]
        return found

    def leading(self, document: int, count: int) -> Leading:
        """The `count` best tokens of each prompt's document."""
        kept = max(count, *KS)
        if (document, kept) not in self._memo:
            inside = self.layout.documents[document] & self.layout.ranked
            self._memo[document, kept] = leading(self.ties, inside, kept)
        return Leading(*(own[:, :count] for own in self._memo[document, kept]))
