"""Which of the places where the answer stands has the most of an explanation; what metrics that ask this share.

Formula: a place's sum of scores, of its ranked tokens, over that of all absolute scores. Of k places that share the largest
sum each is named with probability 1/k. Answers with one place are no choice. Reference: ours.
"""

from collections.abc import Callable

import numpy as np

from heval_core.metrics.shared.cell import Cell, Places
from heval_core.metrics.shared.ranks import DIGITS
from heval_core.statistics.scores import ties
from heval_core.statistics.values import Each, Value


def named(sums: np.ndarray, present: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return how likely the right place is named: 1 if its sum is the largest, 1/k in a tie of k, else 0: (N,).

    sums: (N, K). present: (N, K) bool, which places there are. right: (N,) one of these.

    >>> sums, present = np.array([[0.4, 0.1], [0.2, 0.2], [-0.1, 0.0]]), np.array([[1, 1], [1, 1], [1, 0]], dtype=bool)
    >>> named(sums, present, np.array([1, 1, 0])).tolist()
    [0.0, 0.5, 1.0]
    """
    tied = ties(sums, present)
    above, size = (counts[np.arange(len(right)), right] for counts in tied)
    return np.asarray((above == 0) / np.maximum(size, 1))


def place_sums(cell: Cell, places: Places) -> np.ndarray:
    """Compute the sum of each place's scores over that of all absolute ones, (N, K); 0 in a prompt whose scores are all 0."""
    ranked = np.where(cell.layout.ranked, cell.scores, 0.0)
    before = np.pad(ranked.cumsum(axis=1), ((0, 0), (1, 0)))
    sums = np.take_along_axis(before, places.ends, axis=1) - np.take_along_axis(before, places.starts, axis=1)
    whole = np.abs(ranked).sum(axis=1, keepdims=True)
    return np.round(np.divide(sums, whole, out=np.zeros_like(sums), where=whole > 0), DIGITS)


def of_place(cell: Cell, right: Callable[[Places], np.ndarray]) -> list[Each]:
    """Return how likely each instance's right place is named, by whether that is the first or the last; NaN elsewhere.

    right: places ▶ (N,) which is right, -1 for none. Chance is one over the places. Empty where no sources were measured.
    """
    places = cell.layout.places
    if places is None:
        return []
    own, counts = right(places), places.counts
    value = named(place_sums(cell, places), places.ends > places.starts, np.maximum(own, 0))
    each = Each("", value, 1 / np.maximum(counts, 1), np.ones(len(value)))
    at = {"first": own == 0, "last": own == counts - 1}
    return [each._replace(part=part).within(where & (own >= 0) & (counts > 1)) for part, where in at.items()]


def with_details(values: list[Value], **details: float) -> list[Value]:
    """Return the values with these numbers beside them."""
    return [value._replace(details=tuple(details.items())) for value in values]
