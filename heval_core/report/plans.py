"""What a report's sections are: those of the papers, ours, and one for each measure that is in none of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heval_core.metrics import measures
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES

_DUAL, _SWAPPED = DUAL_REGIMES[:2], DUAL_REGIMES[2:]


@dataclass(frozen=True)
class Plan:
    """chapter: the heading it stands under. paper: what it is in the paper. Where it is of measures (`Measure.sections`), its
    regimes, and the ks of those that have one."""

    key: str
    chapter: str
    title: str
    paper: str
    regimes: tuple[str, ...] = ()
    ks: tuple[int, ...] = (DEFAULT_K,)

    @property
    def heading(self) -> str:
        return f"{self.title} ({self.paper})"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """In order; each in the regimes of the section, if it has any."""
        own = (m for m in measures().values() if self.key in (m.sections or (m.key,)) and m.question)
        return tuple(replace(measure, regimes=self.regimes) if self.regimes else measure for measure in own)


GLANCE, MAIN, MORE, _ELSE = "At a glance", "The paper's figures", "The paper's appendix", "Beyond the paper"
TECHNIQUES, CITATIONS = "Techniques", "Citations"
# What the paper (arXiv 2510.02629) shows. Measures that declare none of these sections get one of their own.
_OF_PAPER = (
    Plan("group_margins", MAIN, "Context or memory: group rank margins", "Fig. 2", SINGLE_REGIMES),
    Plan("simulatability", MAIN, "Context or memory: can the origin be told?", "Fig. 3", SINGLE_REGIMES),
    Plan("group_margins_dual", MAIN, "Which document: group rank margins", "Fig. 4", _DUAL),
    Plan("instance_margins", MAIN, "Which document: instance rank margins", "Fig. 5", _DUAL),
    Plan("simulatability_dual", MAIN, "Which document: can the origin be told?", "Fig. 6", _DUAL),
    Plan("mrr", MAIN, "Which token: mean reciprocal rank", "Fig. 7", (*SINGLE_REGIMES, *_DUAL)),
    Plan("faithfulness", MORE, "Faithfulness", "B.3"),
    Plan("group_margins_k", MORE, "One document, other k: group rank margins", "B.8", SINGLE_REGIMES, (3, 9)),
    Plan("group_margins_dual_k", MORE, "Two documents, other k: group rank margins", "B.9", _DUAL, (3, 9)),
    Plan("instance_margins_k", MORE, "Two documents, other k: instance rank margins", "B.10", _DUAL, (3, 9)),
    Plan("group_margins_swap", MORE, "Documents swapped: group rank margins", "B.11", _SWAPPED),
    Plan("instance_margins_swap", MORE, "Documents swapped: instance rank margins", "B.12", _SWAPPED),
    Plan("simulatability_swap", MORE, "Documents swapped: can the origin be told?", "B.13", _SWAPPED),
    Plan("mrr_swap", MORE, "Documents swapped: mean reciprocal rank", "B.14", _SWAPPED),
)
_OTHER = (
    Plan("board", GLANCE, "The leaderboard: quality, pairs and cost", "ours"),
    Plan("datasets", MAIN, "Instances: kept, dropped, and how long their contexts are", "Table A.2"),
    Plan("patterns", MORE, "Failure patterns: what each explainer's best token is", "B.4"),
)
_PEOPLE = (Plan("quoted", _ELSE, "Answers that people wrote: who finds what they copied?", "QuoteSum"),)
# After CUB (arXiv 2505.16518); where techniques were compared.
_TECHNIQUES = (
    Plan("techniques_front", TECHNIQUES, "Following against ignoring", "CUB"),
    Plan("techniques_bcu", TECHNIQUES, "BCU by technique and kind of context", "CUB"),
    Plan("techniques_bcu_gain", TECHNIQUES, "BCU: differences to Regular", "CUB"),
    Plan("techniques_ccu", TECHNIQUES, "CCU by technique and kind of context", "CUB"),
    Plan("techniques_ccu_gain", TECHNIQUES, "CCU: differences to Regular", "CUB"),
    Plan("techniques_costs", TECHNIQUES, "What techniques cost", "CUB"),
    Plan("techniques_features", TECHNIQUES, "What BCU depends on", "CUB"),
    Plan("techniques_search", TECHNIQUES, "Which settings were chosen, and how clearly", "CUB"),
    Plan("techniques_explained", TECHNIQUES, "Explanations before and after a technique", "ours"),
)
# After Xing, Baldwin and Lau (arXiv 2406.12645); where citations were studied.
_CITATIONS = (
    Plan("citations_claims", CITATIONS, "Claims, passages and explanations", "Xing et al."),
    Plan("citations_recovery", CITATIONS, "Masked citations recovered, by annotator, writer and selector", "Xing et al."),
    Plan("citations_transparent", CITATIONS, "Transparent explanations", "Xing et al."),
    Plan("citations_masking", CITATIONS, "One citation of each explanation masked, or every one", "Xing et al."),
    Plan("citations_agreement", CITATIONS, "Where annotators agree", "Xing et al."),
    Plan("citations_people", CITATIONS, "What people say: helpfulness, entropy, control items", "Xing et al."),
    Plan("citations_explainers", CITATIONS, "What explainers say the writer used", "ours"),
    Plan("citations_unreadable", CITATIONS, "Answers that could not be read", "ours"),
)


def plans() -> dict[str, Plan]:
    """The sections made of measures, by key: those of the paper, then one for each measure that is not in it."""
    further = [
        Plan(measure.key, _ELSE, measure.title, measure.paper, ks=measure.reported_ks)
        for measure in measures().values()
        if measure.sections is None and measure.question
    ]
    return {plan.key: plan for plan in (*_OF_PAPER, *further)}


def section_plans(
    techniques: bool = False, citations: bool = False, explainers: bool = True, people: bool = False
) -> dict[str, Plan]:
    """All sections by key, in order. techniques, citations, explainers, people: with those about them."""
    board, datasets, patterns = _OTHER
    of_measures = list(plans().values())
    place = 1 + [plan.key for plan in of_measures].index("faithfulness")
    own = [board, datasets, *of_measures[:place], patterns, *of_measures[place:]] if explainers else []
    further = ((people, _PEOPLE), (techniques, _TECHNIQUES), (citations, _CITATIONS))
    return {plan.key: plan for plan in (*own, *(plan for there, plans in further if there for plan in plans))}
