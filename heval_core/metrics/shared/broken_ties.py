"""Expected ranks of tied tokens if ties are broken at random. With all tokens tied, this is the chance level.

In a tie of `size` tokens, ranked below `above` others, `inside` tokens belong to a segment, and all their arrangements are
equally likely. Then the expected rank of the j-th best of them is above + j (size + 1)/(inside + 1); the best has rank
above + y with probability C(size - y, inside - 1)/C(size, inside); and one of them is among the tie's first r with probability
1 - C(size - inside, r)/C(size, r). The formulas are exact, so no draw adds noise. Cost: one sort per prompt; scalar formulas
are evaluated once for each distinct case.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from heval_core.statistics.bootstrap import row_blocks
from heval_core.statistics.scores import Ties, runs


def leading(ties: Ties, segment: np.ndarray, count: int) -> np.ndarray:
    """Compute the expected ranks of the best tokens of each (N, n) bool segment, best first, (N, count); infinite where it has
    no more.
    """
    parts = [_leading(Ties(*(counts[rows] for counts in ties)), segment[rows], count) for rows in row_blocks(*segment.shape)]
    return np.concatenate(parts)


def _leading(tied: Ties, segment: np.ndarray, count: int) -> np.ndarray:
    outside = np.iinfo(tied.above.dtype).max
    keys = np.where(segment, tied.above, outside)
    order = np.argsort(keys, axis=1, kind="stable")
    ordered = np.take_along_axis(keys, order, axis=1)
    first, last = (ends[:, :count] for ends in runs(ordered))
    above, size = (counts[:, :count].astype(int) for counts in (ordered, np.take_along_axis(tied.size, order, axis=1)))
    inside, number = last - first + 1, np.arange(above.shape[1]) - first + 1
    return np.where(above != outside, above + number * (size + 1) / (inside + 1), np.inf)


class Best(NamedTuple):
    """The tie with the best token of a segment, (N,) each; above is -1 for a row whose segment is empty."""

    above: np.ndarray
    size: np.ndarray
    inside: np.ndarray


def best(ties: Ties, segment: np.ndarray) -> Best:
    """Return the tie with the best token of each row's (N, n) bool segment."""
    parts = [_best(Ties(*(counts[rows] for counts in ties)), segment[rows]) for rows in row_blocks(*segment.shape)]
    return Best(*map(np.concatenate, zip(*parts, strict=True)))


def _best(tied: Ties, segment: np.ndarray) -> Best:
    if not segment.shape[1]:
        nothing = np.zeros(len(segment), dtype=int)
        return Best(nothing - 1, nothing + 1, nothing + 1)
    keys = np.where(segment, tied.above, np.iinfo(tied.above.dtype).max)
    column = keys.argmin(axis=1)[:, None]
    above = np.take_along_axis(keys, column, axis=1)
    present = segment.any(axis=1)
    inside = (segment & (keys == above)).sum(axis=1)
    size = np.take_along_axis(tied.size, column, axis=1)[:, 0]
    return Best(*(np.where(present, value, none).astype(int) for value, none in ((above[:, 0], -1), (size, 1), (inside, 1))))


def of_distinct(function: Callable[..., float], *columns: np.ndarray) -> np.ndarray:
    """Evaluate a scalar function of whole numbers once for each distinct row of equally shaped columns."""
    table = np.stack([column.ravel() for column in columns])
    if not table.size:
        return np.empty(columns[0].shape)
    # Each row as one number: rows of several are far slower to sort.
    numbers = np.zeros(table.shape[1], dtype=np.int64)
    for column, lowest, highest in zip(table, table.min(axis=1), table.max(axis=1), strict=True):
        numbers = numbers * (int(highest) - int(lowest) + 1) + (column - lowest)
    _, first, case_of = np.unique(numbers, return_index=True, return_inverse=True)
    values = np.array([function(*case) for case in table[:, first].T.tolist()], dtype=np.float64)
    return values[case_of].reshape(columns[0].shape)


@functools.cache
def reciprocal(above: int, size: int, inside: int) -> float:
    """Compute the expected 1 / rank of the best of `inside` tokens in a tie; NaN if there is none.

    >>> reciprocal(0, 3, 1) == (1 + 1 / 2 + 1 / 3) / 3, reciprocal(4, 1, 1)
    (True, 0.2)
    """
    if above < 0 or not 1 <= inside <= size:
        return float("nan")
    total = math.comb(size, inside)
    return math.fsum(math.comb(size - y, inside - 1) / (total * (above + y)) for y in range(1, size - inside + 2))


@functools.cache
def hit(above: int, size: int, inside: int, k: int) -> float:
    """Compute the probability that one of `inside` tokens of a tie is among the prompt's k best; NaN if there is none.

    >>> hit(0, 5, 2, 2), hit(0, 5, 2, 9), hit(3, 1, 1, 3)
    (0.7, 1.0, 0.0)
    """
    if above < 0 or not 1 <= inside <= size:
        return float("nan")
    room = min(max(k - above, 0), size)
    return 1 - math.comb(size - inside, room) / math.comb(size, room)
