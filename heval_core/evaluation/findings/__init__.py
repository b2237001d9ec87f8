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
whatever else a store holds. They are in `paper`; sentences about techniques, by the same rules, in `cub`, and those about
citations, over writers and sources of claims, in `citations`.

Departures from the paper, which has no tests. Documents in turned order are left out, as in its main text, but for the biases,
where they balance what is in the documents. "Best overall" and "second" compare the mean of the three questions' normalised
values (0 chance, 1 best); "most variable" their standard deviation over cells, less what resampling alone makes of it; "near
zero" asks for a root mean square over cells, less the same, within NEAR_ZERO on that scale, so that cells of opposite sign do
not cancel. A bias is what is above the chance level, which is not 0 where documents are of unequal length, as a share of the
prompt. "Worse with longer contexts" is the slope within cells, per standard deviation of their lengths; the paper compares
datasets, in which more than length differs, and group margins, which have no value for an instance, are left out of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heval_core.evaluation.cells import CellValue
from heval_core.evaluation.citations.tables import AnswerTables
from heval_core.evaluation.findings import citations, cub, paper
from heval_core.evaluation.findings.claims import CITATIONS, EXPLAINERS, TECHNIQUES, RuleShares, find
from heval_core.statistics.bootstrap import Resamples


def findings(
    values: Iterable[CellValue], compared: Sequence[cub.CubCell], rule: RuleShares | None = None
) -> list[dict[str, Any]]:
    """Return all sentences about explainers; and about techniques, where these were compared.

    values: see `paper.evidence_of`. rule: of stores whose models were taught one.
    """
    values_of_explainers, gains_of_techniques = paper.evidence_of(values), cub.evidence_of(compared)
    rows = [find(claim, values_of_explainers, EXPLAINERS, rule) for claim in paper.CLAIMS]
    return rows + [find(claim, gains_of_techniques, TECHNIQUES, rule) for claim in cub.CLAIMS if compared]


def citation_findings(
    answers: Mapping[tuple[str, str, str], AnswerTables], resamples: Mapping[str, Resamples]
) -> list[dict[str, Any]]:
    """Return all sentences about citations; none where nobody was asked. answers, resamples: see `citations.evidence_of`."""
    evidence = citations.evidence_of(answers, resamples)
    return [find(claim, evidence, CITATIONS) for claim in citations.CLAIMS] if evidence.cells else []
