"""What both views of the page Citations share: which claims, writers and selector are looked at, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from heval_core.figures.citation_names import MASKINGS, MEANINGS, MEASURES, CitationNames
from heval_core.store.citation_queries import CitationFilter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

# Measures of one answer each, which the figure on top can show.
CHOSEN = ("f1", "f1_of_claims", "precision", "recall", "correct_rejection")
# Which explanations a list is cut to, in words.
ONLY_TITLES = {
    "disagree": "annotators disagree",
    "omitted": "omitted citation",
    "wrong_marker": "wrong marker, by an explainer",
    "unreadable": "unreadable answer",
    "unavailable": "no explanation",
}


@dataclass(frozen=True)
class Shown:
    """writers: those that are shown, in stored order; every_writer: all of this source of claims and selector."""

    dataset: str
    selector: str
    writers: tuple[str, ...]
    every_writer: tuple[str, ...]
    names: CitationNames
    cells: pd.DataFrame

    def filter(self, only: tuple[str, ...] = (), search: str = "") -> CitationFilter:
        chosen = self.writers if len(self.writers) < len(self.every_writer) else ()
        controls = tuple(sorted(key for key in self.names.annotators if self.names.control(key)))
        return CitationFilter(self.dataset, self.selector, chosen, only, controls, search)


def has_citations(results: Reader) -> bool:
    """Whether these results hold a study of citations at all."""
    return len(query(results, Reader.citation_choices)) > 0


def choose(results: Reader) -> Shown:
    """Draw the chips of what is looked at; one with a single choice is left out."""
    choices = query(results, Reader.citation_choices)
    known = CitationNames.of(query(results, Reader.citation_catalogue), ())
    dataset = _one("Claims", "claims", list(dict.fromkeys(choices["dataset"])), known)
    choices = choices[choices["dataset"] == dataset]
    selector = _one("Selector", "selector", list(dict.fromkeys(choices["selector"])), known)
    writers = tuple(choices[choices["selector"] == selector]["writer"])
    cells = query(results, Reader.citation_cells, dataset, selector)
    names = CitationNames(known.rows, tuple(dict.fromkeys(key for key in cells["annotator"] if key)))
    return Shown(dataset, selector, _writers(writers), writers, names, cells)


def _one(label: str, name: str, options: list[str], names: CitationNames) -> str:
    """A chip with a menu of which one is chosen, the first by default."""
    titles = {option: names.named(name, option) for option in options}
    if len(options) == 1:
        address.known(name, options, label.lower())
        return options[0]
    held = address.value(name) if address.value(name) in options else options[0]
    with st.popover(f"{label} **{plain(titles[held])}**"):
        return address.one_of(label, options, name, what=label.lower(), titles=titles, menu=True)


def _writers(there: tuple[str, ...]) -> tuple[str, ...]:
    if len(there) == 1:
        address.known("writer", there, "writer")
        return there
    asked = [writer for writer in there if writer in address.values("writer")]
    said = plain(asked[0]) if len(asked) == 1 else f"{len(asked) or 'all'} of {len(there)}" if asked else f"all {len(there)}"
    with st.popover(f"Writers **{said}**"):
        about = "Who wrote the explanations."
        chosen = address.some_of("Writers", there, "writer", what="writer", help=about)
    return tuple(writer for writer in there if writer in chosen) or there


def choose_measure(shown: Shown) -> tuple[str, str]:
    """The chip of measure and masking of the figure on top."""
    known = set(shown.cells.dropna(subset=["value"])["measure"])
    there = [measure for measure in CHOSEN if measure in known] or ["f1"]
    maskings = [masking for masking in MASKINGS if masking in set(shown.cells["masking"])] or ["full"]
    held = address.value("measure") if address.value("measure") in there else there[0]
    kind = address.value("masking") if address.value("masking") in maskings else maskings[0]
    with st.popover(f"Measure **{plain(MEASURES[held])}**, {kind}"):
        measure = address.one_of("Measure", there, "measure", titles=MEASURES, menu=True)
        masking = address.one_of("Masking", maskings, "masking", titles=MASKINGS)
        for name in there:
            st.caption(f"**{plain(MEASURES[name])}**: {plain(MEANINGS[name])}.")
    return measure, masking
