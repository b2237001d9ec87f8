"""What explanations come to by themselves, before anybody is asked about them.

Formula: omitted, the share of the passages that a writer was given which no sentence cites; uncited, the share of sentences
that cite no passage; retrieval_precision, recall and f1, of the passages that the writer was given against those that people
selected (the best chain for each by itself), means over explanations of claims with chains.
Chance, of retrieval: as many of the claim's passages chosen at random, again with the best chain for each: exact, but for
several chains of a claim with more than DRAWS such choices, which the mean of DRAWS from a fixed seed stands for.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: chance levels.
Cost: DRAWS x passages x chains for each kind of claim with several chains.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from heval_core.citations.scoring import chance_f1, set_scores
from heval_core.evaluation.citations.measured import Values

DRAWS = 2000
RETRIEVAL = ("precision", "recall", "f1")
_NO_CHAINS = "Nobody selected passages for these claims."


def retrieval(
    selected: Sequence[int], chains: Sequence[Sequence[int]]
) -> tuple[float, float, float] | tuple[None, None, None]:
    """(precision, recall, F1), of each the best chain's; None without chains."""
    if not chains:
        return None, None, None
    found = [set_scores(selected, chain) for chain in chains]
    return max(one[0] for one in found), max(one[1] for one in found), max(one[2] for one in found)


def retrieval_chance(size: int, passages: Sequence[int], chains: Sequence[Sequence[int]]) -> tuple[float, float, float]:
    """(precision, recall, F1) expected of `size` of the passages, chosen at random."""
    place = {number: index for index, number in enumerate(passages)}
    kept = tuple(tuple(sorted({place[number] for number in chain if number in place})) for chain in chains)
    return _expected(min(size, len(passages)), len(passages), tuple(sorted(set(kept))))


@lru_cache(maxsize=65536)
def _expected(size: int, passages: int, chains: tuple[tuple[int, ...], ...]) -> tuple[float, float, float]:
    if not size or not any(chains):
        return 0.0, 0.0, 0.0
    if len(chains) == 1:
        right = len(chains[0])
        return right / passages, size / passages, chance_f1(size, right, passages)
    if comb(passages, size) <= DRAWS:
        drawn = np.array(list(combinations(range(passages), size)))
    else:
        drawn = np.random.default_rng(0).random((DRAWS, passages)).argsort(axis=1)[:, :size]
    members = np.zeros((passages, len(chains)))
    for column, chain in enumerate(chains):
        members[list(chain), column] = 1
    hits = members[drawn].sum(axis=1)
    sizes = np.maximum(members.sum(axis=0), 1)
    best = hits / size, hits / sizes, 2 * hits / (size + members.sum(axis=0))
    precision, recall, f1 = (float(one.max(axis=1).mean()) for one in best)
    return precision, recall, f1


def measures(explanations: pd.DataFrame) -> list[Values]:
    """explanations: with claim_id, selected, cited (JSON), precision, recall, f1, numbers and chains (JSON) of their
    claims."""
    claims = explanations["claim_id"].to_numpy()
    omitted, uncited, expected = [], [], []
    for selected, cited, numbers, chains in explanations[["selected", "cited", "numbers", "chains"]].itertuples(
        index=False, name=None
    ):
        each = [set(own) for own in json.loads(cited)]
        omitted.append([float(number not in set().union(*each)) for number in selected])
        uncited.append([float(not own) for own in each])
        people = json.loads(chains)
        expected.append(retrieval_chance(len(selected), numbers, people) if people else (np.nan,) * 3)
    chances = np.array(expected, dtype=float).reshape(-1, 3)
    found = [_flat("omitted", claims, omitted), _flat("uncited", claims, uncited)]
    for column, name in enumerate(RETRIEVAL):
        values = explanations[name].to_numpy(dtype=float)
        found.append(Values(f"retrieval_{name}", claims, values, chances[:, column], reason=_NO_CHAINS))
    return found


def _flat(measure: str, claims: np.ndarray, values: list[list[float]]) -> Values:
    owners = np.repeat(claims, [len(own) for own in values])
    return Values(measure, owners, np.array([value for own in values for value in own]), reason="There is no sentence.")
