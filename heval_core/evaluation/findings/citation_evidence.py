"""The data behind findings about citations: of each writer, selector and source of claims, numbers with their replicates.

Formula: means over masked citations (pairs of claim and passage) and over explanations as in the table `cell_recovery`; alpha
as in `agreement`. Differences are taken question by question where both answered the same ones, and over the claims that both
have where the questions differ. Every passage of an explanation is asked about where both annotators were asked so (full),
else one of each explanation (sample). A resample draws the same claims for everything of a source of claims, so differences
are paired.
Cost: one matrix product of resamples x claims for each number; for alpha, of resamples x sets x sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
import pandas as pd

from heval_core import catalogue
from heval_core.evaluation.citations import agreements, recovered
from heval_core.evaluation.citations.answered import FULL, SAMPLE, Answers
from heval_core.evaluation.findings.technique_evidence import Mean, mean_of
from heval_core.evaluation.techniques.resampled import Questions, Spread
from heval_core.records import HEvalError
from heval_core.statistics.bootstrap import Resamples

PEOPLE = agreements.PEOPLE
PEOPLE_FAMILY, READER, EXPLAINER, CONTROL = "people", "reader", "explainer", "control"
HUMAN, MACHINES = "human", ("llm", "lexical")
# The control that compares words; the others read nothing at all.
LEXICAL = "lexical"
_QUESTION = ["explanation_id", "passage"]


class CitationCell:
    """What annotators answered about one writer's explanations of one source of claims, from one selector's passages.

    rows: of `recovery`, as `heval_core.evaluation.citations.answered.recoveries_of` gives them.
    """

    def __init__(self, names: tuple[str, str, str], rows: pd.DataFrame, resamples: Resamples):
        self.dataset, self.writer, self.selector = names
        self.resamples = resamples
        given = Answers(rows)
        self._answers = {masking: dict(given.of(masking)) for masking in given.maskings()}

    @cached_property
    def annotators(self) -> list[str]:
        return sorted({annotator for own in self._answers.values() for annotator in own})

    def asked(self, annotator: str, masking: str) -> pd.DataFrame | None:
        """The answers of one annotator, if there are any."""
        return self._answers.get(masking, {}).get(annotator)

    def answers(self, *annotators: str) -> list[pd.DataFrame] | None:
        """The answers of each, about every passage if all were asked so, else about the sampled ones; None without."""
        for masking in (FULL, SAMPLE):
            found = [own for annotator in annotators if (own := self.asked(annotator, masking)) is not None]
            if len(found) == len(annotators):
                return found
        return None

    def above_chance(self, annotator: str) -> Spread | None:
        """Mean F1 less its chance."""
        found = self.answers(annotator)
        return mean_over(self.resamples, found[0]["claim_id"], found[0]["f1"] - found[0]["chance"]) if found else None

    def lead(self, annotator: str, other: str) -> Spread | None:
        """How far an annotator's F1 is above another's, over the masked citations that both answered."""
        found = self.answers(annotator, other)
        if not found:
            return None
        first, second = (own.groupby(_QUESTION).agg(claim_id=("claim_id", "first"), f1=("f1", "mean")) for own in found)
        both = first.join(second[["f1"]], rsuffix="_other", how="inner")
        return mean_over(self.resamples, both["claim_id"], both["f1"] - both["f1_other"])

    def transparent(self, annotator: str) -> Spread | None:
        """The share of explanations that are transparent to an annotator who was asked about every passage."""
        rows = self.asked(annotator, FULL)
        if rows is None:
            return None
        (found,) = (one for one in recovered.measures(rows, FULL) if one.measure == "transparent")
        claims, values = pd.Series(found.claims, dtype=object), pd.Series(found.values, dtype=float)
        return mean_over(self.resamples, claims, values, found.ends)

    def alpha(self, first: str, second: str) -> Spread | None:
        """Krippendorff's alpha of two annotators, as the table `agreement` has it. Only the second may be PEOPLE."""
        found = self.answers(first, second)
        if not found:
            return None
        one, other = found
        values, count = agreements.drawn_between(one, other, second == PEOPLE, self.resamples)
        return Spread(values, count) if count else None


