"""All claims together: can a reader tell what each sentence rests on? And what both tabs of the page Citations share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from heval_core.citations.scoring import ROUNDING
from heval_core.figures.citation_dots import explainers_figure, not_available, recovery_figure, told
from heval_core.figures.citation_tables import alphas_table, explanations_table, recovery_table
from heval_core.present.names import Names
from heval_core.present.table import reason
from heval_core.statistics.bounded import share_interval
from heval_core.store.citation_queries import CitationFilter
from heval_core.store.reader import Reader
from heval_core.ui import address, citation_verdicts, filters
from heval_core.ui.exports import draw_table
from heval_core.ui.marks import draw_figures
from heval_core.ui.names import names_of
from heval_core.ui.published_results import query
from heval_core.ui.selection import Selection
from heval_core.ui.text import plain
from heval_core.words import CITATION_MEASURES, MASKINGS, OF_EXPLAINERS, OF_EXPLANATIONS, OF_SOURCES, titles

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
    names: Names
    cells: pd.DataFrame

    @property
    def annotators(self) -> list[str]:
        """All of this source of claims and selector."""
        return [key for key in dict.fromkeys(self.cells["annotator"]) if key]

    def filter(self, only: tuple[str, ...] = (), search: str = "") -> CitationFilter:
        chosen = self.writers if len(self.writers) < len(self.every_writer) else ()
        controls = tuple(sorted(key for key in self.annotators if self.names.control(key)))
        return CitationFilter(self.dataset, self.selector, chosen, only, controls, search)


def has_citations(results: Reader) -> bool:
    """Whether these results hold a study of citations at all."""
    return len(query(results, Reader.citation_choices)) > 0


def choose(results: Reader) -> Shown:
    """Draw the chips of what is looked at; one with a single choice is left out."""
    choices = query(results, Reader.citation_choices)
    names = names_of(results)
    dataset = _one("Claims", "claims", list(dict.fromkeys(choices["dataset"])), names)
    choices = choices[choices["dataset"] == dataset]
    selector = _one("Selector", "selector", list(dict.fromkeys(choices["selector"])), names)
    writers = tuple(choices[choices["selector"] == selector]["writer"])
    cells = query(results, Reader.citation_cells, dataset, selector)
    return Shown(dataset, selector, _writers(writers), writers, names, cells)


def _one(label: str, name: str, options: list[str], names: Names) -> str:
    return address.chip(label, options, name, titles=names.titles(name, options), alone=False)


def _writers(there: tuple[str, ...]) -> tuple[str, ...]:
    if len(there) == 1:
        address.known("writer", there, "writer")
        return there
    about = "Who wrote the explanations."
    chosen = filters.menu("Writers", there, "writer", {}, len(there), what="writer", help=about)
    return tuple(writer for writer in there if writer in chosen) or there


def choose_measure(shown: Shown) -> tuple[str, str]:
    """The chip of measure and masking of the figure on top."""
    known = set(shown.cells.dropna(subset=["value"])["measure"])
    there = [measure for measure in CHOSEN if measure in known] or ["f1"]
    maskings = [masking for masking in MASKINGS if masking in set(shown.cells["masking"])] or ["full"]
    held = address.value("measure") if address.value("measure") in there else there[0]
    kind = address.value("masking") if address.value("masking") in maskings else maskings[0]
    with st.popover(f"Measure **{plain(CITATION_MEASURES[held].title)}**, {kind}"):
        measure = address.one_of("Measure", there, "measure", titles=titles(CITATION_MEASURES), menu=True)
        masking = address.one_of("Masking", maskings, "masking", titles=titles(MASKINGS))
        for name in there:
            st.caption(f"**{plain(CITATION_MEASURES[name].title)}**: {plain(CITATION_MEASURES[name].meaning)}.")
    return measure, masking


PUBLISHED_AT = 60


def transparent(results: Reader, cells: pd.DataFrame, dataset: str, selector: str, threshold: int) -> pd.DataFrame:
    """Rows like those of `cell_recovery` with the measure `transparent`. threshold: in percent of F1."""
    published = cells[(cells["measure"] == "transparent") & (cells["masking"] == "full")]
    if threshold == PUBLISHED_AT and published["value"].notna().any():
        return published
    live = query(results, computed, dataset, selector, threshold)
    # Who has no number as published has none at any threshold, for the same reason: some were not asked about every citation.
    missing = published[published["value"].isna()]
    gone = set(zip(missing["writer"], missing["annotator"], strict=True))
    kept = live[[key not in gone for key in zip(live["writer"], live["annotator"], strict=True)]]
    return pd.concat([kept, missing], ignore_index=True) if len(missing) else kept


def computed(results: Reader, dataset: str, selector: str, threshold: int) -> pd.DataFrame:
    """The same from every explanation's citation that was found worst; 95 % intervals over claims."""
    least = results.least_f1(dataset, selector)
    clear = least.assign(value=(least["least"] >= threshold / 100 - ROUNDING).astype(float))
    # A writer explains a claim once.
    found = clear.groupby(["writer", "annotator"], sort=False).agg(value=("value", "mean"), n=("value", "size")).reset_index()
    ends = [share_interval(value, float(n)) for value, n in zip(found["value"], found["n"], strict=True)]
    found[["low", "high"]] = pd.DataFrame(ends, columns=["low", "high"])
    where = {"dataset": dataset, "selector": selector, "masking": "full", "measure": "transparent"}
    return found.assign(claims=found["n"], chance=math.nan, unavailable=None, **where)


