"""Rows of the table `agreement`: any two annotators of the same explanations, and people among themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.agreement import outside_gold_as_one, union
from heval_core.evaluation.citations.agreeing import Alpha, Labels, alpha, alphas, coded, drawn
from heval_core.statistics.bootstrap import Resamples

PEOPLE = "people"
_QUESTION = ["explanation_id", "passage"]


def rows_of(key: dict[str, str], rows: pd.DataFrame, resamples: Resamples) -> Iterator[dict[str, Any]]:
    """key: dataset, writer, selector and masking. rows: of `recovery`, with claim_id and annotators; those of people have the
    annotator `person:NAME`."""
    rows = rows.assign(set=[frozenset(own) for own in rows["predicted"]])
    people = rows["annotator"].str.startswith("person:")
    persons, others = rows[people], rows[~people]
    for first, second, found in _between(others, resamples):
        yield _row(key, first, second, found)
    if len(persons):
        for annotator, own in others.groupby("annotator", sort=True):
            yield _row(key, str(annotator), PEOPLE, alpha(*_pairs(own, persons, True, resamples)))
        yield _row(key, PEOPLE, PEOPLE, _among(persons, resamples))


def drawn_between(first: pd.DataFrame, second: pd.DataFrame, people: bool, resamples: Resamples) -> tuple[np.ndarray, int]:
    """((1 + R,) alpha of two annotators itself, and in each resample; questions that both answered).

    first, second: their rows of `recovery`. people: whether the second ones are of people, all of them together.
    """
    one, other = (own.assign(set=[frozenset(chosen) for chosen in own["predicted"]]) for own in (first, second))
    return drawn(*_pairs(one, other, people, resamples))


def _pairs(
    own: pd.DataFrame, others: pd.DataFrame, people: bool, resamples: Resamples
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The arguments of `alpha`. Against people's joined sets, what is not gold is one label in both."""
    together = others.groupby(_QUESTION).agg(claim_id=("claim_id", "first"), set=("set", union), gold=("gold", "first"))
    both = together.join(own.set_index(_QUESTION)[["set"]], rsuffix="_other", how="inner")
    pairs: list[tuple[Labels, Labels]] = [
        (outside_gold_as_one(chosen, gold), outside_gold_as_one(other, gold)) if people else (chosen, other)
        for chosen, other, gold in zip(both["set"], both["set_other"], both["gold"], strict=True)
    ]
    codes, distances = coded([pair[place] for place in (0, 1) for pair in pairs])
    claims, weights = _weights(both["claim_id"], resamples)
    return codes.reshape(2, -1).T, claims, distances, weights


def _between(rows: pd.DataFrame, resamples: Resamples) -> Iterator[tuple[str, str, Alpha]]:
    """All pairs of annotators; their sets are compared once for all."""
    codes, distances = coded(list(rows["set"]))
    table = rows.assign(code=codes).pivot(index=[*_QUESTION, "claim_id"], columns="annotator", values="code")
    table = table.fillna(-1).astype(np.int64)
    claims, weights = _weights(table.index.get_level_values("claim_id"), resamples)
    names, answers = list(table.columns), table.to_numpy()
    whole = {place for place, column in enumerate(answers.T) if (column >= 0).all()}
    together = sorted(whole)
    found = alphas(answers[:, together], claims, distances, weights) if len(together) > 1 else {}
    for first, second in combinations(range(len(names)), 2):
        if {first, second} <= whole:
            yield names[first], names[second], found[together.index(first), together.index(second)]
        else:
            yield names[first], names[second], alpha(answers[:, [first, second]], claims, distances, weights)


def _among(persons: pd.DataFrame, resamples: Resamples) -> Alpha:
    codes, distances = coded(list(persons["set"]))
    table = persons.assign(code=codes).pivot(index=[*_QUESTION, "claim_id"], columns="annotator", values="code")
    claims, weights = _weights(table.index.get_level_values("claim_id"), resamples)
    return alpha(table.fillna(-1).astype(np.int64).to_numpy(), claims, distances, weights)


def _weights(owners: pd.Series | pd.Index, resamples: Resamples) -> tuple[np.ndarray, np.ndarray]:
    """((N,) the place of each owner among the distinct ones, (1 + resamples, distinct) weights)."""
    distinct, places = np.unique(owners.to_numpy(dtype=str), return_inverse=True)
    drawn = resamples.of(distinct)
    return places, np.concatenate([np.ones((1, len(distinct)), drawn.dtype), drawn])


def _row(key: dict[str, str], first: str, second: str, found: Alpha) -> dict[str, Any]:
    why = None
    if found.value is None:
        why = "All chose the same sentences everywhere." if found.n else "No question was answered by both."
    named = {"alpha": found.value, "low": found.low, "high": found.high}
    return {**key, "first": first, "second": second, **named, "n": found.n, "unavailable": why}
