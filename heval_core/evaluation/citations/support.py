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

import pandas as pd

from heval_core.evaluation.citations.measures import CHANCE


def of_sentences(rows: pd.DataFrame) -> pd.DataFrame:
    """claim_id and the measures of each sentence, with their chance levels (`measures.rows_of`).

    rows: one per explanation and passage, all passages that the writer was given: explanation_id, claim_id, predicted,
    gold, source (places of the sentences made from the passage; None where that is not known), sentences.
    """
    each = _pairs(rows)
    sentence = each.groupby(["explanation_id", "place"], sort=False).ngroup()

    def some(which: pd.Series) -> pd.Series:
        """Whether there is such a passage."""
        return which.groupby(sentence).any()

    def none(which: pd.Series) -> pd.Series:
        """The probability that no such passage is chosen at random."""
        return each["missed"].where(which, 1.0).groupby(sentence).prod()

    chosen, cited, source = each["chosen"], each["cited"], each["source"]
    cites, rests, supported, sourced = some(cited), some(chosen), some(chosen & cited), some(source)
    none_cited, none_other, none_source = none(cited), none(~cited), none(source)
    wrong = cites & rests & ~supported
    first = each.groupby(sentence)[["claim_id", "known"]].first()
    known = first["known"].astype(bool)
    made, behind = known & sourced, cites & ~some(cited & source)
    any_beyond = (1 - none_other) * (1 - none_cited).where(cites, 1.0)
    # Measure ▶ among which sentences, in which it holds, and in which it would by chance.
    shares = {
        "supported": (cites, supported, 1 - none_cited),
        "wrong_marker": (cites, wrong, none_cited * (1 - none_other)),
        "unsupported_sentence": (cites | True, ~rests, none_cited * none_other),
        "omitted_citation": (cites | True, some(chosen & ~cited) & ~wrong, any_beyond),
    }
    if known.any():
        found = some(chosen & source)
        shares |= {
            "source": (made, found, 1 - none_source),
            "source_behind_wrong_marker": (made & behind, found, 1 - none_source),
            "no_source": (known & ~sourced, ~rests, none_cited * none_other),
        }
    measured = {name: holds.astype(float).where(among) for name, (among, holds, _) in shares.items()}
    chances = {f"{name}{CHANCE}": chance for name, (_, _, chance) in shares.items()}
    return pd.DataFrame({"claim_id": first["claim_id"], **measured, **chances})


def _pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each passage and sentence. missed: the probability that the sentence is not chosen at random."""
    names = ("explanation_id", "claim_id", "predicted", "gold", "source", "sentences")
    return pd.DataFrame(
        [
            (explanation, place, claim, place in chosen, place in gold, place in (source or ()), source is not None, missed)
            for explanation, claim, chosen, gold, source, count in zip(*(rows[name] for name in names), strict=True)
            for missed in [1 - len(chosen) / max(count, 1)]
            for place in range(count)
        ],
        columns=["explanation_id", "place", "claim_id", "chosen", "cited", "source", "known", "missed"],
    )