TITLE = "Can a reader tell what each sentence rests on?"
MARK = Selection("point", ("writer", "annotator"))
_DEMO = (
    "Demo results: rules wrote these explanations in three hands, careful, sloppy and padding, so that the truth is known; "
    "two tiny models of this project read them. They say nothing about real models."
)


def draw(results: Reader, shown: Shown, measure: str, masking: str) -> None:
    """The answer in a sentence, the figure, what a click leads to; then what else there is to say."""
    with st.container(key="answer"):
        st.markdown(citation_verdicts.of_citations(shown.cells, measure, masking, shown.writers, shown.names))
    if results.bundled:
        st.caption(_DEMO)
    own = recovery_figure(shown.cells, measure, shown.writers, shown.names, masking)
    draw_figures("citation_marks", own, on_pick=MARK.pick, picked=MARK.drawn)
    missing = not_available(shown.cells[shown.cells["writer"].isin(shown.writers)], measure, masking, shown.names)
    if missing:
        st.caption("Not available: " + "; ".join(f"**{plain(title)}** ({plain(why)})" for title, why in missing) + ".")
    _selection(shown, measure, masking, MARK.id)
    _transparency(results, shown)
    _explainers(shown)
    _both_maskings(shown, measure)
    _agreement(results, shown, masking)
    _explanations(shown)
    _numbers(results, shown, measure, masking)


def _selection(shown: Shown, measure: str, masking: str, picked: tuple[str, ...]) -> None:
    """The bar under the figure: what the clicked mark is, and its claims."""
    if not picked:
        return
    known = {(row.writer, row.annotator) for row in shown.cells.itertuples()}
    if len(picked) != 2 or picked not in known:
        MARK.refuse()
        return
    writer, annotator = picked
    cells = shown.cells
    own = cells[(cells["writer"] == writer) & (cells["annotator"] == annotator) & (cells["masking"] == masking)]
    rows = own[own["measure"] == measure].to_dict("records")
    with MARK.bar():
        if rows and not pd.isna(rows[0]["value"]):
            who, *said = told(rows[0], shown.names)
        else:
            who = f"{shown.names.annotator(annotator)}, explanations by {writer}"
            said = ["not available", reason(rows[0] if rows else None)]
        st.markdown(f"**{plain(who)}** {plain('; '.join(said))}", width="stretch")
        go = address.setter(tab="claim", writer=writer, only=None, explanation=None, passage=None)
        st.button("Its claims", key="claims_of_mark", icon=":material/article:", on_click=go, type="primary")


def _transparency(results: Reader, shown: Shown) -> None:
    st.subheader("How many explanations are transparent?")
    held = address.whole("threshold", 1, 100, PUBLISHED_AT, "the threshold")
    st.session_state["threshold"] = held / 100

    def moved() -> None:
        new = round(100 * st.session_state["threshold"])
        address.put(threshold=None if new == PUBLISHED_AT else new)

    with st.container(horizontal=True, vertical_alignment="center", key="transparency"):
        with st.popover(f"Threshold **{held / 100:g}**"):
            st.slider("F1 that every cited passage must reach", 0.01, 1.0, step=0.01, key="threshold", on_change=moved)
        st.caption(
            f"An explanation is transparent to an annotator that finds the sentences of every passage it cites with an F1 of "
            f"{held / 100:g} or more. Full masking; 95 % intervals over claims. "
            + (
                "As published."
                if held == PUBLISHED_AT
                else "Computed for this threshold; the control Random shows its chance."
            ),
            width="stretch",
        )
    rows = transparent(results, shown.cells, shown.dataset, shown.selector, held)
    figure = recovery_figure(rows, "transparent", shown.writers, shown.names, "full")
    draw_figures("transparency_marks", figure, on_pick=MARK.pick)


