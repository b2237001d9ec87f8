"""What an annotator's answers come to: recovery, rejections, transparency.

Formula: precision, recall, F1 of each answer (`heval_core.citations.scoring`), their means over (claim, passage) pairs, and
the mean over claims of the claims' mean F1; what several people answered about one pair counts as its mean. transparent: the
share of explanations all of whose cited passages have an F1 of at least .6. correct_rejection: of passages that no sentence
cites, the share for which the annotator chose no sentence. unreadable: the share of answers that could not be read, which
count as no sentence.
Chance: of an answer, the mean over all sets of as many sentences; of an explanation, the product over its cited passages of
the probability that such a set, or the mean of several people's, has an F1 of at least .6 (hypergeometric); of
correct_rejection, how often the annotator chooses no sentence at all, whatever it is asked.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: a passage that no sentence cites counts in the means with 0, also where it is rejected: correct_rejection is the
other reading, and stands beside.
Cost: linear in the answers.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
import pandas as pd

from heval_core.citations.scoring import ROUNDING, TRANSPARENT
from heval_core.evaluation.citations.measured import Values, unavailable

NEEDS_FULL = "It needs the answers about every passage: --masking full."


def measures(rows: pd.DataFrame, masking: str) -> list[Values]:
    """rows: of `recovery` of one annotator, with claim_id, and sizes: chosen, golds, sentences."""
    chosen, golds, sentences = (rows[name].to_numpy(dtype=float) for name in ("chosen", "golds", "sentences"))
    of_sentences = np.maximum(sentences, 1)
    pairs = _of_pairs(
        rows,
        chance_precision=np.where(chosen > 0, golds / of_sentences, 0.0),
        chance_recall=np.where(golds > 0, chosen / of_sentences, 0.0),
        none=(chosen == 0).astype(float),
        unreadable=rows["problem"].notna().to_numpy(dtype=float),
    )
    claims = pairs["claim_id"].to_numpy()
    f1, chance = pairs["f1"].to_numpy(), pairs["chance"].to_numpy()
    return [
        Values("precision", claims, pairs["precision"].to_numpy(), pairs["chance_precision"].to_numpy()),
        Values("recall", claims, pairs["recall"].to_numpy(), pairs["chance_recall"].to_numpy()),
        Values("f1", claims, f1, chance),
        Values("f1_of_claims", claims, f1, chance, of_claims=True),
        _rejected(pairs, masking),
        _transparent(rows, masking),
        Values("unreadable", claims, pairs["unreadable"].to_numpy()),
    ]


def _of_pairs(rows: pd.DataFrame, **more: np.ndarray) -> pd.DataFrame:
    """A row for each (explanation, passage): what several people answered about one counts once, as their mean."""
    each = rows[["explanation_id", "passage", "claim_id", "golds", "precision", "recall", "f1", "chance"]].assign(**more)
    if not each.duplicated(["explanation_id", "passage"]).any():
        return each
    first = dict.fromkeys(("claim_id", "golds"), "first")
    means = {name: "mean" for name in each.columns if name not in ("explanation_id", "passage", *first)}
    return each.groupby(["explanation_id", "passage"], sort=False, observed=True).agg(first | means).reset_index()


def _rejected(pairs: pd.DataFrame, masking: str) -> Values:
    if masking != "full":
        return unavailable("correct_rejection", NEEDS_FULL)
    none = pairs["none"].to_numpy()
    values = np.where(pairs["golds"].to_numpy() == 0, none, np.nan)
    expected = np.full(len(none), none.mean() if len(none) else np.nan)
    reason = "Every passage that a writer was given is cited."
    return Values("correct_rejection", pairs["claim_id"].to_numpy(), values, expected, reason=reason)


def _transparent(rows: pd.DataFrame, masking: str) -> Values:
    if masking != "full":
        return unavailable("transparent", NEEDS_FULL)
    cited = rows[rows["golds"] > 0]
    # Several people answer a question: their mean counts.
    asked: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    names = ("explanation_id", "passage", "chosen", "golds", "sentences")
    for explanation, passage, *sizes in zip(*(cited[name] for name in names), strict=True):
        asked.setdefault((explanation, passage), []).append(tuple(sizes))
    each = cited.groupby(["explanation_id", "passage"], sort=False, observed=True)
    passages = each.agg(claim_id=("claim_id", "first"), f1=("f1", "mean")).reset_index()
    passages["level"] = [_above(tuple(sorted(own))) for own in asked.values()]
    passages["above"] = passages["f1"] >= TRANSPARENT - ROUNDING
    whole = passages.groupby("explanation_id", sort=False, observed=True)
    found = whole.agg(claim_id=("claim_id", "first"), value=("above", "all"), chance=("level", "prod")).astype(
        {"value": float}
    )
    reason = "No sentence cites a passage."
    claims, values, chance = (found[name].to_numpy() for name in ("claim_id", "value", "chance"))
    return Values("transparent", claims, values, chance, reason=reason)


@lru_cache(maxsize=65536)
def _above(asked: tuple[tuple[int, int, int], ...]) -> float:
    """The probability that the mean F1 of random answers is at least TRANSPARENT. asked: chosen, golds, sentences of each."""
    sums = {0.0: 1.0}
    for chosen, golds, sentences in asked:
        ways = comb(sentences, chosen)
        drawn = [
            (2 * hits / (chosen + golds), comb(golds, hits) * comb(sentences - golds, chosen - hits) / ways)
            for hits in range(max(0, chosen + golds - sentences), min(chosen, golds) + 1)
        ]
        together: dict[float, float] = {}
        for total, weight in sums.items():
            for f1, chance in drawn:
                key = round(total + f1, 9)
                together[key] = together.get(key, 0.0) + weight * chance
        sums = together
    return sum(weight for total, weight in sums.items() if total >= len(asked) * (TRANSPARENT - ROUNDING))
