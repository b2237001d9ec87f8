"""Measures: the numbers that a person can choose to see. A metric declares its measures beside its formula, in `measures`.

Pages, comparisons, the report and the docs are derived from these declarations, and name no metric themselves.
A metric also says of which stored values of instances its cells' values are made (`means`). A mean over cells needs replicates
of each cell's value: from the scores of all tokens these take seconds, from the table `score` a tenth of one.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

from heval_core.metrics.shared.cell import DEFAULT_K, Cell
from heval_core.records import DUAL_REGIMES, SINGLE_REGIMES
from heval_core.records.groups import context_groups
from heval_core.records.regime_keys import read_key
from heval_core.statistics.values import Each, Value

# Suffix of parts in which the question is protected: only tokens of the documents are taken out.
PROTECTED = "_protected"


@dataclass(frozen=True)
class ResearchQuestion:
    """A question that measures answer.

    title: its name on pages and in links. link: the link parameter that holds the chosen measure.
    given, why: explainers that are right by what defines its groups, and why; variants too. They are not ranked.
    """

    key: str
    title: str
    link: str
    given: tuple[str, ...] = ()
    why: str = ""


# In the order in which pages show them.
QUESTIONS = {
    question.key: question
    for question in (
        ResearchQuestion(
            "RQ1",
            "Context or memory?",
            "memory",
            ("document", "origin"),
            "an answer counts as memory's if it is the answer without documents, and these explainers delete documents",
        ),
        ResearchQuestion("RQ2", "Which document?", "document"),
        ResearchQuestion("RQ3", "Which token?", "token"),
        ResearchQuestion("faithfulness", "Is it faithful?", "faithful"),
    )
}


def given_at(question: str, explainer: str) -> bool:
    """Return whether an explainer, or the one that it is a variant of, is right by construction at a question."""
    return question in QUESTIONS and explainer.partition("(")[0] in QUESTIONS[question].given


@dataclass(frozen=True)
class Switch:
    """What makes a variant of a measure. link: its link parameter. title, about: as pages show it."""

    link: str
    title: str
    about: str


FIXED = Switch(
    "fixed",
    "Target held fixed",
    "Every explainer explains the first document's answer, whatever the model answered: only the scores can tell the "
    "groups apart, not the token that is explained.",
)
QUESTION_PROTECTED = Switch(
    "protected",
    "Question protected",
    "Only tokens of the documents, padding included, are ranked, taken out and kept. The question and all else of the prompt "
    "stay.",
)


@dataclass(frozen=True)
class Measure:
    """One way to read a metric.

    title: its name on pages and in links. parts: the metric's parts that it shows, one or more per cell. unit, meaning: a few
    words, and one plain sentence. question: a key of QUESTIONS; empty if no page offers it.
    order: its position among all measures, small numbers first.
    best: `high`, `low`, or `zero` for a bias; by default from the metric's `higher_is_better`.
    regimes: those it applies to; empty for all.
    whole: the part over all instances together, where many are needed; empty if the parts themselves are.
    part_titles: (part, title), if a cell has several parts. used_only: whether instances answered from memory are left out.
    instance_parts: the parts with values for single instances, by which explainers are compared. instance_title: the name of
    such a value, with `{part}` and `{k}`. sort: the name of the order by it on pages and in links, with `{explainer}`.
    needs: the option of the batch job that its values require.
    headline: its sentence on the Overview, if it is the headline measure of its question.
    sections: its sections in the report; by default one of its own. paper, reported_ks: the paper's name for that section, and
    the k that the section shows.
    fixed_target: whether it has a variant in which all explainers explain the same answer. variant_of, switch: the title of
    the measure that this one is a variant of, and how a page goes from one to the other. paired: whether chance is the random
    control's on the same answers, so that methods are drawn and ranked by what they are above it.

    `heval_core.plugins.measures.declared` fills in the rest: the metric's key, whether it uses k, and whether it uses ranks,
    so that the prompt's first token can be left out.
    """

    key: str
    title: str
    parts: tuple[str, ...]
    unit: str
    meaning: str
    question: str = ""
    order: int = 1000
    best: str = ""
    regimes: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    part_titles: tuple[tuple[str, str], ...] = ()
    used_only: bool = False
    instance_parts: tuple[str, ...] = ()
    instance_title: str = ""
    sort: str = ""
    needs: str = ""
    headline: str = ""
    sections: tuple[str, ...] | None = None
    paper: str = "ours"
    reported_ks: tuple[int, ...] = (DEFAULT_K,)
    fixed_target: bool = False
    variant_of: str = ""
    switch: Switch | None = None
    paired: bool = False
    metric: str = ""
    uses_k: bool = True
    ranked: bool = False

    def at(self, k: int) -> int:
        """Return the k under which the measure's values are stored: 0 if it has none."""
        return k if self.uses_k else 0

    def asks(self, regime: str) -> bool:
        """Return whether the measure applies to a regime, with or without options."""
        return not self.regimes or read_key(regime).base in self.regimes

    def given(self, explainer: str) -> bool:
        """Return whether an explainer is right by construction, and so not ranked."""
        return given_at(self.question, explainer)

    @property
    def shown_unit(self) -> str:
        """Of what is drawn of it where that does not run from chance to the best possible."""
        return f"{self.unit} above the random control" if self.paired else self.unit

    @property
    def protected(self) -> bool:
        return self.switch == QUESTION_PROTECTED

    @property
    def together(self) -> tuple[str, ...]:
        """The parts over all instances together."""
        return self.whole or self.parts


