"""What sentences rest on, as an explainer finds it, against what they cite.

A sentence rests on a passage if the explainer chose it for that passage, in the answers about every passage of an explanation.
Formula, as shares of the sentences that cite a passage: supported, some passage that the sentence cites is one that it rests
on; wrong_marker, it rests on a passage, and on none that it cites. As shares of all sentences: unsupported_sentence, it
rests on no passage; omitted_citation, it rests on a passage that it does not cite, and is no wrong_marker: it cites another
passage that it rests on, or none at all. Only passages that the writer was given count as cited.
Where it is known what sentences were made from: source, of those made from passages the share that rest on one of these;
source_behind_wrong_marker, the same of those that cite passages, but none that they were made from; no_source, of those made
from no passage the share that rest on none. The first four of the truth itself stand beside, with no annotator.
Chance: for each passage as many sentences chosen at random, independently of the other passages.
Departure: Xing, Baldwin and Lau (arXiv 2406.12645) have nothing of the kind; ragas, ALCE and others ask a judge, without a
chance level.
Cost: linear in answers x sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from heval_core.evaluation.citations.measured import Values

KINDS = ("supported", "wrong_marker", "unsupported_sentence", "omitted_citation")
OF_SOURCES = ("source", "source_behind_wrong_marker", "no_source")
_NO_CITED = "No sentence cites a passage."
_NO_SOURCES = {
    "source": "Of no sentence the passage that it was made from is known.",
    "source_behind_wrong_marker": "Of no sentence with a wrong marker the passage that it was made from is known.",
    "no_source": "No sentence is known to be made from no passage.",
}


@dataclass(frozen=True)
class Sentences:
    """Of S sentences. claims: of each. cites, rests, supported, beyond: whether it cites a passage, rests on one, on one
    that it cites, on one that it does not. none_cited, none_other: the probability that no passage that it cites, or no
    other one, is chosen at random. sourced: 1 if it was made from a passage, 0 if from none, NaN if that is not known;
    found: whether it rests on one that it was made from; none_source: as none_cited; cites_source: whether it cites one that
    it was made from."""

    claims: np.ndarray
    cites: np.ndarray
    rests: np.ndarray
    supported: np.ndarray
    beyond: np.ndarray
    none_cited: np.ndarray
    none_other: np.ndarray
    sourced: np.ndarray
    found: np.ndarray
    none_source: np.ndarray
    cites_source: np.ndarray


def sentences_of(rows: pd.DataFrame) -> Sentences:
    """rows: one per explanation and passage, all passages that the writer was given: explanation_id, claim_id, predicted,
    gold, source (places of the sentences made from the passage; None where that is not known), sentences."""
    count = rows["sentences"].to_numpy(dtype=np.int64)
    owner, first = np.unique(rows["explanation_id"].to_numpy(dtype=str), return_inverse=True)
    length = np.zeros(len(owner), np.int64)
    length[first] = count
    start = np.cumsum(length) - length
    # One element for each passage and sentence; `place` says which sentence.
    before = np.cumsum(count) - count
    total = int(count.sum())
    place = np.repeat(start[first] - before, count) + np.arange(total)
    size = int(length.sum())
    chosen, cites, source = (_marked(rows[name], before, total) for name in ("predicted", "gold", "source"))
    told = rows["source"].notna().to_numpy()
    picks = rows["predicted"].map(len).to_numpy(dtype=float)
    with np.errstate(divide="ignore"):
        missed = np.repeat(np.log1p(-np.divide(picks, count, out=np.zeros(len(count)), where=count > 0)), count)

    def has(which: np.ndarray) -> np.ndarray:
        return np.bincount(place[which], minlength=size) > 0

    def none(which: np.ndarray) -> np.ndarray:
        return np.exp(np.bincount(place, np.where(which, missed, 0.0), minlength=size))

    claims = np.empty(len(owner), dtype=object)
    claims[first] = rows["claim_id"].to_numpy()
    known = np.zeros(len(owner), dtype=bool)
    known[first] = told
    sourced = np.where(np.repeat(known, length), has(source).astype(float), np.nan)
    return Sentences(
        np.repeat(claims, length),
        has(cites),
        has(chosen),
        has(chosen & cites),
        has(chosen & ~cites),
        none(cites),
        none(~cites),
        sourced,
        has(chosen & source),
        none(source),
        has(cites & source),
    )


def _marked(places: pd.Series, before: np.ndarray, total: int) -> np.ndarray:
    """(total,) whether an element is one of its row's places. before: elements before each row."""
    marked = np.zeros(total, dtype=bool)
    lists = [own if own is not None else () for own in places.where(places.notna(), None)]
    sizes = np.fromiter((len(own) for own in lists), np.int64, len(lists))
    flat = np.fromiter((place for own in lists for place in own), np.int64, int(sizes.sum()))
    marked[np.repeat(before, sizes) + flat] = True
    return marked


def support(of: Sentences, by_chance: bool = True) -> list[Values]:
    """The measures of KINDS. by_chance: whether they have a chance level, which a known truth has not."""
    wrong = of.cites & of.rests & ~of.supported
    omitted = of.beyond & ~wrong
    random_omitted = np.where(of.cites, (1 - of.none_cited) * (1 - of.none_other), 1 - of.none_other)
    shares = {
        "supported": (of.cites, of.supported, 1 - of.none_cited),
        "wrong_marker": (of.cites, wrong, of.none_cited * (1 - of.none_other)),
        "unsupported_sentence": (None, ~of.rests, of.none_cited * of.none_other),
        "omitted_citation": (None, omitted, random_omitted),
    }
    return [
        _share(name, of.claims, among, values, chance if by_chance else None, _NO_CITED)
        for name, (among, values, chance) in shares.items()
    ]


def sources(of: Sentences) -> list[Values]:
    """The measures of OF_SOURCES; none where nothing is known of any sentence."""
    if not np.isfinite(of.sourced).any():
        return []
    made = of.sourced == 1
    shares = {
        "source": (made, of.found, 1 - of.none_source),
        "source_behind_wrong_marker": (made & of.cites & ~of.cites_source, of.found, 1 - of.none_source),
        "no_source": (of.sourced == 0, ~of.rests, of.none_cited * of.none_other),
    }
    return [_share(name, of.claims, *share, _NO_SOURCES[name]) for name, share in shares.items()]


def _share(
    measure: str, claims: np.ndarray, among: np.ndarray | None, values: np.ndarray, chance: np.ndarray | None, reason: str
) -> Values:
    if among is None:
        return Values(measure, claims, values.astype(float), chance, reason=reason)
    own = None if chance is None else chance[among]
    return Values(measure, claims[among], values[among].astype(float), own, reason=reason)