def _explainers(shown: Shown) -> None:
    if not shown.cells["measure"].isin(OF_EXPLAINERS).any():
        return
    st.subheader("What did the model itself use?")
    st.caption(f"By explainers, which need no judge. {_meanings(OF_EXPLAINERS)}.")
    used = explainers_figure(shown.cells, OF_EXPLAINERS, shown.writers, shown.names)
    draw_figures("explainer_marks", used, on_pick=_pick_explainer)
    _claims_button("Claims with a wrong marker", "wrong_marker")
    known = shown.cells["measure"].isin(OF_SOURCES) & shown.cells["value"].notna()
    if known.any():
        st.subheader("Do explainers find what a sentence was made from?")
        st.caption(f"It is known of these explanations. {_meanings(OF_SOURCES)}.")
        sources = explainers_figure(shown.cells, OF_SOURCES, shown.writers, shown.names)
        draw_figures("source_marks", sources, on_pick=_pick_explainer)


def _meanings(measures: Sequence[str]) -> str:
    return "; ".join(
        f"**{plain(CITATION_MEASURES[name].title)}**: {plain(CITATION_MEASURES[name].meaning)}" for name in measures
    )


def _pick_explainer(id: Sequence[str]) -> None:
    """To the claims of the writer whose mark it is: for a wrong marker to those that have one."""
    only = {"wrong_marker": ["wrong_marker"], "omitted_citation": None}.get(id[-1])
    address.put(tab="claim", writer=id[0], only=only, explanation=None, passage=None)


def _both_maskings(shown: Shown, measure: str) -> None:
    if not {"full", "sample"} <= set(shown.cells["masking"]):
        return
    st.subheader("Does it matter which citation is masked?")
    st.caption(
        f"{plain(CITATION_MEASURES[measure].title)}, when every citation is masked in turn (full), and when one of each "
        "explanation is (sample)."
    )
    both = recovery_figure(shown.cells, measure, shown.writers, shown.names, "full", beside="sample")
    draw_figures("masking_marks", both, on_pick=MARK.pick)


def _agreement(results: Reader, shown: Shown, masking: str) -> None:
    agreements = query(results, Reader.citation_agreement, shown.dataset, shown.selector, masking)
    there = [writer for writer in shown.writers if writer in set(agreements["writer"])]
    if not there:
        return
    st.subheader("Where do annotators disagree?")
    with st.container(horizontal=True, vertical_alignment="center"):
        writer = address.one_of("Explanations by", there, "agree", what="writer", hidden=True) if len(there) > 1 else there[0]
        _claims_button("Claims where they disagree", "disagree")
    st.caption(
        "Krippendorff's alpha with Jaccard distance between the sentences they mark: 1 is full agreement, 0 what chance "
        f"gives, below 0 less. In brackets: 95 % intervals, claims resampled. Explanations by "
        f"{plain(writer)}, {masking} masking."
    )
    st.html(alphas_table(agreements, writer, shown.names).html())


def _claims_button(label: str, only: str) -> None:
    go = address.setter(tab="claim", only=[only], explanation=None, passage=None)
    st.button(label, key=f"claims_{only}", icon=":material/article:", on_click=go)


def _explanations(shown: Shown) -> None:
    if not shown.cells["measure"].isin(OF_EXPLANATIONS).any():
        return
    st.subheader("What do explanations cite?")
    table = explanations_table(shown.cells, shown.writers, shown.names)
    st.html(table.html())
    st.caption(table.note)


def _numbers(results: Reader, shown: Shown, measure: str, masking: str) -> None:
    st.subheader("The numbers")
    own = shown.cells[shown.cells["writer"].isin(shown.writers)]
    about = {"claims": shown.names.title("claims", shown.dataset), "shown": measure, "masking shown": masking}
    table = recovery_table(shown.cells, measure, masking, shown.writers, shown.names)
    draw_table(results, table, own, "citations", about)
