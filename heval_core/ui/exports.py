"""A page's table, and its downloads: CSV, Parquet and LaTeX, figures as SVG; and a link to its exact view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import pandas as pd
import streamlit as st

from heval_core.evaluation.ranking import COMPARED
from heval_core.present.drawing import Drawing, as_svg
from heval_core.present.html import plain
from heval_core.present.names import model_title
from heval_core.present.table import Table
from heval_core.records.vocabulary import OURS, listed
from heval_core.store.export import as_csv, in_a_name, long_table
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui.component import component
from heval_core.ui.published_results import SNAPSHOT, names_of

_LETTER = 7.0  # pixels of one in a figure's last line, at most
_MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "tex": "text/x-tex",
}


def download(label: str, content: Any, name: str, key: str, about: str | None = None) -> None:
    """Draw a download button. content: the file, or a function that makes it when it is asked for. name: of the file."""
    kind = _MIME[name.rpartition(".")[2]]
    short = label in ("CSV", "Parquet", "LaTeX", "SVG")
    icon, width = (None, "content") if short else (":material/download:", "stretch")
    st.download_button(label, content, name, kind, key=key, help=about, icon=icon, on_click="ignore", width=width)


def draw_table(results: Reader, table: Table, frame: pd.DataFrame, name: str, about: Mapping[str, str] | None = None) -> None:
    """Draw a table with how to read it, and its downloads. frame: its numbers as they are stored."""
    st.html(table.html())
    st.caption(with_terms(table.note))
    table_exports(results, frame, name, about, latex=lambda: (table.exact(),))


def with_terms(note: str) -> str:
    """Write a note in Markdown, with the words that it explains in bold: those before a colon."""
    parts = re.split(r"(?:^|(?<=[.?] ))([A-Z][^.:;]{0,50})(?=: )", note)
    return "".join(f"**{plain(part)}**" if index % 2 else plain(part) for index, part in enumerate(parts))


def table_exports(
    results: Reader,
    frame: pd.DataFrame,
    name: str,
    about: Mapping[str, str] | None = None,
    *,
    latex: Callable[[], Sequence[Table]] | None = None,
) -> None:
    """Draw download buttons for a table; the file's name says the filter, and the snapshot. Files are made when asked for.

    about: what the table is of, such as its measure and filter: columns of CSV and Parquet, sentences of LaTeX. latex: makes
    the tables of a paper; by default the frame is one.
    """
    notes = {key: text for key, text in (about or {}).items() if text}
    stem = "-".join(filter(None, ("heval", name, in_a_name(notes.get("filter", "")), results.snapshot_id[:8])))

    def papers() -> str:
        tables = latex() if latex else (Table.of(long_table(frame)),)
        sentences = [f"{key[:1].upper()}{key[1:]}: {text}." for key, text in notes.items()]
        return "\n".join(table.latex(results.snapshot_id, *sentences) for table in tables)

    def noted() -> pd.DataFrame:
        names, explained = names_of(results), [name for name in ("explainer", "first", "second") if name in frame]
        titled = {name: [names.explainer(str(key)) for key in frame[name]] for name in explained}
        titles = {f"{name}_title": list(frame.get(f"{name}_title", titles)) for name, titles in titled.items()}
        ours = {f"{name}_ours": [title.endswith(OURS) for title in titles[f"{name}_title"]] for name in explained}
        titles |= {"dataset_title": frame["dataset"].map(names.dataset)} if "dataset" in frame else {}
        return long_table(frame.drop(columns=list(COMPARED), errors="ignore").assign(**titles, **ours)).assign(**notes)

    files: dict[str, tuple[Callable[[], str | bytes], str]] = {
        "CSV": (lambda: as_csv(noted()), "csv"),
        "Parquet": (lambda: noted().to_parquet(index=False), "parquet"),
        "LaTeX": (papers, "tex"),
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for label, (make, kind) in files.items():
            download(label, make, f"{stem}.{kind}", f"{label.lower()}_{name}")


def picture(
    results: Reader, draw: Callable[[], Drawing], name: str, chosen: Filter, models: Iterable[str], about: str = "The figure"
) -> None:
    """Offer a figure as SVG, which is drawn when it is asked for. Its name and its last line say filter and snapshot, the line
    also the models, by their keys, that it is of.
    """
    models = listed([model_title(str(key)) for key in dict.fromkeys(models)])
    line = " · ".join(filter(None, (models, str(replace(chosen, model=())), f"HEval, snapshot {results.snapshot_id}")))

    def noted() -> str:
        drawing = draw()
        for part in wrap(line, int(drawing.width / _LETTER)):
            drawing.words("faint", (8, drawing.height + 12), part)
            drawing.height += 18
        return as_svg(drawing)

    stem = "-".join(filter(None, ("heval", name, in_a_name(str(chosen)), results.snapshot_id[:8])))
    download("SVG" if about == "The figure" else f"SVG · {about}", noted, f"{stem}.svg", f"svg_{name}", about)


def link_button(results: Reader) -> None:
    """Offer the address of exactly this view, with the snapshot of its results."""
    with st.popover("Link", icon=":material/link:"):
        component("copy_link", "link_to_this_view", {"more": {SNAPSHOT: results.snapshot_id}})
        st.caption("It opens this view in any browser that reaches this server. The newest two sets of results are kept.")
