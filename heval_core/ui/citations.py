"""The page Citations: all claims together (can a reader put a hidden citation back?), and one claim with everybody's marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.citation_claim import claim_drawing, first_passage
from heval_core.figures.citations import (
    alphas_table,
    answer,
    cell_in_words,
    explainers_figure,
    explanations_table,
    not_available,
    recovery_figure,
    recovery_table,
)
from heval_core.present.html import plain
from heval_core.present.names import Names
from heval_core.present.numbers import number
from heval_core.records.vocabulary import CITATION_MEASURES, MASKINGS, OF_EXPLAINERS, OF_EXPLANATIONS, REAL_NOTE, titles
from heval_core.store.citation_queries import ONLY, CitationFilter
from heval_core.store.reader import Reader
from heval_core.ui import address, listing
from heval_core.ui.component import component
from heval_core.ui.exports import draw_table
from heval_core.ui.marks import MarkSelection, draw_figures
from heval_core.ui.published_results import names_of, query

# Measures that the figure on top can show.
CHOSEN = ("f1", "f1_of_claims", "precision", "recall", "correct_rejection", "transparent")
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


def choose(results: Reader) -> Shown:
    """Draw the chips of what is looked at; one with a single choice is left out."""
    choices = query(results, Reader.citation_choices)
    names = names_of(results)

    def one(label: str, name: str, column: str) -> str:
        options = list(dict.fromkeys(choices[column]))
        return address.chip(label, options, name, names.titles(name, options), alone=False)

    dataset = one("Claims", "claims", "dataset")
    choices = choices[choices["dataset"] == dataset]
    selector = one("Selector", "selector", "selector")
    every_writer = tuple(choices[choices["selector"] == selector]["writer"])
    writers = tuple(writer for writer in every_writer if writer in address.values("writer")) or every_writer
    if len(every_writer) == 1:
        address.known("writer", every_writer, "writer")
    else:
        many = f"all {len(every_writer)}" if writers == every_writer else f"{len(writers)} of {len(every_writer)}"
        with st.popover(f"Writers **{plain(writers[0]) if len(writers) == 1 else many}**"):
            address.some_of("Writers", every_writer, "writer", what="writer", help="Who wrote the explanations.")
    cells = query(results, Reader.rows, "cell_recovery", dataset=dataset, selector=selector)
    return Shown(dataset, selector, writers, every_writer, names, cells)


def choose_measure(shown: Shown) -> tuple[str, str]:
    """Offer measure and masking of the figure on top, in a chip."""
    measured = set(shown.cells.dropna(subset=["value"])["measure"])
    measures = [measure for measure in CHOSEN if measure in measured] or ["f1"]
    maskings = [masking for masking in MASKINGS if masking in set(shown.cells["masking"])] or ["full"]
    measure, masking = address.requested("measure", measures), address.requested("masking", maskings)
    with st.popover(f"Measure **{plain(CITATION_MEASURES[measure].title)}**, {masking}"):
        address.one_of("Measure", measures, "measure", titles=titles(CITATION_MEASURES), menu=True)
        address.one_of("Masking", maskings, "masking", titles=titles(MASKINGS))
        for name in measures:
            st.caption(f"**{plain(CITATION_MEASURES[name].title)}**: {plain(CITATION_MEASURES[name].meaning)}.")
    return measure, masking


TITLE = "Hide a citation: can a reader put it back?"
MARK = MarkSelection("point", ("writer", "annotator"))
_DEMO = (
    "Rules wrote these explanations in three hands, careful, sloppy and padding, and two tiny models read them. They say "
    "nothing about real models."
)
_SMALL = "A small model wrote these explanations of made-up claims. They say nothing about large models."


def draw(results: Reader, shown: Shown, measure: str, masking: str) -> None:
    """Draw the answer in a sentence, what a click leads to, and the figure; then the explainers, agreement, and numbers."""
    with st.container(key="answer"):
        st.markdown(answer(shown.cells, measure, masking, shown.writers, shown.names))
    notes = [_most(shown)] if (measure, masking) == ("f1", "full") else []
    st.caption(" ".join([*notes, *([_SMALL if results.note == REAL_NOTE else _DEMO] if results.bundled else [])]))
    _selection(results, shown, measure, masking)
    figure = recovery_figure(shown.cells, measure, shown.writers, shown.names, masking)
    MARK.draw("citation_marks", figure)
    if missing := not_available(shown.cells[shown.cells["writer"].isin(shown.writers)], measure, masking, shown.names):
        st.caption("Not available: " + "; ".join(f"**{plain(title)}** ({plain(why)})" for title, why in missing) + ".")
    _explainers(shown)
    _agreement(results, shown, masking)
    fold = st.expander("The numbers", key="citation_numbers", on_change="rerun")
    if fold.open:
        with fold:
            _numbers(results, shown, measure, masking)


def _most(shown: Shown) -> str:
    """Say how high the F1 of all passages can be."""
    all_omitted = shown.cells[(shown.cells["measure"] == "omitted") & (shown.cells["masking"] == "full")]
    omitted = all_omitted[all_omitted["writer"].isin(shown.writers)].dropna(subset="value")
    most = ", ".join(f"{number(1 - row.value)} on {plain(row.writer)}" for row in omitted.itertuples())
    return f"A passage that no sentence cites counts 0, so that F1 is at most {most}." if most else ""


def _selection(results: Reader, shown: Shown, measure: str, masking: str) -> None:
    """Draw the bar above the figure: what the clicked mark is, and its claims."""
    known = {(row.writer, row.annotator) for row in shown.cells.itertuples()}
    if not MARK.is_one(lambda *id: id in known):
        return
    writer, annotator = MARK.id
    cells = shown.cells
    of_mark = cells[(cells["writer"] == writer) & (cells["annotator"] == annotator) & (cells["masking"] == masking)]
    rows = of_mark[of_mark["measure"] == measure].to_dict("records")
    with MARK.bar():
        title, *parts = cell_in_words(rows[0] if rows else None, MARK.id, shown.names)
        st.markdown(f"**{plain(title)}** {plain('; '.join(parts))}", width="stretch")
        count = len(query(results, Reader.explanation_ids, CitationFilter(shown.dataset, shown.selector, (writer,))))
        _claims_button(f"The {count:,} claims of {plain(writer)}", "of_mark", type="primary", only=None, writer=writer)


def _explainers(shown: Shown) -> None:
    if not shown.cells["measure"].isin(OF_EXPLAINERS).any():
        return
    st.subheader("What did the model itself use?")
    meanings = "; ".join(
        f"**{CITATION_MEASURES[name].title}**: {plain(CITATION_MEASURES[name].meaning)}" for name in OF_EXPLAINERS
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Explainers say it, so no judge is needed. {meanings}.", width="stretch")
        _claims_button("Claims with a wrong marker", "wrong_marker", only="wrong_marker")
    used = explainers_figure(shown.cells, shown.writers, shown.names)
    draw_figures("explainer_marks", replace(used, legend=()), on_pick=_pick_explainer)


def _pick_explainer(id: Sequence[str]) -> None:
    """Go to the claims of the writer whose mark it is: for a wrong marker to those that have one."""
    _to_claims(only="wrong_marker" if id[-1] == "wrong_marker" else None, writer=id[0])


def _agreement(results: Reader, shown: Shown, masking: str) -> None:
    agreements = query(results, Reader.rows, "agreement", dataset=shown.dataset, selector=shown.selector, masking=masking)
    known = [writer for writer in shown.writers if writer in set(agreements["writer"])]
    if not known:
        return
    st.subheader("Where do annotators disagree?")
    with st.container(horizontal=True, vertical_alignment="center"):
        writer = address.one_of("Explanations by", known, "agree", what="writer", hidden=True) if len(known) > 1 else known[0]
        st.caption(
            "Krippendorff's alpha between the sentences that two of them mark: 1 is full agreement, 0 what chance gives. In "
            "brackets: 95 % intervals over claims.",
            width="stretch",
        )
        _claims_button("Claims where they disagree", "disagree", only="disagree")
    st.html(alphas_table(agreements, writer, shown.names).html())


def _to_claims(**chosen: str | None) -> None:
    """Show the first of the claims that are chosen."""
    address.put(tab="claim", explanation=None, passage=None, **chosen)


def _claims_button(label: str, key: str, type: Literal["primary", "secondary"] = "secondary", **chosen: str | None) -> None:
    st.button(label, f"claims_{key}", icon=":material/article:", type=type, on_click=_to_claims, kwargs=chosen)


def _numbers(results: Reader, shown: Shown, measure: str, masking: str) -> None:
    cells = shown.cells[shown.cells["writer"].isin(shown.writers)]
    about = {"claims": shown.names.title("claims", shown.dataset), "shown": measure, "masking shown": masking}
    table = recovery_table(shown.cells, measure, masking, shown.writers, shown.names)
    draw_table(results, table, cells, "citations", about)
    if shown.cells["measure"].isin(OF_EXPLANATIONS).any():
        st.html(explanations_table(shown.cells, shown.writers, shown.names).html())


_NOTHING = "No explanation is left under these filters."


def choose_claims(shown: Shown) -> CitationFilter:
    """Draw the chip of the filters, and one for each that is set; a click removes it."""
    held = [name for name in ONLY if name in address.values("only")]
    search = address.value("find")
    count = len(held) + bool(search)
    with st.popover(f"Filter **{count}**" if count else "Filter"):
        about = "All of these must hold."
        only = address.some_of("Only explanations with", list(ONLY), "only", what="filter", titles=ONLY_TITLES, help=about)
        address.text("Search claims and explanations", "find", "search: some words")
    for name in held:
        rest = [other for other in held if other != name]
        label, go = f"{ONLY_TITLES[name]} ×", address.setter(only=rest, explanation=None, passage=None)
        st.button(label, key=f"only_{name}", help="Remove this filter", on_click=go)
    if search:
        go = address.setter(find=None)
        st.button(f"search: {plain(search)} ×", key="no_search", help="Remove the search", on_click=go)
    return shown.filter(only, search)


def draw_claim(results: Reader, shown: Shown, chosen: CitationFilter, bar: DeltaGenerator) -> None:
    """Draw steps and list, then the claim. bar: where the steps stand."""
    ids = query(results, Reader.explanation_ids, chosen)
    usual = None if chosen.only or chosen.search else query(results, Reader.readable_explanation, chosen)
    position, id = listing.position_among(ids, "explanation", lambda id: query(results, Reader.explanation, id), usual)
    with bar:
        listing.steps(position, _show, "claim")
    if id is None:
        st.title(TITLE)
        st.info(_NOTHING, icon=":material/filter_alt_off:")
        go = address.setter(**dict.fromkeys(("only", "find", "writer", "explanation", "passage")))
        st.button("Show all claims", on_click=go)
        return
    with listing.beside_drawer(lambda: _list(results, chosen, position, id)):
        _claim(results, shown, position, id)
        st.subheader("Over all claims")
        st.caption(f"F1 of citations put back, with 95 % intervals over claims. {_most(shown)} Click a dot for more.")
        figure = recovery_figure(shown.cells, "f1", shown.writers, shown.names, "full")
        draw_figures("over_all", figure, on_pick=lambda id: address.put(tab=None, point=id[:2]))


def _claim(results: Reader, shown: Shown, position: listing.Position, id: str) -> None:
    """Draw the claim with its evidence, and the explanation with everybody's marks."""
    explanation, recoveries = query(results, Reader.explanation, id), query(results, Reader.recoveries, id)
    explained = explanation.explained
    picked = address.known("passage", explained.selected, "passage")
    masked = picked[-1] if picked else first_passage(explanation)
    data = claim_drawing(explanation, recoveries, masked, shown.names, shown.annotators)
    verdict = f"The claim came with the verdict “{explained.claim.verdict}”. " if explained.claim.verdict else ""
    data["facts"] = f"{verdict}{explained.writer} explains it below. One citation is hidden: a reader has to put it back."

    def act(message: str) -> None:
        what, _, value = message.rpartition(" ")[0].partition(" ")
        if what == "passage" and value.isdecimal():
            address.put(passage=value)
        elif what == "step" and value in ("1", "-1"):
            _show(position.beside(int(value)))

    component("citations", "one_claim", data, asked=act)


def _show(id: str | None) -> None:
    """Show an explanation; a passage of one means nothing in another."""
    if id is not None:
        address.put(explanation=id, passage=None, page=None)


def _list(results: Reader, chosen: CitationFilter, position: listing.Position, id: str) -> None:
    st.markdown(f"**{len(position.ids):,} explanations**")
    rows = query(results, Reader.explanations, chosen, (position.page[0] - 1) * listing.PAGE, listing.PAGE)
    lines = [
        {"id": row.explanation_id, "title": row.claim, "about": f"{row.verdict or ''} · {row.writer}"}
        for row in rows.itertuples()
    ]
    listing.draw_rows(position, lines, id, _show, "claims")