@runtime_checkable
class MirrorMetric(Protocol):
    """A metric that also compares a regime with the one in which the documents are swapped.

    one_way: what it needs of either cell, one value per instance; None for prompts that have no mirror. both_ways: from these
    values of the same questions in both cells.
    """

    key: str

    def one_way(self, cell: Cell, k: int) -> Each | None: ...

    def both_ways(self, one: Each, swapped: Each) -> Value: ...


class Mean(NamedTuple):
    """A mean over instances of the values that `score` has of a metric and a part.

    groups: whose instances; empty for all that have a value. factor: with which the mean enters the cell's value.
    """

    metric: str
    part: str
    groups: tuple[str, ...] = ()
    factor: float = 1.0


@runtime_checkable
class SumOfMeans(Protocol):
    """A metric whose values of cells are sums of such means. It may have `limits`, the least and the most possible value,
    which sums of resampled means could pass."""

    def means(self, part: str, documents: int) -> tuple[Mean, ...]:
        """Return the means of a part, in prompts with so many documents; empty if the part is not made of stored values."""


def means_of_used(metric: str, part: str, documents: int) -> tuple[Mean, ...]:
    """Return the means of a group whose document was used, or of `balanced`, in which these groups weigh the same."""
    groups = context_groups(documents)
    if part == "balanced":
        return tuple(Mean(metric, group, factor=1 / documents) for group in groups)
    return (Mean(metric, part),) if part in groups else ()


def of_faithfulness(title: str, what: str, order: int) -> tuple[Measure, Measure]:
    """Declare a measure of what the answer loses, and its variant with the question protected.

    what: when it loses that, as in `only the best-ranked tokens are kept`.
    """
    measure = Measure(
        title.lower(),
        title,
        ("all",),
        "nats",
        f"How much log-probability the answer loses when {what}: the mean over three ways to take tokens out (feature "
        "ablation's baseline token, tokens drawn by frequency, deletion). Chance is the random control on the same answers; "
        "figures and ranks are of what is above it.",
        question="faithfulness",
        order=order,
        instance_parts=("all",),
        instance_title=f"{title} ({{part}})",
        needs="--faithfulness",
        sections=("faithfulness",),
        paired=True,
    )
    protected = replace(
        measure,
        key=f"{measure.key}{PROTECTED}",
        title=f"{title}, question protected",
        parts=tuple(f"{part}{PROTECTED}" for part in measure.parts),
        meaning="Here only tokens of the documents, padding included, are ranked, taken out and kept; instruction, question "
        f"and answer lead stay. {measure.meaning}",
        instance_parts=tuple(f"{part}{PROTECTED}" for part in measure.instance_parts),
        needs="--faithfulness-protected",
        variant_of=title,
        switch=QUESTION_PROTECTED,
    )
    return measure, protected


def of_origin(
    key: str, title: str, part: str, unit: str, meaning: str, order: int, sections: bool = True
) -> tuple[Measure, Measure]:
    """Declare a measure of how well scores reveal the answer's origin: with one document, and with two.

    meaning: with `{documents}` for the source of the scores. sections: whether the report shows it.
    """
    one = Measure(
        f"{key}_memory",
        title,
        (part,),
        unit,
        meaning.format(documents="the document"),
        "RQ1",
        order,
        regimes=SINGLE_REGIMES,
        fixed_target=True,
        sections=("simulatability",) if sections else (),
    )
    two = replace(
        one,
        key=f"{key}_document",
        meaning=meaning.format(documents="both documents"),
        question="RQ2",
        regimes=DUAL_REGIMES,
        sections=("simulatability_dual", "simulatability_swap") if sections else (),
    )
    return one, two
