"""Expected ranks of tied tokens if ties are broken at random. With all tokens tied, this is the chance level.

In a tie of `size` tokens, ranked below `above` others, `inside` tokens belong to a segment, and all their arrangements are
equally likely. Then the expected rank of the j-th best of them is above + j (size + 1)/(inside + 1); the best has rank
above + y with probability C(size - y, inside - 1)/C(size, inside); and one of them is among the tie's first r with probability
1 - C(size - inside, r)/C(size, r). The formulas are exact, so no draw adds noise. Cost: one sort per prompt; scalar formulas
are evaluated once for each distinct case.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from heval_core.statistics.bootstrap import row_blocks
from heval_core.statistics.scores import Ties, runs


class Leading(NamedTuple):
    """The best tokens of a segment, (N, count) each, best first. there: False if the segment has fewer tokens.

    above, size: of the tie that the token belongs to. inside: how many tokens of this tie are in the segment. order: the
    token's number among those, from 1.
    """

    there: np.ndarray
    above: np.ndarray
    size: np.ndarray
    inside: np.ndarray
    order: np.ndarray

    def places(self) -> np.ndarray:
        """(N, count) expected ranks; infinite for missing tokens."""
        return np.where(self.there, self.above + self.order * (self.size + 1) / (self.inside + 1), np.inf)


def leading(found: Ties, segment: np.ndarray, count: int) -> Leading:
    """The `count` best tokens of each row's (N, n) bool segment."""
    return Leading(*_by_blocks(lambda own, inside: _leading(own, inside, count), found, segment))


def _by_blocks(
    function: Callable[[Ties, np.ndarray], tuple[np.ndarray, ...]], found: Ties, segment: np.ndarray
) -> Iterator[np.ndarray]:
    """The columns that a function of some rows gives, for all rows."""
    parts = [function(Ties(*(own[rows] for own in found)), segment[rows]) for rows in row_blocks(*segment.shape)]
    return (np.concatenate(columns) for columns in zip(*parts, strict=True))


def _leading(found: Ties, segment: np.ndarray, count: int) -> Leading:
    outside = np.iinfo(found.above.dtype).max
    keys = np.where(segment, found.above, outside)
    order = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    first, last = runs(ordered)
    size = np.take_along_axis(found.size, order, axis=1)
    cut = slice(0, count)
    there = ordered[:, cut] != outside
    place = np.arange(ordered.shape[1])[None, cut]
    return Leading(
        there,
        np.where(there, ordered[:, cut], 0).astype(int),
        np.where(there, size[:, cut], 1).astype(int),
        np.where(there, (last - first + 1)[:, cut], 1),
        np.where(there, place - first[:, cut] + 1, 1),
    )


class Best(NamedTuple):
    """The tie with the best token of a segment, (N,) each; above is -1 for a row whose segment is empty."""

    above: np.ndarray
    size: np.ndarray
    inside: np.ndarray


def best(found: Ties, segment: np.ndarray) -> Best:
    """The tie with the best token of each row's (N, n) bool segment."""
    return Best(*_by_blocks(_best, found, segment))


def _best(found: Ties, segment: np.ndarray) -> Best:
    if not segment.shape[1]:
        nothing = np.zeros(len(segment), dtype=int)
        return Best(nothing - 1, nothing + 1, nothing + 1)
    keys = np.where(segment, found.above, np.iinfo(found.above.dtype).max)
    place = keys.argmin(axis=1)[:, None]
    above = np.take_along_axis(keys, place, axis=1)
    there = segment.any(axis=1)
    inside = (segment & (keys == above)).sum(axis=1)
    size = np.take_along_axis(found.size, place, axis=1)[:, 0]
    return Best(*(np.where(there, own, none).astype(int) for own, none in ((above[:, 0], -1), (size, 1), (inside, 1))))


def of_distinct(function: Callable[..., float], *columns: np.ndarray) -> np.ndarray:
    """A scalar function of whole numbers, evaluated once for each distinct row of equally shaped columns."""
    table = np.stack([column.ravel() for column in columns])
    if not table.size:
        return np.empty(columns[0].shape)
    # Each row as one number: rows of several are far slower to sort.
    numbers = np.zeros(table.shape[1], dtype=np.int64)
    for column, lowest, highest in zip(table, table.min(axis=1), table.max(axis=1), strict=True):
        numbers = numbers * (int(highest) - int(lowest) + 1) + (column - lowest)
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    values = np.array([function(*case) for case in table[:, first].T.tolist()], dtype=np.float64)
    return values[place].reshape(columns[0].shape)


@functools.cache
def reciprocal(above: int, size: int, inside: int) -> float:
    """Expected 1 / rank of the best of `inside` tokens in a tie; NaN if there is none.

    >>> reciprocal(0, 3, 1) == (1 + 1 / 2 + 1 / 3) / 3, reciprocal(4, 1, 1)
    (True, 0.2)
    """
    if above < 0 or not 1 <= inside <= size:
        return float("nan")
    total = math.comb(size, inside)
    return math.fsum(math.comb(size - y, inside - 1) / (total * (above + y)) for y in range(1, size - inside + 2))


@functools.cache
def hit(above: int, size: int, inside: int, k: int) -> float:
    """The probability that one of `inside` tokens of a tie is among the prompt's k best; NaN if there is none.

    >>> hit(0, 5, 2, 2), hit(0, 5, 2, 9), hit(3, 1, 1, 3)
    (0.7, 1.0, 0.0)
    """
    if above < 0 or not 1 <= inside <= size:
        return float("nan")
    room = min(max(k - above, 0), size)
    return 1 - math.comb(size - inside, room) / math.comb(size, room)
