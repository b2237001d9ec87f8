"""Ranks of the answer's tokens in instances answered from a document, for the metrics that use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from heval_core.groups import context_groups
from heval_core.metrics.shared import broken_ties
from heval_core.metrics.shared.cell import Cell
from heval_core.statistics.scores import Ties
from heval_core.statistics.values import Each


def of_used_document(
    cell: Cell,
    gold: Sequence[np.ndarray],
    value: Callable[[np.ndarray], np.ndarray],
    chance: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[Each]:
    """Values of instances, by the group of the document that was used; NaN elsewhere. The best is 1.

    gold: per document, (N, n) bool. value: (N, n) ranked gold tokens ▶ (N,). chance: numbers of gold tokens (N,) and of ranked
    tokens (N,) ▶ (N,).
    """
    layout, each = cell.layout, []
    for group, tokens in zip(context_groups(len(layout.documents)), gold, strict=True):
        ranked = tokens & layout.ranked
        values, by_chance = value(ranked), chance(ranked.sum(axis=1), layout.lengths)
        used = (layout.groups == group) & np.isfinite(values)
        each.append(Each(group, *(np.where(used, own, np.nan) for own in (values, by_chance, 1.0))))
    return each


def chance_reciprocal_rank(gold: int, length: int) -> float:
    """The mean of 1 / best rank for `gold` of `length` tokens under random scores; NaN without gold tokens."""
    return broken_ties.reciprocal(0, length, gold)


def reciprocals(found: Ties, gold: np.ndarray) -> np.ndarray:
    """(N,) expected 1 / best rank among each row's (N, n) gold tokens; NaN for a row without any."""
    return broken_ties.of_distinct(broken_ties.reciprocal, *broken_ties.best(found, gold))


def reciprocal_ranks(cell: Cell, gold: Sequence[np.ndarray]) -> list[Each]:
    """Each instance's reciprocal rank. gold: per document, (N, n) bool."""

    def chance(inside: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return broken_ties.of_distinct(chance_reciprocal_rank, inside, lengths)

    return of_used_document(cell, gold, lambda tokens: reciprocals(cell.ties, tokens), chance)
