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
Means are those of the table `cell_recovery`, alpha that of `agreement`. Differences are taken question by question where both
answered the same ones, and over the claims that both have where the questions differ. Every passage of an explanation is asked
about where both annotators were asked so (full), else one of each explanation (sample). A verdict is over writers and sources
of claims instead of models and datasets.
Departure: the paper has no such tests; alpha is in place of whatever correlation it means. Whether people find an
explanation helpful is in the report's tables.
Cost: one matrix product of resamples x claims for each number; for alpha, of resamples x sets x sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pandas as pd

from heval_core.evaluation.citations.measures import FULL, PEOPLE, QUESTION, SAMPLE, alpha_of, of_answers
from heval_core.evaluation.citations.tables import AnswerTables
from heval_core.evaluation.findings.claims import LARGEST, LEAST, Evidence, Hypothesis, Number, PaperClaim, mean_of
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.values import Resampled, Value, average

# What a difference of F1, or of a share, has to exceed.
MARGIN = 0.05
RELIABLE = 0.8
READER, EXPLAINER, CONTROL = "reader", "explainer", "control"
HUMAN, MACHINES = "human", ("llm", "lexical")
# The control that compares words; the others read nothing at all.
LEXICAL = "lexical"


class CitationCell:
    """What annotators answered about one writer's explanations of one source of claims, from one selector's passages.

    names: source of claims, writer, selector.
    """

    def __init__(self, names: tuple[str, str, str], answers: AnswerTables, resamples: Resamples):
        self.dataset, self.model, self.selector = names
        self._resamples, self._answers = resamples, answers
        self.annotators = {annotator for by_annotator in answers.values() for annotator in by_annotator}

    def answers_under(self, masking: str, *annotators: str) -> list[pd.DataFrame] | None:
        """Return the answers of each of these annotators; None if one has none."""
        by_annotator = self._answers.get(masking, {})
        return [by_annotator[annotator] for annotator in annotators] if by_annotator.keys() >= set(annotators) else None

    def answers(self, *annotators: str) -> list[pd.DataFrame] | None:
        """Return the answers about every passage if all were asked so, else about the sampled ones; None without."""
        return self.answers_under(FULL, *annotators) or self.answers_under(SAMPLE, *annotators)

    def mean(self, rows: pd.DataFrame, values: pd.Series, ends: tuple[float, float] | None = None) -> Value | None:
        """Return the mean of some values of answers, or of what else belongs to claims; None where there is nothing."""
        questions = Resampled(self._resamples, rows["claim_id"])
        return questions.means({"mean": questions.column(rows["claim_id"], values, ends=ends)}).get("mean")

    def above_chance(self, annotator: str) -> Value | None:
        """Compute mean F1 less its chance."""
        answers = self.answers(annotator)
        return self.mean(answers[0], answers[0]["f1"] - answers[0]["chance"]) if answers else None

    def lead(self, annotator: str, other: str) -> Value | None:
        """Return how far an annotator's F1 is above another's, over the masked citations that both answered."""
        answers = self.answers(annotator, other)
        if not answers:
            return None
        first, second = (rows.groupby(QUESTION).agg(claim_id=("claim_id", "first"), f1=("f1", "mean")) for rows in answers)
        shared = first.join(second[["f1"]], rsuffix="_other", how="inner")
        return self.mean(shared, shared["f1"] - shared["f1_other"])

    def transparent(self, annotator: str) -> Value | None:
        """Return the share of explanations that are transparent to an annotator who was asked about every passage."""
        answers = self.answers_under(FULL, annotator)
        if answers is None:
            return None
        (explanations,) = (unit for unit in of_answers(answers[0], FULL)[0] if "transparent" in unit)
        return self.mean(explanations, explanations["transparent"], (0.0, 1.0))

    def alpha(self, first: str, second: str) -> Value | None:
        """Return Krippendorff's alpha of two annotators, as the table `agreement` has it. Only the second may be PEOPLE."""
        answers = self.answers(first, second)
        if not answers:
            return None
        return alpha_of(answers[0], answers[1], answers[1] if second == PEOPLE else None, self._resamples)

    def gain_over(self, other: CitationCell, annotators: list[str]) -> Value | None:
        """Return how much better its citations are recovered than another selector's: the mean over annotators asked about
        both.
        """
        gains = [value for annotator in annotators if (value := self._apart(other, annotator)) is not None]
        return average(gains) if gains else None

    def _apart(self, other: CitationCell, annotator: str) -> Value | None:
        """Return the mean F1 less the other's, over the claims that both have. n: of the fewer ones."""
        for masking in (FULL, SAMPLE):
            answers = self.answers_under(masking, annotator), other.answers_under(masking, annotator)
            if answers[0] and answers[1]:
                frames = [answers[0][0], answers[1][0]]
                claims = set(frames[0]["claim_id"]) & set(frames[1]["claim_id"])
                shared = [rows[rows["claim_id"].isin(claims)] for rows in frames]
                f1, base_f1 = (self.mean(rows, rows["f1"]) for rows in shared)
                return None if f1 is None or base_f1 is None else f1.less(base_f1)
        return None


def evidence_of(answers: Mapping[tuple[str, str, str], AnswerTables], resamples: Mapping[str, Resamples]) -> Evidence:
    """Gather evidence. answers: by source of claims, writer and selector. resamples: by source of claims."""
    cells = [CitationCell(names, answers[names], resamples[names[0]]) for names in sorted(answers)]
    return Evidence(cells, "annotator", (annotator for cell in cells for annotator in cell.annotators))


