"""How well a set matches another: an annotator's sentences those that cited a passage, selected passages those of people.

Formula: P = |pred & gold| / |pred|, R = |pred & gold| / |gold|, F1 = 2 |pred & gold| / (|pred| + |gold|), each 0 where it is
undefined. Two empty sets are a *correct rejection*: its F1 is 0 like any undefined one, and whoever wants the other reading
counts it as 1. An explanation is *transparent* if every passage that it cites has an F1 of at least .6. Where people gave
several chains of passages, each of the three is that of its best chain.
Chance: the mean of all sets of as many sentences, or of the claim's passages. Of sentences, the expected number of hits is
|pred| |gold| / n (hypergeometric), and F1 is linear in it; of passages, each set has its best chain, and sets are counted by
how many passages of each chain they hold (multivariate hypergeometric). So the values are exact.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: chance; F1 is not computed from P and R, which would round .6 to either side of itself.
Cost: linear in the sizes of the sets; less than half a second for 100,000 rows. Of the chance of passages, a few thousand
counts for three chains, and some 100,000 for eight that overlap little.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from math import comb

import numpy as np

SetScores = tuple[float, float, float]
TRANSPARENT = 0.6
# A mean of F1s of .6 may be a little less, as a sum of fractions.
ROUNDING = 1e-9


def set_scores(predicted: Iterable[int], gold: Iterable[int]) -> SetScores:
    """Compute (precision, recall, F1) of two sets, each 0 where it is undefined.

    Args:
        predicted: what an annotator chose, such as indices of sentences.
        gold: what is right.
    """
    chosen, right = set(predicted), set(gold)
    return _scores(len(chosen & right), len(chosen), len(right))


def _scores(hits: int, size: int, golds: int) -> SetScores:
    return (hits / size, hits / golds, 2 * hits / (size + golds)) if hits else (0.0, 0.0, 0.0)


def scores(
    predicted: Sequence[Collection[int]], gold: Sequence[Collection[int]], sentences: Sequence[int]
) -> dict[str, np.ndarray]:
    """Compute precision, recall, f1 and its chance, of rows (claim, passage, annotator).

    sentences: how many each explanation has.

    Raises ValueError where the three differ in length, or a set is larger than its explanation.
    """
    pairs = zip(map(frozenset, predicted), map(frozenset, gold), strict=True)
    rows = [(len(chosen), len(right), len(chosen & right)) for chosen, right in pairs]
    sizes, golds, hits = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    total = np.asarray(sentences, dtype=np.int64)
    if total.shape != sizes.shape:
        raise ValueError(f"there are {len(sizes)} answers, but {total.size} numbers of sentences")
    if ((sizes > total) | (golds > total)).any():
        raise ValueError("a set of sentences is larger than its explanation")
    return {
        "precision": _ratio(hits, sizes),
        "recall": _ratio(hits, golds),
        "f1": _ratio(2 * hits, sizes + golds),
        "chance": _ratio(2 * sizes * golds, total * (sizes + golds)),
    }


def _ratio(upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Divide, with 0 where the ratio is undefined."""
    return np.divide(upper, lower, out=np.zeros(len(upper)), where=lower != 0)


def retrieval(selected: Collection[int], chains: Sequence[Collection[int]]) -> SetScores | None:
    """Compute (precision, recall, F1), each the best chain's; None where nobody selected passages."""
    by_chain = [set_scores(selected, chain) for chain in chains]
    return _best(by_chain) if by_chain else None


def chance_retrieval(size: int, passages: Collection[int], chains: Sequence[Collection[int]]) -> SetScores | None:
    """Compute (precision, recall, F1) expected of `size` random passages; None where nobody selected passages.

    passages: the numbers of all passages of the claim. Raises ValueError where there are fewer than `size`, or not all of a
    chain.
    """
    if not 0 <= size <= len(set(passages)):
        raise ValueError(f"{size} passages cannot be drawn out of {len(set(passages))}")
    if any(set(chain) - set(passages) for chain in chains):
        raise ValueError("a chain has a passage that the claim does not have")
    if not chains:
        return None
    sets = [frozenset(chain) for chain in chains]
    # Passages of the same chains are alike; which numbers they have does not matter.
    alike = Counter(tuple(number in chain for chain in sets) for number in set(passages))
    return _expected(size, tuple(sorted(alike.items())))


@lru_cache(maxsize=4096)
def _expected(size: int, alike: tuple[tuple[tuple[bool, ...], int], ...]) -> SetScores:
    """Compute the expected scores. alike: (which chains a passage is in, how many such passages there are)."""
    chains = len(alike[0][0])
    lengths = [sum(count for within, count in alike if within[chain]) for chain in range(chains)]
    # (how many are drawn, how many of them each chain has) ▶ in how many ways.
    ways: dict[tuple[int, tuple[int, ...]], int] = {(0, (0,) * chains): 1}
    left = sum(count for _, count in alike)
    for within, count in alike:
        left -= count
        further: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)
        for (predicted, hits), number in ways.items():
            for more in range(max(0, size - predicted - left), min(count, size - predicted) + 1):
                new_hits = tuple(held + more * inside for held, inside in zip(hits, within, strict=True))
                further[predicted + more, new_hits] += number * comb(count, more)
        ways = further
    total, sums = 0, [0.0, 0.0, 0.0]
    for (predicted, hits), number in ways.items():
        if predicted == size:
            total += number
            best = _best([_scores(held, size, length) for held, length in zip(hits, lengths, strict=True)])
            sums = [whole + number * value for whole, value in zip(sums, best, strict=True)]
    precision, recall, f1 = (whole / total for whole in sums)
    return precision, recall, f1


def _best(by_chain: Sequence[SetScores]) -> SetScores:
    return max(scored[0] for scored in by_chain), max(scored[1] for scored in by_chain), max(scored[2] for scored in by_chain)
