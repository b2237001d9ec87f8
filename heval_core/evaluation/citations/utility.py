"""How helpful people find explanations, and how far their choices differ.

Formula: helpfulness, the mean of the answers' sliders (0 to 100); helpfulness_z, the same of z-scores, each person's values
less their mean, in their standard deviations, over all that the person answered; entropy, of the sentences that the people
who were asked one question chose, in bits ("none" is one more), the mean over questions with two answers or more. n: answers;
of entropy, questions.
Reference: Xing, Baldwin and Lau (arXiv 2406.12645).
Departure: intervals over claims. There is no chance level: z-scores have mean 0 over everything, and entropy depends on how
many people answered.
Cost: linear in the answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from heval_core.citations.agreement import entropy, z_scores
from heval_core.evaluation.citations.measured import Values, resamples_of, rows_of

_CELL = ["dataset", "writer", "selector"]
MEASURES = ("helpfulness", "helpfulness_z", "entropy")


def utility(answers: pd.DataFrame, claims: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Rows like those of `cell_recovery`, for each of MEASURES, with people: how many answered.

    answers: of people (`CitationQueries.people_answers`). claims: all (dataset, claim_id) that have an explanation.
    """
    if not len(answers):
        return []
    resamples = resamples_of(claims)
    scored = answers.assign(z=np.nan)
    given = scored[scored["helpfulness"].notna()]
    for _, own in given.groupby("annotator"):
        scored.loc[own.index, "z"] = z_scores(own["helpfulness"].tolist())
    rows = []
    for names, own in scored.groupby(_CELL, sort=False):
        key = {**dict(zip(_CELL, names, strict=True)), "annotator": "people", "masking": ""}
        found = [
            Values("helpfulness", own["claim_id"].to_numpy(), own["helpfulness"].to_numpy(dtype=float), ends=(0.0, 100.0)),
            Values("helpfulness_z", own["claim_id"].to_numpy(), own["z"].to_numpy(dtype=float), ends=None),
            _entropies(own),
        ]
        people = own["annotator"].nunique()
        rows += [{**row, "people": people} for row in rows_of(key, found, resamples[names[0]])]
    return rows


def _entropies(own: pd.DataFrame) -> Values:
    claims, values = [], []
    for _, asked in own.groupby(["explanation_id", "passage"], sort=False):
        if len(asked) > 1:
            claims.append(asked["claim_id"].iloc[0])
            values.append(entropy([list(chosen) for chosen in asked["predicted"]]))
    reason = "No question was answered by two people."
    return Values("entropy", np.array(claims, dtype=object), np.array(values, dtype=float), reason=reason, ends=None)
