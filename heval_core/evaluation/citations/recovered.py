"""What an annotator's answers come to: recovery, rejections, transparency.

Formula: precision, recall, F1 of each answer (`heval_core.citations.scoring`), their means over (claim, passage) pairs, and
the mean over claims of the claims' mean F1. transparent: the share of explanations all of whose cited passages have an F1 of
at least .6. correct_rejection: of passages that no sentence cites, the share for which the annotator chose no sentence.
unreadable: the share of answers that could not be read, which count as no sentence.
Chance: of an answer, the mean over all sets of as many sentences; of an explanation, the product over its cited passages of
the probability that such a set has an F1 of at least .6 (hypergeometric); of correct_rejection, how often the annotator
chooses no sentence at all, whatever it is asked.
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
    claims = rows["claim_id"].to_numpy()
    chosen, golds, sentences = (rows[name].to_numpy(dtype=float) for name in ("chosen", "golds", "sentences"))
    of_sentences = np.maximum(sentences, 1)
    f1, chance = rows["f1"].to_numpy(), rows["chance"].to_numpy()
    return [
        Values("precision", claims, rows["precision"].to_numpy(), np.where(chosen > 0, golds / of_sentences, 0.0)),
        Values("recall", claims, rows["recall"].to_numpy(), np.where(golds > 0, chosen / of_sentences, 0.0)),
        Values("f1", claims, f1, chance),
        Values("f1_of_claims", claims, f1, chance, of_claims=True),
        _rejected(claims, chosen, golds, masking),
        _transparent(rows, masking),
        Values("unreadable", claims, rows["problem"].notna().to_numpy(dtype=float)),
    ]


def _rejected(claims: np.ndarray, chosen: np.ndarray, golds: np.ndarray, masking: str) -> Values:
    if masking != "full":
        return unavailable("correct_rejection", NEEDS_FULL)
    none = (chosen == 0).astype(float)
    values = np.where(golds == 0, none, np.nan)
    expected = np.full(len(none), none.mean() if len(none) else np.nan)
    reason = "Every passage that a writer was given is cited."
    return Values("correct_rejection", claims, values, expected, reason=reason)


def _transparent(rows: pd.DataFrame, masking: str) -> Values:
    if masking != "full":
        return unavailable("transparent", NEEDS_FULL)
    cited = rows[rows["golds"] > 0]
    levels = [_above(*sizes) for sizes in zip(cited["chosen"], cited["golds"], cited["sentences"], strict=True)]
    answers = cited.assign(level=levels)
    # Several people answer a question: their mean counts.
    each = answers.groupby(["explanation_id", "passage"], sort=False, observed=True)
    passages = each.agg(claim_id=("claim_id", "first"), f1=("f1", "mean"), level=("level", "mean")).reset_index()
    passages["above"] = passages["f1"] >= TRANSPARENT - ROUNDING
    whole = passages.groupby("explanation_id", sort=False, observed=True)
    found = whole.agg(claim_id=("claim_id", "first"), value=("above", "all"), chance=("level", "prod")).astype(
        {"value": float}
    )
    reason = "No sentence cites a passage."
    claims, values, chance = (found[name].to_numpy() for name in ("claim_id", "value", "chance"))
    return Values("transparent", claims, values, chance, reason=reason)


@lru_cache(maxsize=65536)
def _above(chosen: int, golds: int, sentences: int) -> float:
    """The probability that `chosen` sentences drawn at random have an F1 of at least TRANSPARENT."""
    hits = (hits for hits in range(1, min(chosen, golds) + 1) if 2 * hits / (chosen + golds) >= TRANSPARENT)
    ways = sum(comb(golds, own) * comb(sentences - golds, chosen - own) for own in hits)
    return ways / comb(sentences, chosen)
