"""A report of a published store as files: `report.html`, `results.json`, `tables/*.tex`, and `figures/*.svg`.

The same published results give the same bytes: nothing of the machine or the hour that the report was made at is in it.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heval_core import __version__
from heval_core.evaluation.findings.paper import METHODS
from heval_core.present.drawing import as_svg, stylesheet
from heval_core.present.html import TEMPLATES, digest, render
from heval_core.present.table import Table
from heval_core.records import HEvalError
from heval_core.report.citation_sections import CHAPTER, has_citations
from heval_core.report.findings import AXIS, VERDICTS, StudyFindings, studies_of
from heval_core.report.section import Section
from heval_core.report.sections import sections
from heval_core.store.published import published_file
from heval_core.store.reader import Reader

FORMAT = 1
RULE = "What the demo models' training rule implies"
TITLE = "Do the paper's findings hold here?"
TECHNIQUE_NOTE = (
    "What is said of techniques, ways to make a model use its context, is after Hagström et al. (CUB, ACL 2026, pp. "
    "25101-25133; arXiv 2505.16518). Its sentences have their own table below, its tables and figures the last chapter."
)
CITATION_NOTE = (
    "What is said of citations is after Xing, Baldwin and Lau (arXiv 2406.12645): one citation is masked, and annotators say "
    "which sentences should carry it. Its intervals are over claims. Its sentences and sections have a table and a chapter of "
    "their own."
)


@dataclass(frozen=True, eq=False)
class Report:
    """Everything a report holds, before it is written in one form or another. studies: what is said of explainers, techniques
    and citations; each may be empty. gaps: what the whole store does not have.
    """

    snapshot_id: str
    note: str
    studies: tuple[StudyFindings, StudyFindings, StudyFindings]
    headline: pd.DataFrame
    sections: tuple[Section, ...]
    provenance: tuple[tuple[str, pd.DataFrame], ...]
    gaps: tuple[str, ...]

    def as_html(self) -> str:
        """Write one HTML file that needs nothing else: no request, and a content-security policy for its own script only.

        The script opens the folded sections on paper. The template escapes all text; without a sentence a study may be empty.
        """
        script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
        first, *others = self.studies
        return render(
            "report.html",
            title=TITLE,
            first=first,
            others=others,
            notes=self.notes(),
            verdicts=VERDICTS,
            about_axis=AXIS,
            rule=RULE,
            sections=self.sections,
            written=lambda drawing: as_svg(drawing, None),
            provenance=[Table.of(frame, name) for name, frame in self.provenance],
            style=stylesheet(),
            script=script,
            script_digest=digest(script),
        )

    def notes(self) -> list[str]:
        """Return the paragraphs under the title; one that begins with "!" is a warning."""
        warned = [f"!{self.note}"] if self.note else []
        models = ", ".join(self.provenance[0][1]["model"])
        citations = any(section.plan.chapter == CHAPTER for section in self.sections)
        if citations and not len(self.studies[0].findings):
            origin = f"Computed from the published results {self.snapshot_id} by HEval {__version__}"
            return [*warned, f"{origin}, which hold citations only.", CITATION_NOTE]
        return [
            *warned,
            "The tables, figures and findings of Sun et al. 2025 (arXiv 2510.02629), computed from the published results "
            f"{self.snapshot_id} by HEval {__version__}. Models: {models}. Lines and brackets are 95 % intervals over "
            "questions; chance is what random scores get. The numbers behind figures are folded, and on paper left out where "
            "they are not open.",
            *([TECHNIQUE_NOTE] if len(self.studies[1].findings) else []),
            *([CITATION_NOTE] if citations else []),
            *self.gaps,
        ]

    def as_json(self) -> str:
        """Write all numbers, unrounded."""
        about, *others = self.studies
        content = {
            "format": FORMAT,
            "program": __version__,
            "snapshot": self.snapshot_id,
            "note": self.note,
            "gaps": list(self.gaps),
            "findings": records(about.findings),
            **{f"{study.key[:-1]}_findings": records(study.findings) for study in others if len(study.findings)},
            "headline": records(self.headline),
            "sections": [
                {name: getattr(section.plan, name) for name in ("key", "title", "paper")}
                | {"gaps": list(section.gaps), "rows": records(section.rows)}
                for section in self.sections
            ],
            "provenance": {name: records(frame) for name, frame in self.provenance},
        }
        return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def report_of(results: Reader) -> Report:
    """Make the report of one open results file; some seconds."""
    return Report(
        results.snapshot_id,
        results.note,
        studies_of(results),
        results.headline(),
        tuple(sections(results)),
        tuple(_provenance(results)),
        tuple(_gaps(results)),
    )


def write(store: Path, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
    """Write the report of what is published in a store into a folder.

    Raises HEvalError where nothing is published, or the folder cannot be written.
    """
    report = report_of(Reader(published_file(store)))
    files = {"report.html": report.as_html(), "results.json": report.as_json()}
    for section in report.sections:
        plots = {f"figures/{section.plan.key}-{number}.svg": plot for number, (_, plot) in enumerate(section.figures, start=1)}
        files |= {name: as_svg(drawing) + "\n" for name, drawing in plots.items()}
        files |= {f"tables/{section.plan.key}.tex": text} if (text := section.latex(report.snapshot_id)) else {}
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f"{path.name}.tmp")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
            say(str(path))
        # What an earlier report of these sections had, and this one has not.
        globs = [glob for one in report.sections for glob in (f"figures/{one.plan.key}-*.svg", f"tables/{one.plan.key}.tex")]
        for path in [path for pattern in globs for path in folder.glob(pattern)]:
            if path.relative_to(folder).as_posix() not in files:
                path.unlink()
    except OSError as error:
        raise HEvalError(f"The folder {folder} cannot be written: {error.strerror or error}.") from error


# Columns of JSON.
_OPENED = {"effects", "levels", "group_sizes", "details", "versions", "configuration", "unusable"}


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert rows for JSON: no NaN, JSON columns opened, times as text."""
    return [{str(name): _plain(str(name), value) for name, value in row.items()} for row in frame.to_dict("records")]


