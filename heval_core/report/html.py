"""A report as one HTML file that needs nothing else: no request, and a content-security policy for its own script only.

All text is escaped. Figures are drawn by the copy of Plotly that is in the file, packed; their numbers stand below them too.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.report.sections import Section

VERDICTS = (
    "Supported: the 95 % interval of every effect lies where the sentence has it. Contradicted: one lies elsewhere, at 95 % "
    "for all effects of the sentence together. Intervals are over questions; models and datasets are those of these results, "
    "so a verdict is about them."
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
    drawn: list[go.Figure] = []
    body = [f"<h1>{_text(title)}</h1>", *map(_note, notes), _contents(sections), _findings(findings)]
    chapter = ""
    for section in sections:
        if section.chapter != chapter:
            chapter = section.chapter
            body.append(f"<h2>{_text(chapter)}</h2>")
        body.append(_section(section, drawn))
    body.append('<h2 id="provenance">Where these numbers come from</h2>')
    body += [f"<h3>{_text(name)}</h3>{table_html(frame)}" for name, frame in provenance]
    return _document(title, "\n".join(body), drawn)


def _document(title: str, body: str, drawn: Sequence[go.Figure]) -> str:
    style, script = asset("report.css"), asset("report.js")
    packed, library_hash = _library()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'sha256-{_digest(script)}' "
        f"'sha256-{library_hash}'; base-uri 'none'; form-action 'none'"
    )
    figures = json.dumps([_plainly(figure) for figure in drawn], ensure_ascii=False, sort_keys=True).replace(
        "<", "\\u003c"
    )
    return "\n".join(
        [
            "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(title)}</title><style>{style}</style></head><body><main>", body, "</main>",
            f'<script type="application/json" id="figures">{figures}</script>',
            f'<script type="text/plain" id="library">{packed}</script>', f"<script>{script}</script>", "</body></html>", "",
        ]
    )  # fmt: skip


def asset(name: str) -> str:
    """A file of this package."""
    return files("heval_core.report").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _library() -> tuple[str, str]:
    """Plotly, packed, and the hash by which the policy knows it once it is unpacked."""
    source = get_plotlyjs()
    return base64.b64encode(gzip.compress(source.encode(), 9, mtime=0)).decode(), _digest(source)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _plainly(figure: go.Figure) -> dict[str, Any]:
    """Data and layout without Plotly's theme, which the page has its own of."""
    found = json.loads(figure.to_json())
    found["layout"].pop("template", None)
    return {"data": found["data"], "layout": found["layout"], "name": "heval"}


def _text(value: Any) -> str:
    return escape(str(value), quote=True)


def _note(text: str) -> str:
    return f'<p class="banner">{_text(text[1:])}</p>' if text.startswith("!") else f"<p>{_text(text)}</p>"


def _contents(sections: Iterable[Section]) -> str:
    items = [("findings", "The paper's findings"), *((s.key, f"{s.title} ({s.paper})") for s in sections)]
    items.append(("provenance", "Where these numbers come from"))
    lines = "".join(f'<li><a href="#{_text(key)}">{_text(title)}</a></li>' for key, title in items)
    return f'<nav aria-label="Contents"><ul>{lines}</ul></nav>'


def _findings(findings: pd.DataFrame) -> str:
    return f'<h2 id="findings">The paper\'s findings</h2><p>{_text(told(findings))} {_text(VERDICTS)}</p>' + "".join(
        map(_finding, findings.to_dict("records"))
    )


def told(findings: pd.DataFrame) -> str:
    """How many sentences there are of each verdict."""
    counts = findings["verdict"].value_counts()
    return f"Of {len(findings)} sentences: {', '.join(f'{counts[verdict]} {verdict}' for verdict in counts.index)}."


def _finding(row: dict[str, Any]) -> str:
    rule = row["by_construction"]
    effects, levels = effects_of(row), levels_of(row)
    return (
        f'<article class="finding" id="finding-{_text(row["key"])}">'
        f'<p><span class="verdict {_CLASSES.get(row["verdict"], "open")}">{_text(row["verdict"])}</span> '
        f"<b>{_text(row['sentence'])}</b></p>"
        f'<div class="pair">{table_html(effects) if len(effects) else ""}{table_html(levels) if len(levels) else ""}</div>'
        f'<p class="faint">{_text(row["reason"])}</p><p class="faint">Published: {_text(row["published"])}.</p>'
        + (f'<p class="faint">{RULE}: {_text(rule)}</p>' if isinstance(rule, str) else "")
        + "</article>"
    )


def _row(cells: Iterable[str], kind: str = "td") -> str:
    return "".join(f"<{kind}>{cell}</{kind}>" for cell in cells)


def effects_of(row: dict[str, Any]) -> pd.DataFrame:
    """The effects of a finding as readers see them: what, value and interval in its unit, where it should lie, of how many."""
    return pd.DataFrame(
        [
            {
                "effect": one["label"],
                row["unit"]: f"{_number(one['value'])} [{_number(one['low'])}, {_number(one['high'])}]",
                "expected": _expected(one["least"], one["most"]),
                "so in": "–" if one["agree"] is None else f"{one['agree']} of {one['places']}",
                "cells": one["cells"],
                "n": f"{one['n']:,}",
            }
            for one in json.loads(row["effects"])
        ]
    )


def levels_of(row: dict[str, Any]) -> pd.DataFrame:
    """A finding's values beside the paper's own; empty where the paper reports none."""
    return pd.DataFrame(
        [
            {
                "explainer": one["label"],
                "here": f"{_number(one['value'])} [{_number(one['low'])}, {_number(one['high'])}]",
                "chance": _number(one["chance"]),
                "published": _number(one["published"]),
            }
            for one in json.loads(row["levels"])
        ]
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def _expected(least: float | None, most: float | None) -> str:
    if least is None:
        return f"below {most:g}"
    return f"above {least:g}"


def _section(section: Section, drawn: list[go.Figure]) -> str:
    figures = []
    for caption, figure in section.figures:
        height = int(figure.layout.height or 380)
        figures.append(
            f'<figure><div class="plot" data-figure="{len(drawn)}" style="height:{height}px" role="img" '
            f'aria-label="{_text(caption)}"></div><figcaption>{_text(caption)}</figcaption></figure>'
        )
        drawn.append(figure)
    gaps = "".join(f'<p class="gap">{_text(gap)}</p>' for gap in section.gaps)
    table = (
        f"<details><summary>The numbers</summary>{table_html(section.shown)}</details>" if len(section.shown) else ""
    )
    return (
        f'<section id="{_text(section.key)}"><h3>{_text(section.title)}<span class="paper">{_text(section.paper)}</span></h3>'
        f'<p class="faint">{_text(section.text)}</p>{gaps}{"".join(figures)}{table}</section>'
    )


def table_html(frame: pd.DataFrame) -> str:
    """A table of text; every value escaped."""
    rows = (
        _row(_text("–" if not isinstance(value, (list, dict)) and pd.isna(value) else value) for value in row)
        for row in frame.itertuples(index=False)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    head = _row(map(_text, frame.columns), "th")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