def mean_over(
    resamples: Resamples, claims: pd.Series, values: pd.Series, ends: tuple[float, float] | None = None
) -> Spread | None:
    """A mean with its replicates; None where there is nothing. ends: the least and the largest possible value."""
    own = Questions(resamples, claims)
    column = own.column(pd.DataFrame({"fact_id": claims.to_numpy()}), values.reset_index(drop=True), ends=ends)
    return own.spreads({("", "mean"): column}).get(("", "mean"))


class CitationEvidence:
    """All cells of a store in which citations were studied.

    recovery: as `answered.recoveries_of` gives it. resamples: by source of claims.
    """

    def __init__(self, recovery: pd.DataFrame, resamples: Mapping[str, Resamples]):
        groups = recovery.groupby(["dataset", "writer", "selector"], sort=True, observed=True)
        self.cells = [CitationCell(names, rows, resamples[names[0]]) for names, rows in groups]
        asked = {annotator for cell in self.cells for annotator in cell.annotators}
        self._plugins = {key: _plugin(key) for key in sorted(asked)}

    def annotators(self, *families: str) -> list[str]:
        """In the order of their keys, people first."""
        return sorted((key for key in self._plugins if self.family(key) in families), key=lambda key: (key != PEOPLE, key))

    def family(self, annotator: str) -> str:
        """A key of `heval_core.protocols.ANNOTATOR_FAMILIES`; one that this program lacks is a reader."""
        return PEOPLE_FAMILY if annotator == PEOPLE else str(getattr(self._plugins[annotator], "family", READER))

    def title(self, annotator: str) -> str:
        """As on pages."""
        told = "People" if annotator == PEOPLE else str(getattr(self._plugins[annotator], "title", annotator))
        return told.removesuffix(" (control)")

    def writers(self) -> list[str]:
        return sorted({cell.writer for cell in self.cells})

    def mean(self, label: str, of: Callable[[CitationCell], Spread | None], writer: str = "") -> Mean | None:
        """Over the cells in which the number is defined, of one writer if it is named; None without any."""
        own = [cell for cell in self.cells if writer in ("", cell.writer)]
        return _mean(label, ((cell.writer, cell.dataset, of(cell)) for cell in own))

    def by_people(self) -> Iterator[tuple[CitationCell, CitationCell]]:
        """Cells with passages that people selected, each with every one of the same writer and claims where a program did."""
        for cell in self.cells:
            for other in self.cells:
                same = (cell.dataset, cell.writer) == (other.dataset, other.writer)
                if same and cell.selector == HUMAN and other.selector.split("(")[0] in MACHINES:
                    yield cell, other

    def selector_gain(self, label: str, selector: str) -> Mean | None:
        """How much better the citations of explanations from people's passages are recovered than those from a selector's."""
        pairs = [pair for pair in self.by_people() if pair[1].selector == selector]
        return _mean(label, ((own.writer, own.dataset, self._gain(own, other)) for own, other in pairs))

    def _gain(self, human: CitationCell, machine: CitationCell) -> Spread | None:
        """The mean over people and readers who were asked about both, of claims that have both explanations."""
        found = []
        for annotator in self.annotators(PEOPLE_FAMILY, READER):
            for masking in (FULL, SAMPLE):
                first, second = human.asked(annotator, masking), machine.asked(annotator, masking)
                if first is not None and second is not None:
                    found.append(_paired(first, second, human.resamples))
                    break
        known = [one for one in found if one is not None]
        return Spread(np.mean([one.values for one in known], axis=0), sum(one.n for one in known)) if known else None


def _paired(first: pd.DataFrame, second: pd.DataFrame, resamples: Resamples) -> Spread | None:
    """The first answers' mean F1 less the second's, over the claims that both have. n: of the fewer ones."""
    shared = set(first["claim_id"]) & set(second["claim_id"])
    kept = [own[own["claim_id"].isin(shared)] for own in (first, second)]
    one, other = (mean_over(resamples, own["claim_id"], own["f1"]) for own in kept)
    return None if one is None or other is None else Spread(one.values - other.values, min(one.n, other.n))


def _plugin(annotator: str) -> object | None:
    try:
        return catalogue.find("annotator", annotator)
    except HEvalError:
        return None


def _mean(label: str, found: Iterable[tuple[str, str, Spread | None]]) -> Mean | None:
    """found: writer, source of claims and number of each cell."""
    known = [(writer, dataset, own) for writer, dataset, own in found if own is not None and np.isfinite(own.value)]
    return mean_of(label, [((writer,), (dataset,), own) for writer, dataset, own in known])
