"""What happens to an attribution's scores after the explainer: check, normalise, rank, round for storage.

Ranks: every token of the prompt by descending score, 1 = best. Ties are broken at random, and a metric is its expectation over
that. Why: shared ranks, beside a chance level without ties, made a string match look as good as the best explainer; and
ranking ties by position would turn underflowed attention into a position bias. A token's expected rank is the average of the
ranks that its tie covers (`average_ranks`); an expectation over several tokens needs `Ties`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heval_core.records import HEvalError


def check(scores: np.ndarray, name: str) -> None:
    """Raise HEvalError, naming the instance, if a score is NaN or infinite."""
    if not np.isfinite(scores).all():
        raise HEvalError(f"{name} has scores that are NaN or infinite; they cannot be ranked.")


def normalise(scores: np.ndarray, signed: bool) -> np.ndarray:
    """Divide signed scores by their l1 norm over the whole prompt (all-zero stays zero); unsigned scores unchanged."""
    scores = np.asarray(scores, dtype=np.float64)
    if not signed:
        return scores
    norm = np.abs(scores).sum()
    return scores / norm if norm else scores


class Ties(NamedTuple):
    """The tie that every score of (N, n) belongs to, before ties are broken.

    above: (N, n) how many ranked scores of the row are higher. size: (N, n) how many are equal, itself included: the token's
    rank is one of above + 1 … above + size. Both are 0 for a token that is not ranked.
    """

    above: np.ndarray
    size: np.ndarray


def ties(scores: np.ndarray, ranked: np.ndarray | None = None) -> Ties:
    """Find the ties of every row's scores.

    scores: (rows, n). ranked: (rows, n) bool, the positions that are ranked (all by default).

    scores: (rows, n). ranked: (rows, n) bool, the positions that are ranked (all by default).

    >>> ties(np.array([[0.2, 0.9, 0.2, 0.1]]))
    Ties(above=array([[1, 0, 1, 3]]), size=array([[2, 1, 2, 1]]))
    """
    scores = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    ranked = np.ones(scores.shape, dtype=bool) if ranked is None else ranked
    # NaN sorts after every score, so that padding never takes a rank.
    keys = np.where(ranked, -scores, np.nan)
    order = np.argsort(keys, axis=1, kind="stable")
    above, size = np.empty(scores.shape, dtype=int), np.empty(scores.shape, dtype=int)
    first, last = runs(np.take_along_axis(keys, order, axis=1))
    np.put_along_axis(above, order, first, axis=1)
    np.put_along_axis(size, order, last - first + 1, axis=1)
    return Ties(np.where(ranked, above, 0), np.where(ranked, size, 0))


def runs(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the first and the last column of the run of equal values around each of (rows, n) sorted values.

    >>> runs(np.array([[1, 1, 4]]))
    (array([[0, 0, 2]]), array([[1, 1, 2]]))
    """
    places = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    starts = np.ones(ordered.shape, dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(ordered.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, places, ordered.shape[1])[:, ::-1], axis=1)[:, ::-1]
    return first, last


def average_ranks(scores: np.ndarray, ranked: np.ndarray | None = None) -> np.ndarray:
    """Compute expected ranks of every row's scores if ties are broken at random: the average of the ranks that a tie covers.

    scores: (rows, n). ranked: (rows, n) bool, the positions that are ranked (all by default); the others get NaN.
    Returns (rows, n) float64, 1 = the highest score of the row.

    >>> average_ranks(np.array([[0.2, 0.9, 0.2, 0.1]]))
    array([[2.5, 1. , 2.5, 4. ]])
    """
    found = ties(scores, ranked)
    ranks = found.above + (found.size + 1) / 2
    return ranks if ranked is None else np.where(ranked, ranks, np.nan)


def tied(scores: np.ndarray) -> float:
    """Compute the share of (n,) ranked scores that equal another one, so that chance decides their order.

    >>> tied(np.array([0.0, 0.5, 0.0, 0.2])), tied(np.array([0.1, 0.2])), tied(np.array([]))
    (0.5, 0.0, 0.0)
    """
    _, counts = np.unique(np.asarray(scores), return_counts=True)
    return float(counts[counts > 1].sum() / max(counts.sum(), 1))


def best_tokens(scores: np.ndarray, ranks: np.ndarray, k: int) -> list[int]:
    """Return the indices of the k best of (n,) scores, for emphasis.

    ranks: (n,) from `average_ranks`, NaN for unranked tokens.

    Ties that straddle rank k are left out as a whole, and so are scores of 0, which point at nothing.

    >>> best_tokens(np.array([3.0, 0.0, 2.0, 2.0]), np.array([1.0, 4.0, 2.5, 2.5]), 2), best_tokens(np.zeros(2), np.ones(2), 2)
    ([0], [])
    """
    _, place, sizes = np.unique(ranks, return_inverse=True, return_counts=True)
    last = ranks + (sizes[place] - 1) / 2
    return [int(index) for index in np.flatnonzero((last <= k) & (np.asarray(scores) != 0))]


def round_keeping_ranks(scores: np.ndarray, bits: int = 10) -> np.ndarray:
    """Round float32 scores to the fewest mantissa bits that keep every rank, ties included; fewer bits compress better.

    bits: how many to try first; then two more at a time until no rank changes (23 is the unrounded value).
    """
    scores = np.asarray(scores, dtype=np.float32)
    for kept in range(bits, 23, 2):
        rounded = round_mantissa(scores, kept)
        # Rounding is monotonic, so ranks can only change if two different scores become equal.
        if np.unique(rounded).size == np.unique(scores).size:
            return rounded
    return scores


def round_mantissa(scores: np.ndarray, bits: int) -> np.ndarray:
    """Round float32 scores to `bits` bits of mantissa: a relative error of at most 2^-(bits+1). Infinite values stay."""
    dropped = np.uint32(23 - bits)
    half = np.uint32(1) << (dropped - np.uint32(1))
    mask = ~((np.uint32(1) << dropped) - np.uint32(1))
    # Adding half and truncating rounds the magnitude; in IEEE 754's layout sign and exponent stay right.
    rounded: np.ndarray = ((scores.view(np.uint32) + half) & mask).view(np.float32)
    return np.where(np.isfinite(rounded), rounded, scores)
