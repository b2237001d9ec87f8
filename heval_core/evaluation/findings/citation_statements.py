"""Sentences about citations, after Xing, Baldwin and Lau (arXiv 2406.12645), and the effects that each implies.

Formulas, over cells (writer, selector and source of claims), with F1 the mean over masked citations; readers are people,
language models and entailment models:
- llm and people: the largest over language models of the mean of Krippendorff's alpha with people. True above 0.
- best writer: the largest over writers and readers of the mean share of transparent explanations. True below 1 - MARGIN.
- people's evidence is better: the least over selectors (llm, lexical) of the mean of F1 of explanations from passages that
  people selected, less F1 of those from the selector's; of claims that have both, over readers who were asked about both. True
  above 0. It need not be better: the same is below MARGIN.
- controls: of each control that reads nothing, the mean of F1 less its chance. True below MARGIN for every one.
- words: the largest over readers of the mean of F1 less the control lexical's, on the same masked citations. True above 0.
- explainers and readers part: the largest over pairs of a reader and an explainer of the mean of their alpha. True below
  RELIABLE, Krippendorff's bar for annotators that can stand in for each other.
Departure: the paper has no such tests; alpha is in place of whatever correlation it means. Whether people find an
explanation helpful is in the report's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from heval_core.evaluation.findings.citation_evidence import (
    CONTROL,
    EXPLAINER,
    LEXICAL,
    PEOPLE,
    PEOPLE_FAMILY,
    READER,
    CitationCell,
    CitationEvidence,
)
from heval_core.evaluation.findings.technique_effects import LARGEST, LEAST, PLAIN, Asked
from heval_core.evaluation.findings.technique_evidence import Mean
from heval_core.evaluation.techniques.resampled import Spread

# What a difference of F1, or of a share, has to exceed.
MARGIN = 0.05
RELIABLE = 0.8


@dataclass(frozen=True)
class CitationClaim:
    """A sentence. published: what the paper has for it. effects: what it implies. lacking: why there is none in a store."""

    key: str
    sentence: str
    published: str
    unit: str
    effects: Callable[[CitationEvidence], list[Asked]]
    lacking: str


def _asked(means: Iterable[Mean | None], which: str, least: float = -np.inf, most: float = np.inf) -> list[Asked]:
    """One effect of several means, or none where no cell has any."""
    known = tuple(mean for mean in means if mean is not None)
    return [Asked(known, least, most, which)] if known else []


def _llm_as_people(evidence: CitationEvidence) -> list[Asked]:
    models = [key for key in evidence.annotators(READER) if key.split("(")[0] == "llm"]
    return _asked(
        (_alpha(evidence, key, PEOPLE) for key in models if PEOPLE in evidence.annotators(PEOPLE_FAMILY)), LARGEST, 0
    )


def _alpha(evidence: CitationEvidence, first: str, second: str) -> Mean | None:
    def of(cell: CitationCell) -> Spread | None:
        return cell.alpha(first, second)

    return evidence.mean(f"alpha of {evidence.title(first)} and {evidence.title(second)}", of)


def _best_still_wrong(evidence: CitationEvidence) -> list[Asked]:
    found = []
    for writer in evidence.writers():
        for key in evidence.annotators(PEOPLE_FAMILY, READER):
            found.append(_transparent(evidence, writer, key))
    known = [mean for mean in found if mean is not None]
    # The best of all writers is named: a verdict on it is over all of them.
    writers = tuple(sorted({name for mean in known for name in mean.models}))
    return _asked((mean._replace(models=writers) for mean in known), LARGEST, most=1 - MARGIN)


def _transparent(evidence: CitationEvidence, writer: str, annotator: str) -> Mean | None:
    label = f"transparent explanations by {writer}, to {evidence.title(annotator)}"
    return evidence.mean(label, lambda cell: cell.transparent(annotator), writer)


def _selectors(evidence: CitationEvidence) -> list[Mean | None]:
    names = sorted({other.selector for _, other in evidence.by_people()})
    return [evidence.selector_gain(f"F1, people's passages less those of the selector {name}", name) for name in names]


def _controls(evidence: CitationEvidence) -> list[Asked]:
    found = []
    for key in evidence.annotators(CONTROL):
        if key != LEXICAL:
            mean = _above_chance(evidence, key)
            found += _asked([mean], PLAIN, most=MARGIN)
    return found


def _above_chance(evidence: CitationEvidence, annotator: str) -> Mean | None:
    return evidence.mean(f"{evidence.title(annotator)}, F1 above chance", lambda cell: cell.above_chance(annotator))


def _words(evidence: CitationEvidence) -> list[Asked]:
    if LEXICAL not in evidence.annotators(CONTROL):
        return []
    return _asked((_lead(evidence, key) for key in evidence.annotators(PEOPLE_FAMILY, READER)), LARGEST, least=0)


def _lead(evidence: CitationEvidence, annotator: str) -> Mean | None:
    label = f"F1, {evidence.title(annotator)} less {evidence.title(LEXICAL)}"
    return evidence.mean(label, lambda cell: cell.lead(annotator, LEXICAL))


def _parted(evidence: CitationEvidence) -> list[Asked]:
    readers, explainers = evidence.annotators(PEOPLE_FAMILY, READER), evidence.annotators(EXPLAINER)
    return _asked((_alpha(evidence, key, reader) for key in explainers for reader in readers), LARGEST, most=RELIABLE)


_TWO_SELECTORS = "no reader was asked about one writer's explanations both from people's passages and from a selector's"
CITATION_CLAIMS: tuple[CitationClaim, ...] = (
    CitationClaim(
        "llm_as_people", "Language models recover masked citations much as people do.",
        "in the abstract, without a number: LLM annotation correlates with human annotation", "alpha", _llm_as_people,
        "no language model and people were asked about the same explanations",
    ),
    CitationClaim(
        "best_still_wrong", "Even the best writer's explanations are not all transparent.",
        "in the abstract, without a number: the best models still attribute inaccurately", "share", _best_still_wrong,
        "no reader was asked about every passage of an explanation (--masking full)",
    ),
    CitationClaim(
        "human_better", "Explanations from passages that people selected cite better than those from a program's.",
        "in the third version's abstract, without a number: human-curated evidence is essential", "F1",
        lambda evidence: _asked(_selectors(evidence), LEAST, least=0), _TWO_SELECTORS,
    ),
    CitationClaim(
        "machine_enough", "Explanations from passages that a program selected cite as well as those from people's, or better.",
        "in the first version's abstract, without a number: similar or higher quality with machine-selected evidence", "F1",
        lambda evidence: _asked(_selectors(evidence), LEAST, most=MARGIN), _TWO_SELECTORS,
    ),
    CitationClaim(
        "controls_at_chance", "What reads nothing finds masked citations no better than chance.",
        "nothing: the paper has no controls", "F1", _controls, "no control was asked",
    ),
    CitationClaim(
        "beyond_words", "Readers find masked citations better than shared words do.",
        "nothing: the paper has no controls", "F1", _words, "no reader was asked beside the control lexical",
    ),
    CitationClaim(
        "readers_and_use", "What a writer used is not where readers put its citations.",
        "nothing: the paper has no explainers", "alpha", _parted, "no explainer was asked beside a reader",
    ),
)  # fmt: skip
