"""How well selected passages match those that people selected.

Formula: precision, recall and F1 of two sets of passages (see `scoring`). Where people gave several chains, each of the three
is that of its best chain.
Chance: the means over all sets of as many of the claim's passages, each with its best chain. They are exact: the sets are
counted by how many passages of each chain they hold (multivariate hypergeometric).
Reference: Xing, Baldwin and Lau (arXiv 2406.12645). Departure: chance.
Cost: of chance, the number of such counts: a few thousand for three chains, and some 100,000 for eight that overlap little.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from math import comb

from heval_core.citations.scoring import set_scores

Scores = tuple[float, float, float]


def retrieval(selected: Collection[int], chains: Sequence[Collection[int]]) -> Scores | None:
    """(precision, recall, F1), each the best chain's; None where nobody selected passages."""
    found = [set_scores(selected, chain) for chain in chains]
    return _best(found) if found else None


def chance_retrieval(size: int, passages: Collection[int], chains: Sequence[Collection[int]]) -> Scores | None:
    """(precision, recall, F1) expected of `size` passages drawn at random; None where nobody selected passages.

    passages: the numbers of all passages of the claim. Raises ValueError where there are fewer than `size`, or not all of
    a chain.
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
def _expected(size: int, alike: tuple[tuple[tuple[bool, ...], int], ...]) -> Scores:
    """alike: (which chains a passage is in, how many such passages there are)."""
    chains = len(alike[0][0])
    lengths = [sum(count for within, count in alike if within[chain]) for chain in range(chains)]
    # (how many are drawn, how many of them each chain has) ▶ in how many ways.
    ways: dict[tuple[int, tuple[int, ...]], int] = {(0, (0,) * chains): 1}
    left = sum(count for _, count in alike)
    for within, count in alike:
        left -= count
        further: dict[tuple[int, tuple[int, ...]], int] = defaultdict(int)
        for (drawn, hits), number in ways.items():
            for more in range(max(0, size - drawn - left), min(count, size - drawn) + 1):
                now = tuple(own + more * inside for own, inside in zip(hits, within, strict=True))
                further[drawn + more, now] += number * comb(count, more)
        ways = further
    total, sums = 0, [0.0, 0.0, 0.0]
    for (drawn, hits), number in ways.items():
        if drawn == size:
            total += number
            best = _best([_scores(own, size, length) for own, length in zip(hits, lengths, strict=True)])
            sums = [whole + number * value for whole, value in zip(sums, best, strict=True)]
    precision, recall, f1 = (whole / total for whole in sums)
    return precision, recall, f1


def _scores(hits: int, size: int, length: int) -> Scores:
    return (hits / size, hits / length, 2 * hits / (size + length)) if hits else (0.0, 0.0, 0.0)


def _best(found: Sequence[Scores]) -> Scores:
    return max(one[0] for one in found), max(one[1] for one in found), max(one[2] for one in found)
