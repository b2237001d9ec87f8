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
from heval_core.present.numbers import EXACT, interval, number
from heval_core.report import forest
from heval_core.report.drawing import DARK, LIGHT, Drawing, Theme, as_svg
from heval_core.report.section import Section

VERDICTS = (
    "Supported: the 95 % interval of every effect lies in the range that the sentence claims. Contradicted: an interval lies "
    "outside, at 95 % for all effects of the sentence together. Intervals are over questions, so a verdict holds for the "
    "models and datasets of these results."
)
RULE = "What the demo models' training rule implies"


def page(
    title: str,
    notes: Sequence[str],
    findings: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    sections: Sequence[Section],
    provenance: Sequence[tuple[str, pd.DataFrame]],
    titles: Mapping[str, str],
) -> str:
    """The whole file. notes: paragraphs under the title; one that begins with "!" is a warning. titles: of the methods.

    findings: about explainers, about techniques, and about citations; each may be empty.
    """
    script = asset("report.js")
    (rows, axis), *others = (forest.forest(own, names) for own, names in zip(findings, (titles, {}, {}), strict=True))
    (technique_rows, technique_axis), (citation_rows, citation_axis) = others
    return render(
        "report.html",
        title=title,
        answer=answer(findings[0]) if len(findings[0]) else "",
        technique_answer=technique_answer(findings[1]),
        technique_rows=[_row(row, LIGHT) for row in technique_rows],
        technique_axis=_drawn(technique_axis, LIGHT),
        citation_answer=citation_answer(findings[2]),
        citation_rows=[_row(row, LIGHT) for row in citation_rows],
        citation_axis=_drawn(citation_axis, LIGHT),
        notes=notes,
        verdicts=VERDICTS,
        about_axis=forest.AXIS,
        rows=[_row(row, LIGHT) for row in rows],
        axis=_drawn(axis, LIGHT),
        sections=[_section(section) for section in sections],
        provenance=[(name, table_of(frame)) for name, frame in provenance],
        script=script,
        script_digest=digest(script),
    )


def forest_table(findings: pd.DataFrame, titles: Mapping[str, str], dark: bool) -> str:
    """The findings alone, to stand in a page that lets no SVG through: there the drawings are images."""
    theme = DARK if dark else LIGHT
    rows, axis = forest.forest(findings, titles)
    return render("forest.html", rows=[_row(row, theme) for row in rows], axis=_drawn(axis, theme))


def answer(findings: pd.DataFrame) -> str:
    """What the table says, in a sentence."""
    return f"Of the paper's {len(findings)} sentences, {_counted(findings)}."


def technique_answer(findings: pd.DataFrame) -> str:
    """The same of the sentences about techniques."""
    return f"Of {len(findings)} sentences about techniques, {_counted(findings)}."


def citation_answer(findings: pd.DataFrame) -> str:
    """The same of the sentences about citations."""
    return f"Of {len(findings)} sentences about citations, {_counted(findings)}."


def _counted(findings: pd.DataFrame) -> str:
    counts = findings["verdict"].value_counts()
    held, against = int(counts.get(SUPPORTED, 0)), int(counts.get(CONTRADICTED, 0))
    left = len(findings) - held - against
    told = [_so_many(held, "holds", "hold"), _so_many(against, "is", "are"), _so_many(left, "stays", "stay")]
    return f"{told[0]} in these results, {told[1]} contradicted, and {told[2]} open"


def _so_many(count: int, one: str, several: str) -> str:
    return f"{count or 'none'} {several if count > 1 else one}"


class Drawn(NamedTuple):
    """A drawing as SVG, and the same packed for an image's address."""

    written: str
    packed: str
    title: str


def _drawn(drawing: Drawing, theme: Theme) -> Drawn:
    svg = as_svg(drawing, theme)
    return Drawn(svg, base64.b64encode(svg.encode()).decode(), drawing.title)


def _row(row: forest.ForestRow, theme: Theme) -> dict[str, Any]:
    frames = [table_of(frame) for frame in (effects_of(row.finding), levels_of(row.finding)) if len(frame)]
    own = {name: getattr(row, name) for name in ("finding", "style", "sign", "effect", "number", "reported")}
    return {**own, "drawing": _drawn(row.drawing, theme), "tables": frames, "rule": RULE}


def effects_of(row: Mapping[str, Any]) -> pd.DataFrame:
    """The effects of a finding as readers see them: value, interval, expected range, and how many cells agree."""
    return pd.DataFrame(
        [
            {
                "effect": effect["label"],
                row["unit"]: interval(effect["value"], effect["low"], effect["high"], EXACT),
                "expected": f"below {effect['most']:g}" if effect["least"] is None else f"above {effect['least']:g}",
                "holds in": "–" if effect["agree"] is None else f"{effect['agree']} of {effect['places']}",
                "cells": effect["cells"],
                "n": f"{effect['n']:,}",
            }
            for effect in json.loads(row["effects"])
        ]
    )


def levels_of(row: Mapping[str, Any]) -> pd.DataFrame:
    """A finding's values beside the paper's own; empty where the paper reports none."""
    return pd.DataFrame(
        [
            {
                "explainer": level["label"],
                "here": interval(level["value"], level["low"], level["high"], EXACT),
                "chance": number(level["chance"], EXACT),
                "published": number(level["published"], EXACT),
            }
            for level in json.loads(row["levels"])
        ]
    )


def _section(section: Section) -> dict[str, Any]:
    figures = [
        {"caption": caption, "svg": _drawn(drawing, LIGHT), "narrow": drawing.width < 600}
        for caption, drawing in section.figures
    ]
    table = table_of(section.shown) if len(section.shown) else None
    named = {name: getattr(section, name) for name in ("key", "chapter", "title", "paper", "text", "gaps")}
    return {**named, "figures": figures, "table": table}


class Table(NamedTuple):
    """A table of text."""

    columns: list[str]
    rows: list[list[str]]


def table_of(frame: pd.DataFrame) -> Table:
    """Every value as text; a dash for what is not there."""
    return Table(
        [str(column) for column in frame.columns],
        [
            ["–" if not isinstance(value, (list, dict)) and pd.isna(value) else str(value) for value in row]
            for row in frame.itertuples(index=False)
        ],
    )