def annotators(evidence: Evidence, *families: str) -> list[str]:
    """List the annotators of some families (`heval_core.plugins.protocols.ANNOTATOR_FAMILIES`, and PEOPLE), people first.

    One that this program lacks is a reader.
    """
    family = {key: PEOPLE if key == PEOPLE else getattr(plugin, "family", READER) for key, plugin in evidence.plugins.items()}
    return sorted((key for key in family if family[key] in families), key=lambda key: (key != PEOPLE, key))


def _title(evidence: Evidence, annotator: str) -> str:
    return "People" if annotator == PEOPLE else evidence.title(annotator)


def selector_gains(evidence: Evidence) -> dict[str, Number | None]:
    """Compute by selector how much better citations of explanations from people's passages are recovered than those from its
    own: of the same writer and claims.
    """
    readers = annotators(evidence, PEOPLE, READER)
    gains: dict[str, list[tuple[str, list[str], Value | None]]] = {}
    for human, machine in permutations(evidence.cells, 2):
        same = (human.dataset, human.model) == (machine.dataset, machine.model)
        if same and human.selector == HUMAN and machine.selector.split("(")[0] in MACHINES:
            gains.setdefault(machine.selector, []).append((human.model, [human.dataset], human.gain_over(machine, readers)))
    return {
        selector: mean_of(f"F1, people's passages less those of the selector {selector}", gains[selector])
        for selector in sorted(gains)
    }


def _alpha(evidence: Evidence, first: str, second: str) -> Number | None:
    label = f"alpha of {_title(evidence, first)} and {_title(evidence, second)}"
    return evidence.mean(label, CitationCell.alpha, first, second)


def _llm_as_people(evidence: Evidence) -> list[Hypothesis]:
    models = [key for key in annotators(evidence, READER) if key.split("(")[0] == "llm"]
    pairs = (_alpha(evidence, key, PEOPLE) for key in models if PEOPLE in evidence.plugins)
    return Hypothesis.of(pairs, least=0, which=LARGEST)


def _best_still_wrong(evidence: Evidence) -> list[Hypothesis]:
    def transparent(writer: str, annotator: str) -> Number | None:
        label = f"transparent explanations by {writer}, to {_title(evidence, annotator)}"
        return evidence.mean(label, lambda cell: cell.transparent(annotator) if cell.model == writer else None)

    writers = sorted({cell.model for cell in evidence.cells})
    shares = [transparent(writer, key) for writer in writers for key in annotators(evidence, PEOPLE, READER)]
    known = [number for number in shares if number is not None]
    # The best of all writers is named: a verdict on it is over all of them.
    everybody = frozenset(name for number in known for name in number.models)
    return Hypothesis.of((number._replace(models=everybody) for number in known), most=1 - MARGIN, which=LARGEST)


def _controls(evidence: Evidence) -> list[Hypothesis]:
    titles = {key: _title(evidence, key) for key in annotators(evidence, CONTROL) if key != LEXICAL}
    numbers = (evidence.mean(f"{title}, F1 above chance", CitationCell.above_chance, key) for key, title in titles.items())
    return Hypothesis.each(numbers, most=MARGIN)


def _words(evidence: Evidence) -> list[Hypothesis]:
    readers = annotators(evidence, PEOPLE, READER) if LEXICAL in annotators(evidence, CONTROL) else []
    labels = {key: f"F1, {_title(evidence, key)} less {_title(evidence, LEXICAL)}" for key in readers}
    numbers = (evidence.mean(label, CitationCell.lead, key, LEXICAL) for key, label in labels.items())
    return Hypothesis.of(numbers, least=0, which=LARGEST)


def _parted(evidence: Evidence) -> list[Hypothesis]:
    readers, explainers = annotators(evidence, PEOPLE, READER), annotators(evidence, EXPLAINER)
    pairs = (_alpha(evidence, key, reader) for key in explainers for reader in readers)
    return Hypothesis.of(pairs, most=RELIABLE, which=LARGEST)


_TWO_SELECTORS = "no reader was asked about one writer's explanations both from people's passages and from a selector's"
CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "llm_as_people", "Language models recover masked citations much as people do.",
        "in the abstract, without a number: LLM annotation correlates with human annotation", "alpha", _llm_as_people,
        "no language model and people were asked about the same explanations",
    ),
    PaperClaim(
        "best_still_wrong", "Even the best writer's explanations are not all transparent.",
        "in the abstract, without a number: the best models still attribute inaccurately", "share", _best_still_wrong,
        "no reader was asked about every passage of an explanation (--masking full)",
    ),
    PaperClaim(
        "human_better", "Explanations from passages that people selected cite better than those from a program's.",
        "in the third version's abstract, without a number: human-curated evidence is essential", "F1",
        lambda evidence: Hypothesis.of(selector_gains(evidence).values(), least=0, which=LEAST), _TWO_SELECTORS,
    ),
    PaperClaim(
        "machine_enough", "Explanations from passages that a program selected cite as well as those from people's, or better.",
        "in the first version's abstract, without a number: similar or higher quality with machine-selected evidence", "F1",
        lambda evidence: Hypothesis.of(selector_gains(evidence).values(), most=MARGIN, which=LEAST), _TWO_SELECTORS,
    ),
    PaperClaim(
        "controls_at_chance", "What reads nothing finds masked citations no better than chance.",
        "nothing: the paper has no controls", "F1", _controls, "no control was asked",
    ),
    PaperClaim(
        "beyond_words", "Readers find masked citations better than shared words do.",
        "nothing: the paper has no controls", "F1", _words, "no reader was asked beside the control lexical",
    ),
    PaperClaim(
        "readers_and_use", "What a writer used is not where readers put its citations.",
        "nothing: the paper has no explainers", "alpha", _parted, "no explainer was asked beside a reader",
    ),
)  # fmt: skip
