"""A report as one HTML file that needs nothing else: no request, and a content-security policy for its own script only.

Its template escapes all text. Figures are SVG, so that they print; the script only opens the folded sections on paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.html import asset, digest, render
from heval_core.present.drawing import as_svg, stylesheet
from heval_core.present.names import names_of
from heval_core.present.table import Cell, Head, Row, Table
from heval_core.report import forest
from heval_core.report.section import Section
from heval_core.store.reader import Reader

VERDICTS = (
    "Supported: the 95 % interval of every effect lies in the range that the sentence claims. Contradicted: an interval lies "
    "outside, at 95 % for all effects of the sentence together. Intervals are over questions, so a verdict holds for the "
    "models and datasets of these results."
)
RULE = "What the demo models' training rule implies"


def page(
    title: str,
    notes: Sequence[str],
    studies: Sequence[Study],
    sections: Sequence[Section],
    provenance: Sequence[tuple[str, pd.DataFrame]],
) -> str:
    """The whole file. notes: paragraphs under the title; one that begins with "!" is a warning. studies: without a sentence
    some may be empty."""
    script = asset("report.js")
    first, *others = studies
    return render(
        "report.html",
        title=title,
        first=first,
        others=others,
        notes=notes,
        verdicts=VERDICTS,
        about_axis=forest.AXIS,
        rule=RULE,
        sections=sections,
        written=lambda drawing: as_svg(drawing, None),
        provenance=[Table.of(frame, name) for name, frame in provenance],
        style=stylesheet(),
        script=script,
        script_digest=digest(script),
    )


@dataclass(frozen=True, eq=False)
class Study:
    """Sentences of a paper as tests. findings: rows of a table of findings. titles: explainer ▶ what it is called."""

    key: str
    heading: str
    findings: pd.DataFrame
    titles: Mapping[str, str]

    @property
    def answer(self) -> str:
        """What the table says, in a sentence; empty without any."""
        counts = self.findings["verdict"].value_counts() if len(self.findings) else {}
        held, against = int(counts.get(SUPPORTED, 0)), int(counts.get(CONTRADICTED, 0))
        left = len(self.findings) - held - against
        of = f"{len(self.findings)} sentences about {self.key}" if self.key else f"the paper's {len(self.findings)} sentences"
        told = (_so_many(held, "holds", "hold"), _so_many(against, "is", "are"), _so_many(left, "stays", "stay"))
        return "Of {}, {} in these results, {} contradicted, and {} open.".format(of, *told) if len(self.findings) else ""

    @cached_property
    def forest(self) -> forest.Forest:
        return forest.forest(self.findings, self.titles)


def studies_of(results: Reader) -> tuple[Study, Study, Study]:
    """What is said of explainers, techniques and citations; each may be empty."""
    names = names_of(results)
    titles = {key: title for key, title in names.explainers.items() if key not in names.controls}
    return (
        Study("", "", results.findings(), titles),
        Study("techniques", "Techniques: what makes a model use its context", results.technique_findings(), {}),
        Study("citations", "Citations: does an explanation rest on what it cites?", results.citation_findings(), {}),
    )


def findings_table(here: Study, taught: Study | None, models: str) -> Table:
    """A row for each sentence of the paper. taught: the same study of models with a taught rule, where it is published."""
    beside = {row.finding["key"]: row for row in taught.forest.rows} if taught else {}
    rows = []
    for own in here.forest.rows:
        other = beside.get(own.finding["key"])
        cells = [Cell(own.reported), Cell(f"{own.sign} {own.number}", why=f"{own.finding['verdict']}: {own.effect}")]
        cells += [Cell(f"{other.sign} {other.number}", why=f"{other.finding['verdict']}: {other.effect}") if other else Cell()]
        rows.append(Row((own.finding["sentence"],), tuple(cells[: 3 if taught else 2])))
    heads = [Head("the paper", "Its own value, where it reports one"), Head(f"here: {models}")]
    heads += [Head("models with a taught rule", "They say how a sentence can be checked, nothing about real models")]
    return Table("Findings", ("sentence",), tuple(heads[: 3 if taught else 2]), tuple(rows))


def _so_many(count: int, one: str, several: str) -> str:
    return f"{count or 'none'} {several if count > 1 else one}"
