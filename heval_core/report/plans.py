"""What a report's sections are: those of the paper (arXiv 2510.02629), and one for each measure that is not in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heval_core.metrics import measures
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES

_DUAL, _SWAPPED = DUAL_REGIMES[:2], DUAL_REGIMES[2:]


@dataclass(frozen=True)
class Plan:
    """A section made of cells of the measures that declare it (`Measure.sections`). ks: of those that have one."""

    key: str
    chapter: str
    title: str
    paper: str
    regimes: tuple[str, ...] = ()
    ks: tuple[int, ...] = (DEFAULT_K,)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """In order; each in the regimes of the section, if it has any."""
        shown = (m for m in measures().values() if self.key in (m.sections or (m.key,)) and m.question)
        return tuple(replace(measure, regimes=self.regimes) if self.regimes else measure for measure in shown)


GLANCE, MAIN, MORE, _ELSE = "At a glance", "The paper's figures", "The paper's appendix", "Beyond the paper"
# What the paper shows. Measures that declare none of these sections get one of their own.
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
OTHER = {
    "headline": ("The three questions, over all cells", "as on the Overview"),
    "board": ("The leaderboard: quality, pairs and cost", "ours"),
    "datasets": ("Instances: kept, dropped, and how long their contexts are", "Table A.2"),
    "patterns": ("Failure patterns: what each explainer's best token is", "B.4"),
}


TECHNIQUES = "Techniques"
# After CUB (arXiv 2505.16518); where techniques were compared.
TECHNIQUE_SECTIONS = {
    "techniques_front": ("Following against ignoring", "CUB"),
    "techniques_bcu": ("BCU by technique and kind of context", "CUB"),
    "techniques_bcu_gain": ("BCU: differences to Regular", "CUB"),
    "techniques_ccu": ("CCU by technique and kind of context", "CUB"),
    "techniques_ccu_gain": ("CCU: differences to Regular", "CUB"),
    "techniques_costs": ("What techniques cost", "CUB"),
    "techniques_features": ("What BCU depends on", "CUB"),
    "techniques_search": ("Which settings were chosen, and how clearly", "CUB"),
    "techniques_explained": ("Explanations before and after a technique", "ours"),
}

CITATIONS = "Citations"
# After Xing, Baldwin and Lau (arXiv 2406.12645); where citations were studied.
CITATION_SECTIONS = {
    "citations_claims": ("Claims, passages and explanations", "Xing et al."),
    "citations_recovery": ("Masked citations recovered, by annotator, writer and selector", "Xing et al."),
    "citations_transparent": ("Transparent explanations", "Xing et al."),
    "citations_masking": ("One citation of each explanation masked, or every one", "Xing et al."),
    "citations_agreement": ("Where annotators agree", "Xing et al."),
    "citations_people": ("What people say: helpfulness, entropy, control items", "Xing et al."),
    "citations_explainers": ("What explainers say the writer used", "ours"),
    "citations_unreadable": ("Answers that could not be read", "ours"),
}


def plans() -> dict[str, Plan]:
    """The sections made of measures, by key: those of the paper, then one for each measure that is not in it."""
    further = [
        Plan(measure.key, _ELSE, measure.title, measure.paper, ks=measure.reported_ks)
        for measure in measures().values()
        if measure.sections is None and measure.question
    ]
    return {plan.key: plan for plan in (*_OF_PAPER, *further)}


def section_titles(techniques: bool = False, citations: bool = False, explainers: bool = True) -> dict[str, str]:
    """Section ▶ what it is called and what it is in the paper, in order. techniques, citations, explainers: with those about
    them."""
    named = {key: (plan.title, plan.paper) for key, plan in plans().items()} | OTHER | TECHNIQUE_SECTIONS | CITATION_SECTIONS
    order = ["headline", "board", "datasets", *plans()] if explainers else []
    if explainers:
        order.insert(order.index("faithfulness") + 1, "patterns")
    order += TECHNIQUE_SECTIONS if techniques else ()
    order += CITATION_SECTIONS if citations else ()
    return {key: "{} ({})".format(*named[key]) for key in order}
