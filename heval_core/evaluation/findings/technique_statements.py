"""Sentences about techniques, after Hagström et al. 2025 (CUB, arXiv 2505.16518), and the effects that each implies.

Formulas, over cells (model and dataset), with d(t, k) technique t's BCU under kind of context k less Regular's, over the
answers that both gave:
- best in every kind: of each technique t, the largest over kinds k and other techniques u (Regular too) of the mean of
  d(u, k) - d(t, k): how far t is behind another one somewhere. The sentence is true if it is above MARGIN for every t.
- gains on both: of each t, the least of two means: of the gain in context faithfulness, (d(gold) + d(conflicting))/2, and of
  the gain in robustness, d(irrelevant). True if it is below MARGIN for every t.
- memory: the mean of Spearman's correlation within cells of BCU on conflicting documents with memory strength, under Regular;
  every resample of the questions is ranked anew. True below 0.
- relevance: the mean gain in J of each technique that sees only probabilities. True if it is below MARGIN for every one.
- synthesised: within models, the mean over techniques of the total BCU on CounterFact, less the same mean over those of NQ and
  DRUID that there are. True above 0.
- without a technique: Regular's mean BCU on conflicting and on irrelevant documents. True if both are below 1 - MARGIN.
Departure: the paper has no tests. MARGIN lets a technique that ties with the best one count as best; without it a tie could
never be told from a loss. Off-topic documents, which the paper does not have, are one of the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from heval_core.evaluation.findings.technique_effects import LARGEST, LEAST, Asked
from heval_core.evaluation.findings.technique_evidence import IGNORED, Cell, Mean, TechniqueEvidence, mean_of
from heval_core.evaluation.techniques.resampled import Spread
from heval_core.records import CONTEXT_KINDS, TECHNIQUE

# What a difference of BCU has to exceed: five answers of a hundred.
MARGIN = 0.05
SYNTHESISED, REALISTIC = ("counterfact",), ("nq", "druid")
_KIND_WORDS = {kind: kind.replace("_", "-") for kind in CONTEXT_KINDS}


@dataclass(frozen=True)
class TechniqueClaim:
    """A sentence. published: what the paper has for it. effects: what it implies. lacking: why there is none in a store."""

    key: str
    sentence: str
    published: str
    unit: str
    effects: Callable[[TechniqueEvidence], list[Asked]]
    lacking: str


def _mean(mean: Mean | None, least: float = -np.inf, most: float = np.inf) -> list[Asked]:
    """One effect, or none where no cell has it."""
    return [] if mean is None else [Asked((mean,), least, most)]


def _one_of(means: Iterable[Mean | None], which: str, least: float = -np.inf, most: float = np.inf) -> list[Asked]:
    known = tuple(mean for mean in means if mean is not None)
    return [Asked(known, least, most, which)] if known else []


def _unaided(evidence: TechniqueEvidence) -> list[Asked]:
    found = [_regular(evidence, kind) for kind in ("conflicting", "irrelevant")]
    return [one for mean in found for one in _mean(mean, most=1 - MARGIN)] if all(found) else []


def _regular(evidence: TechniqueEvidence, kind: str) -> Mean | None:
    return evidence.mean(f"Regular's BCU, {_KIND_WORDS[kind]}", lambda cell: cell.value(TECHNIQUE, (kind, "bcu")))


def _best_nowhere(evidence: TechniqueEvidence) -> list[Asked]:
    names = evidence.techniques()
    found = []
    for name in names:
        others = [other for other in (TECHNIQUE, *names) if other != name]
        behind = (_behind(evidence, name, other, kind) for other in others for kind in CONTEXT_KINDS)
        found += _one_of(behind, LARGEST, least=MARGIN)
    return found


def _behind(evidence: TechniqueEvidence, name: str, other: str, kind: str) -> Mean | None:
    label = f"{evidence.title(name)} behind {evidence.title(other)}, {_KIND_WORDS[kind]}"
    return evidence.mean(label, lambda cell: cell.behind(name, other, kind))


def _gain_on_one(evidence: TechniqueEvidence) -> list[Asked]:
    found = []
    for name in evidence.techniques():
        found += _one_of((_gain(evidence, name, followed) for followed in (True, False)), LEAST, most=MARGIN)
    return found


def _gain(evidence: TechniqueEvidence, name: str, followed: bool) -> Mean | None:
    label = f"{evidence.title(name)}, gain in {'faithfulness' if followed else 'robustness'}"
    return evidence.mean(label, lambda cell: _if_ignored(cell, name, followed))


def _if_ignored(cell: Cell, name: str, followed: bool) -> Spread | None:
    """Both gains are of the same cells."""
    faithful, robust = cell.faithfulness(name), cell.gain(name, IGNORED)
    if faithful is None or robust is None:
        return None
    return faithful if followed else robust


def _memory(evidence: TechniqueEvidence) -> list[Asked]:
    label = "correlation of BCU on conflicting documents with memory strength"
    return _mean(evidence.mean(label, lambda cell: cell.memory), most=0.0)


def _blind(evidence: TechniqueEvidence) -> list[Asked]:
    found = []
    for name in filter(evidence.is_decoding, evidence.techniques()):
        found += _mean(_gain_in_j(evidence, name), most=MARGIN)
    return found


def _gain_in_j(evidence: TechniqueEvidence, name: str) -> Mean | None:
    return evidence.mean(f"{evidence.title(name)}, gain in J", lambda cell: cell.gain(name, ("total", "discrimination")))


def _inflated(evidence: TechniqueEvidence) -> list[Asked]:
    found = []
    for model in sorted({cell.model for cell in evidence.cells}):
        own = {cell.dataset: cell for cell in evidence.cells if cell.model == model}
        made, real = ([own[name] for name in own if name.split("/")[-1] in names] for names in (SYNTHESISED, REALISTIC))
        there = [set(cell.gains) for cell in (*made, *real)]
        shared = sorted(set.intersection(*there)) if there else []
        if made and real and shared:
            easy, hard = (_of_techniques(cells, shared) for cells in (made, real))
            if easy is not None and hard is not None:
                both = Spread(easy.values - hard.values, easy.n + hard.n)
                found.append(((model,), tuple(cell.dataset for cell in (*made, *real)), both))
    return _mean(mean_of("mean of techniques, CounterFact less NQ and DRUID", found), least=0.0)


def _of_techniques(cells: list[Cell], names: list[str]) -> Spread | None:
    """The mean of their total BCU over cells."""
    totals = [cell.values[name].get(("total", "bcu")) for cell in cells for name in names]
    known = [total for total in totals if total is not None]
    if len(known) < len(totals):
        return None
    return Spread(np.mean([total.values for total in known], axis=0), sum(total.n for total in known))


_NONE = "no technique was compared with Regular"
TECHNIQUE_CLAIMS: tuple[TechniqueClaim, ...] = (
    TechniqueClaim(
        "unaided", "Without a technique, models do not use every conflicting document, and irrelevant ones distract them.",
        "the abstract's reason for techniques, without a number", "BCU", _unaided,
        "Regular was not asked with both conflicting and irrelevant documents",
    ),
    TechniqueClaim(
        "no_best", "No technique is best in every kind of context.",
        "in the abstract, without a number: most techniques do not handle all types of context", "BCU", _best_nowhere, _NONE,
    ),
    TechniqueClaim(
        "trade_off", "No technique both follows relevant documents more than Regular and ignores irrelevant ones more.",
        "in words: gains with relevant documents are paid for with irrelevant ones", "BCU", _gain_on_one,
        "no technique was compared with Regular on both relevant and irrelevant documents",
    ),
    TechniqueClaim(
        "strong_memory", "Strong memory goes with less use of conflicting documents.",
        "in words, of BCU's correlation with memory strength", "Spearman's rho", _memory,
        "no cell has answers of both kinds to conflicting documents and a memory strength that varies",
    ),
    TechniqueClaim(
        "blind_decoding", "Techniques that only see the probabilities do not tell relevant documents from irrelevant ones "
        "better than Regular.",
        "nothing: the paper does not measure discrimination", "J", _blind,
        "no decoding technique was asked with both conflicting and irrelevant documents",
    ),
    TechniqueClaim(
        "synthesised", "Techniques do better on synthesised questions than on real ones.",
        "in the abstract, without a number: inflated performance on simple synthesised datasets", "BCU", _inflated,
        "no model was asked under techniques on CounterFact and on NQ or DRUID",
    ),
)  # fmt: skip