def _plain(name: str, value: Any) -> Any:
    if name in _OPENED and isinstance(value, str):
        return json.loads(value)
    if pd.api.types.is_scalar(value) and (pd.isna(value) or value in (math.inf, -math.inf)):
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else getattr(value, "tolist", lambda: value)()


def _provenance(results: Reader) -> list[tuple[str, pd.DataFrame]]:
    techniques = results.techniques()
    catalogue = results.citation_catalogue()[["kind", "key", "title", "reference"]]
    runs = results.runs()
    return [
        ("Models, by revision", results.models()),
        ("Datasets, by fingerprint", results.datasets()),
        ("Runs: when, on what, and with which program", runs.drop(columns=["versions", "configuration"])),
        ("Settings of each run", runs[["run_id", "configuration"]]),
        ("Libraries of the newest run", results.libraries().sort_values("library", ignore_index=True)),
        ("Explainers", results.catalogue("explainer")[["key", "title", "control", "reference"]]),
        ("Metrics", results.catalogue("metric")[["key", "title", "reference"]]),
        *([("Techniques", techniques[["key", "title", "reference"]])] if len(results.findings("techniques")) else []),
        *([("Annotators, selectors and sources of claims", catalogue)] if has_citations(results) else []),
    ]


def _gaps(results: Reader) -> list[str]:
    """Say what the whole store is small for, in sentences."""
    choices = results.choices()
    gaps = [
        f"These results hold one {what}, {choices[what].iloc[0]}: nothing here says what another one would do."
        for what in ("model", "dataset")
        if choices[what].nunique() == 1
    ]
    ran = set(results.headline()["explainer"])
    if lacking := [key for key in METHODS if key not in ran]:
        gaps.append(f"Not compared at any of the three questions: {', '.join(lacking)}.")
    return gaps
