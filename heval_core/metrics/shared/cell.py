"""The input of metrics: all instances of one cell (model, dataset, regime, technique, explainer) as padded arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from heval_core.metrics.shared.broken_ties import leading
from heval_core.statistics.bootstrap import row_blocks
from heval_core.statistics.scores import Ties, ties

KS = (3, 5, 9)
DEFAULT_K = 5


@dataclass(frozen=True, eq=False)
class Places:
    """Where the answers of N instances are mentioned in their prompts, at most K times, and on which of these they depend.

    starts, ends: (N, K) tokens, end exclusive, in the order of the prompt; both 0 where an answer has fewer. verdicts: (N,),
    of `sources.VERDICTS`; empty where it was not measured. source: (N,) the place of the only source. route: (N,) the place
    that the last token needs most. Both -1 where there is none. agreed: (N, K) words of the question that stand beside each.
    """

    starts: np.ndarray
    ends: np.ndarray
    verdicts: np.ndarray
    source: np.ndarray
    route: np.ndarray
    agreed: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """(N,) how many mentions there are."""
        return np.asarray((self.ends > self.starts).sum(axis=1))

    def rows(self, chosen: np.ndarray) -> Places:
        """Return the instances chosen by (N,) bools or indices."""
        return Places(*(getattr(self, column.name)[chosen] for column in dataclasses.fields(self)))


@dataclass(frozen=True, eq=False)
class Positions:
    """Token positions in the prompts of N instances, padded to the longest prompt n.

    ranked: (N, n) bool, the tokens that are ranked. documents, gold: per document, (N, n) bool.
    groups: (N,) str. lengths: (N,) how many tokens are ranked. places: None where no sources were measured.
    """

    ranked: np.ndarray
    documents: tuple[np.ndarray, ...]
    gold: tuple[np.ndarray, ...]
    groups: np.ndarray
    places: Places | None = None

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
        ranked_end: Sequence[int] | None = None,
    ) -> Positions:
        """Build the layout from ragged columns: each instance's length, spans of documents, gold tokens, and the token after
        the last ranked one (by default its length).
        """
        shape = (len(lengths), max(lengths, default=0))
        positions, ends = np.arange(shape[1]), np.asarray(lengths, dtype=int)[:, None]
        last = ends if ranked_end is None else np.asarray(ranked_end, dtype=int)[:, None]
        ranked = (positions >= np.asarray(first_ranked, dtype=int)[:, None]) & (positions < last)
        count = len(documents[0]) if len(documents) else 0
        spans = []
        for number in range(count):
            start, end = (np.array([spans_of[number][side] for spans_of in documents])[:, None] for side in (0, 1))
            spans.append((positions >= start) & (positions < end) & (positions < ends))
        gold = [np.zeros(shape, dtype=bool) for _ in range(count)]
        for row, of_documents in enumerate(answer_tokens):
            for marked, tokens in zip(gold, of_documents, strict=False):
                marked[row, list(tokens)] = True
        return cls(ranked, tuple(spans), tuple(gold), np.asarray(groups, dtype=str))

    def rows(self, chosen: np.ndarray) -> Positions:
        """Return the instances chosen by (N,) bools or indices."""

        def cut(marks: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
            return tuple(mask[chosen] for mask in marks)

        places = self.places and self.places.rows(chosen)
        return Positions(self.ranked[chosen], cut(self.documents), cut(self.gold), self.groups[chosen], places)


class MeasuredValues(NamedTuple):
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

    scores: (N, n) as metrics use them (normalised), padded with 0.
    measured: values that cannot be computed from scores, by metric key and part. priorities: (S, N), the orders of the
    instances that are cut in halves (`subsampling`), the same for all cells of a dataset; by default drawn for these
    instances. fixed: the explainer's scores for the first document's answer, if they were computed.
    """

    layout: Positions
    scores: np.ndarray
    measured: Mapping[tuple[str, str], MeasuredValues] = field(default_factory=dict)
    priorities: np.ndarray | None = None
    fixed: Fixed | None = None
    _memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def ties(self) -> Ties:
        """Each score's tie, in the narrowest type: for prompts of 8,000 tokens they would take twice the scores' memory."""
        shape = self.scores.shape
        kind = np.int16 if shape[1] < np.iinfo(np.int16).max else np.int32
        tied = Ties(np.empty(shape, kind), np.empty(shape, kind))
        for rows in row_blocks(*shape):
            tied.above[rows], tied.size[rows] = ties(self.scores[rows], self.layout.ranked[rows])
        return tied

    def without_first(self, count: int) -> Cell:
        """Return the same scores, with the first `count` tokens of each prompt not ranked."""
        if not count:
            return self
        if count not in self._memo:
            ranked = self.layout.ranked.copy()
            ranked[:, :count] = False
            layout = dataclasses.replace(self.layout, ranked=ranked)
            self._memo[count] = Cell(layout, self.scores, self.measured, self.priorities, self.fixed)
        cell: Cell = self._memo[count]
        return cell

    def leading(self, document: int, count: int) -> np.ndarray:
        """Compute the expected ranks of a document's best tokens, best first, (N, count); infinite for missing ones."""
        size = max(count, *KS)
        if (document, size) not in self._memo:
            inside = self.layout.documents[document] & self.layout.ranked
            self._memo[document, size] = leading(self.ties, inside, size)
        ranks: np.ndarray = self._memo[document, size]
        return ranks[:, :count]
