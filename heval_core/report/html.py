"""A report as one HTML file that needs nothing else: no request, and a content-security policy for its own script only.

Its template escapes all text. Figures are drawn by the copy of Plotly that is in the file, packed; their numbers stand
below them too.
"""

from __future__ import annotations

import base64
import functools
import gzip
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.html import as_data, asset, digest, render
from heval_core.report.sections import Section

VERDICTS = (
    "Supported: the 95 % interval of every effect lies in the range that the sentence claims. Contradicted: an interval lies "
    "outside, at 95 % for all effects of the sentence together. Intervals are over questions, so a verdict holds for the "
    "models and datasets of these results."
)
RULE = "What the demo models' training rule implies"
_CLASSES = {SUPPORTED: "supported", CONTRADICTED: "contradicted"}


def page(
    title: str,
    notes: Sequence[str],
    findings: pd.DataFrame,
    sections: Sequence[Section],
    provenance: Sequence[tuple[str, pd.DataFrame]],
) -> str:
    """The whole file. notes: paragraphs under the title, the first of them a warning where it begins with "!"."""
    script = asset("report.js")
    library, library_digest = _library()
    figures = [figure for section in sections for _, figure in section.figures]
    numbers = itertools.count()
    return render(
        "report.html",
        title=title,
        notes=notes,
        counted=counted(findings),
        verdicts=VERDICTS,
        rule=RULE,
        findings=[_finding(row) for row in findings.to_dict("records")],
        sections=[_section(section, numbers) for section in sections],
        provenance=[(name, table_of(frame)) for name, frame in provenance],
        script=script,
        script_digest=digest(script),
        library=library,
        library_digest=library_digest,
        figures=as_data([_plainly(figure) for figure in figures]),
    )


@functools.cache
def _library() -> tuple[str, str]:
    """Plotly, packed, and the hash by which the policy knows it once it is unpacked."""
    source = get_plotlyjs()
    return base64.b64encode(gzip.compress(source.encode(), 9, mtime=0)).decode(), digest(source)


def _plainly(figure: go.Figure) -> dict[str, Any]:
    """Data and layout without Plotly's theme, which the page has its own of."""
    plain = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    return {"data": plain["data"], "layout": plain["layout"], "name": "heval"}


def counted(findings: pd.DataFrame) -> str:
    """How many sentences there are of each verdict."""
    counts = findings["verdict"].value_counts()
    return f"Of {len(findings)} sentences: {', '.join(f'{counts[verdict]} {verdict}' for verdict in counts.index)}."


def _finding(row: dict[str, Any]) -> dict[str, Any]:
    frames = (effects_of(row), levels_of(row))
    return {**row, "style": _CLASSES.get(row["verdict"], "open"), "tables": [table_of(f) for f in frames if len(f)]}


def effects_of(row: dict[str, Any]) -> pd.DataFrame:
    """The effects of a finding as readers see them: value, interval, expected range, and how many cells agree."""
    return pd.DataFrame(
        [
            {
                "effect": effect["label"],
                row["unit"]: _interval(effect),
                "expected": f"below {effect['most']:g}" if effect["least"] is None else f"above {effect['least']:g}",
                "so in": "–" if effect["agree"] is None else f"{effect['agree']} of {effect['places']}",
                "cells": effect["cells"],
                "n": f"{effect['n']:,}",
            }
            for effect in json.loads(row["effects"])
        ]
    )


def levels_of(row: dict[str, Any]) -> pd.DataFrame:
    """A finding's values beside the paper's own; empty where the paper reports none."""
    return pd.DataFrame(
        [
            {
                "explainer": level["label"],
                "here": _interval(level),
                "chance": _number(level["chance"]),
                "published": _number(level["published"]),
            }
            for level in json.loads(row["levels"])
        ]
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def _interval(row: dict[str, Any]) -> str:
    return f"{_number(row['value'])} [{_number(row['low'])}, {_number(row['high'])}]"


def _section(section: Section, numbers: Iterator[int]) -> dict[str, Any]:
    """numbers: of figures, counted through the whole page."""
    figures = [
        {"number": next(numbers), "height": int(figure.layout.height or 380), "caption": caption}
        for caption, figure in section.figures
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
