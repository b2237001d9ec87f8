"""The paper's findings as statements that a store supports or contradicts.

Each sentence of Sun et al. 2025 (arXiv 2510.02629) about which explainer is right becomes one or more *effects*: a number over
cells of the store, and the range in which it has to lie if the sentence is true. The number is a mean (where the paper reports
a median: the median) over the cells in which every explainer that the sentence names is available, and in a cell over the
instances that all of them have scores of; its interval comes from the cells' own bootstrap replicates, in which one resample
draws the same questions for every explainer, model and regime of a dataset. So differences are paired. Intervals are over
questions: models and datasets are taken as they are.

Verdict: `supported` where the 95 % interval of every effect lies inside its range (all of them must, so nothing needs to be
corrected), over at least two models and two datasets; `contradicted` where the interval of one lies outside, at 95 % over all
effects of the sentence together (Bonferroni); `not enough data` in between, or where an effect has no cell, with the reason.
It holds for the models and datasets at hand: where an effect differs between cells by more than their own errors (Cochran's
Q, p < .05), the reason says over how many models and datasets, and how far.

The paper's sentences are about models that are asked plainly, so only cells of the technique `regular` are looked at,
whatever else a store holds. Sentences about techniques, by the same rules, are in `technique_statements`; those about
citations, over writers and sources of claims, in `citation_statements`.

Departures from the paper, which has no tests. Documents in turned order are left out, as in its main text, but for the biases,
where they balance what is in the documents. "Best overall" and "second" compare the mean of the three questions' normalised
values (0 chance, 1 best); "most variable" their standard deviation over cells, less what resampling alone makes of it; "near
zero" asks for a root mean square over cells, less the same, within NEAR_ZERO on that scale, so that cells of opposite sign do
not cancel. A bias is what is above the chance level, which is not 0 where documents are of unequal length, as a share of the
prompt. "Worse with longer contexts" is the slope within cells, per standard deviation of their lengths; the paper compares
datasets, in which more than length differs, and group margins, which have no value for an instance, are left out of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from heval_core.evaluation.cells import ValueKey
from heval_core.evaluation.findings.citation_effects import effect_of
from heval_core.evaluation.findings.citation_evidence import CitationEvidence
from heval_core.evaluation.findings.citation_statements import CITATION_CLAIMS, CitationClaim
from heval_core.evaluation.findings.effects import CONTRADICTED, SUPPORTED, UNDECIDED, Effect, outcome
from heval_core.evaluation.findings.evidence import METHODS, METRICS, WANTED, Evidence, K
from heval_core.evaluation.findings.statements import CLAIMS, Claim
from heval_core.evaluation.findings.technique_evidence import Cell, TechniqueEvidence
from heval_core.evaluation.findings.technique_statements import TECHNIQUE_CLAIMS, TechniqueClaim
from heval_core.evaluation.findings.wording import Rule, reason, rule_of

__all__ = [
    "CITATION_CLAIMS", "CLAIMS", "CONTRADICTED", "METHODS", "METRICS", "SUPPORTED", "TECHNIQUE_CLAIMS", "UNDECIDED", "WANTED",
    "Evidence", "K", "Rule", "citation_findings", "find", "findings", "outcome", "rule_of", "technique_findings",
]  # fmt: skip

# What a finding is about: the column `study` of the table.
EXPLAINERS, TECHNIQUES, CITATIONS = "explainers", "techniques", "citations"


def find(evidence: Evidence, claim: Claim, rule: Rule | None = None) -> dict[str, Any]:
    """A row of the table `finding`: the sentence, its verdict and reason, and its effects (JSON)."""
    found = [part.find(evidence, len(claim.parts), claim.explainers) for part in claim.parts]
    effects = [one for one in found if isinstance(one, Effect)]
    missing = list(dict.fromkeys(one for one in found if isinstance(one, str)))
    row = _row(claim, effects, missing, rule.says(claim.construction) if rule else None)
    return {"study": EXPLAINERS, **row, "levels": json.dumps(_levels_of(evidence, claim))}


def find_of_techniques(evidence: TechniqueEvidence, claim: TechniqueClaim, rule: Rule | None = None) -> dict[str, Any]:
    """Like `find`, of a sentence about techniques."""
    asked = claim.effects(evidence)
    effects = [one.effect(len(asked)) for one in asked]
    row = _row(claim, effects, [] if effects else [claim.lacking], rule.says("techniques") if rule else None)
    return {"study": TECHNIQUES, **row, "levels": "[]"}


def find_of_citations(evidence: CitationEvidence, claim: CitationClaim) -> dict[str, Any]:
    """Like `find`, of a sentence about citations."""
    asked = claim.effects(evidence)
    effects = [effect_of(one, len(asked)) for one in asked]
    row = _row(claim, effects, [] if effects else [claim.lacking], None)
    return {"study": CITATIONS, **row, "levels": "[]"}


def _row(
    claim: Claim | TechniqueClaim | CitationClaim,
    effects: Sequence[Effect],
    missing: Sequence[str],
    by_construction: str | None,
) -> dict[str, Any]:
    verdict = outcome(effects, missing)
    return {
        "key": claim.key,
        "sentence": claim.sentence,
        "published": claim.published,
        "verdict": verdict,
        "reason": reason(verdict, effects, missing),
        "by_construction": by_construction,
        "unit": claim.unit,
        "effects": json.dumps([_plainly(effect) for effect in effects]),
    }


def _levels_of(evidence: Evidence, claim: Claim) -> list[dict[str, Any]]:
    """What stands beside the paper's own values: label, value, low, high, chance, published; those that the store has."""
    kept = ("label", "value", "low", "high", "cells", "n")
    found = []
    for part, published in claim.levels:
        one = part.find(evidence, 1, claim.explainers)
        if isinstance(one, Effect):
            (series,) = part.series
            chances = evidence.chance(series, part.first, evidence.places(series, claim.explainers))
            chance = float(part.statistic(chances, np.zeros(len(chances))))
            found.append({**{name: _plainly(one)[name] for name in kept}, "chance": chance, "published": published})
    return found


def _plainly(effect: Effect) -> dict[str, Any]:
    """JSON has no infinity: an open side of the range is null."""
    own = asdict(effect).items()
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in own}


def findings(rows: pd.DataFrame, spread: Mapping[ValueKey, np.ndarray], rule: Rule | None = None) -> list[dict[str, Any]]:
    """All sentences, in the order of CLAIMS. rule: of stores whose models were taught one."""
    evidence = Evidence(rows, spread)
    return [find(evidence, claim, rule) for claim in CLAIMS]


def technique_findings(cells: Sequence[Cell], rule: Rule | None = None) -> list[dict[str, Any]]:
    """All sentences about techniques, in the order of TECHNIQUE_CLAIMS; none where techniques were not compared."""
    evidence = TechniqueEvidence(cells)
    return [find_of_techniques(evidence, claim, rule) for claim in TECHNIQUE_CLAIMS] if cells else []


def citation_findings(evidence: CitationEvidence) -> list[dict[str, Any]]:
    """All sentences about citations, in the order of CITATION_CLAIMS; none where nobody was asked."""
    return [find_of_citations(evidence, claim) for claim in CITATION_CLAIMS] if evidence.cells else []
