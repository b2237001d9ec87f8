"""What explanations come to by themselves, before anybody is asked about them.

Formula: omitted, the share of the passages that a writer was given which no sentence cites; uncited, the share of sentences
that cite none of these passages; retrieval_precision, recall and f1, of the passages that the writer was given against those
that people selected (the best chain for each by itself), means over explanations of claims with chains.
Chance, of retrieval: as many of the claim's passages chosen at random, again with the best chain for each
(`heval_core.citations.retrieval`).
Reference: Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: chance levels.
Cost: linear in the sentences.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from heval_core.citations.retrieval import chance_retrieval
from heval_core.evaluation.citations.measured import Values

RETRIEVAL = ("precision", "recall", "f1")
_NO_CHAINS = "Nobody selected passages for these claims."


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
        there = [set(chain) & set(numbers) for chain in json.loads(chains)]
        expected.append(chance_retrieval(len(selected), numbers, there) or (np.nan,) * 3)
    chances = np.array(expected, dtype=float).reshape(-1, 3)
    found = [_flat("omitted", claims, omitted), _flat("uncited", claims, uncited)]
    for column, name in enumerate(RETRIEVAL):
        values = explanations[name].to_numpy(dtype=float)
        found.append(Values(f"retrieval_{name}", claims, values, chances[:, column], reason=_NO_CHAINS))
    return found


def _flat(measure: str, claims: np.ndarray, values: list[list[float]]) -> Values:
    owners = np.repeat(claims, [len(own) for own in values])
    return Values(measure, owners, np.array([value for own in values for value in own]), reason="There is no sentence.")
