"""A report as one HTML file that needs nothing else: no request, and a content-security policy for its own script only.

Its template escapes all text. Figures are SVG, so that they print; the script only opens the folded sections on paper.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.html import asset, digest, render
from heval_core.present.drawing import DARK, LIGHT, Drawing, Theme, as_svg, stylesheet
from heval_core.present.names import names_of
from heval_core.present.numbers import EXACT, number
from heval_core.present.table import Table, number_cell
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
    first, *others = ({"key": own.key, "heading": own.heading, "answer": own.answer, **_forest(own, None)} for own in studies)
    return render(
        "report.html",
        title=title,
        first=first,
        others=others,
        notes=notes,
        verdicts=VERDICTS,
        about_axis=forest.AXIS,
        sections=[_section(section) for section in sections],
        provenance=[Table.of(frame, name) for name, frame in provenance],
        style=stylesheet(),
        script=script,
        script_digest=digest(script),
    )


class Study(NamedTuple):
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


def studies_of(results: Reader) -> tuple[Study, Study, Study]:
    """What is said of explainers, techniques and citations; each may be empty."""
    names = names_of(results)
    titles = {key: title for key, title in names.explainers.items() if key not in names.controls}
    return (
        Study("", "", results.findings(), titles),
        Study("techniques", "Techniques: what makes a model use its context", results.technique_findings(), {}),
        Study("citations", "Citations: does an explanation rest on what it cites?", results.citation_findings(), {}),
    )


def forest_table(study: Study, dark: bool) -> str:
    """The findings alone, to stand in a page that lets no SVG through: there the drawings are images."""
    return render("forest.html", **_forest(study, DARK if dark else LIGHT))


def _forest(study: Study, theme: Theme | None) -> dict[str, Any]:
    rows, axis = forest.forest(study.findings, study.titles)
    return {"rows": [_row(row, theme) for row in rows], "axis": _drawn(axis, theme)}


def _so_many(count: int, one: str, several: str) -> str:
    return f"{count or 'none'} {several if count > 1 else one}"


class Drawn(NamedTuple):
    """A drawing as SVG, and the same packed for an image's address."""

    written: str
    packed: str
    title: str


def _drawn(drawing: Drawing, theme: Theme | None) -> Drawn:
    svg = as_svg(drawing, theme)
    return Drawn(svg, base64.b64encode(svg.encode()).decode(), drawing.title)


def _row(row: forest.ForestRow, theme: Theme | None) -> dict[str, Any]:
    tables = [own for own in (effects_of(row.finding), levels_of(row.finding)) if own.rows]
    own = {name: getattr(row, name) for name in ("finding", "style", "sign", "effect", "number", "reported")}
    return {**own, "drawing": _drawn(row.drawing, theme), "tables": tables, "rule": RULE}


def effects_of(row: Mapping[str, Any]) -> Table:
    """The effects of a finding as readers see them: value, interval, expected range, and how many cells agree."""
    rows = [
        {
            "effect": effect["label"],
            row["unit"]: number_cell(effect, EXACT),
            "expected": f"below {effect['most']:g}" if effect["least"] is None else f"above {effect['least']:g}",
            "holds in": None if effect["agree"] is None else f"{effect['agree']} of {effect['places']}",
            "cells": effect["cells"],
            "n": effect["n"],
        }
        for effect in json.loads(row["effects"])
    ]
    return Table.of(pd.DataFrame(rows))


def levels_of(row: Mapping[str, Any]) -> Table:
    """A finding's values beside the paper's own; empty where the paper reports none."""
    rows = [
        {
            "explainer": level["label"],
            "here": number_cell(level, EXACT),
            "chance": number(level["chance"], EXACT),
            "published": number(level["published"], EXACT),
        }
        for level in json.loads(row["levels"])
    ]
    return Table.of(pd.DataFrame(rows))


def _section(section: Section) -> dict[str, Any]:
    figures = [
        {"caption": caption, "svg": _drawn(drawing, None), "narrow": drawing.width < 600}
        for caption, drawing in section.figures
    ]
    return {"plan": section.plan, "text": section.text, "gaps": section.gaps, "figures": figures, "tables": section.shown}
