"""Can a reader tell what each sentence rests on? All claims together."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from heval_core.figures.citation_dots import explainers_drawing, has, not_available, reason, recovery_drawing, told
from heval_core.figures.citation_names import MEANINGS, MEASURES, OF_EXPLAINERS, OF_EXPLANATIONS, OF_SOURCES
from heval_core.figures.citation_tables import alphas_html, explanations_html, recovery_html
from heval_core.store.reader import Reader
from heval_core.ui import address, citation_verdicts
from heval_core.ui.citation_page import Shown
from heval_core.ui.citation_transparency import PUBLISHED_AT, transparent
from heval_core.ui.exports import table_exports
from heval_core.ui.marks import dot_panels, id_of
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

TITLE = "Can a reader tell what each sentence rests on?"
PARAMETER = "point"
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
    picked = tuple(address.values(PARAMETER))
    own = recovery_drawing(shown.cells, measure, shown.writers, shown.names, masking, picked=id_of(picked) if picked else "")
    dot_panels(own, "citation_marks", pick)
    missing = not_available(shown.cells[shown.cells["writer"].isin(shown.writers)], measure, masking, shown.names)
    if missing:
        st.caption("Not available: " + "; ".join(f"**{plain(title)}** ({plain(why)})" for title, why in missing) + ".")
    _selection(shown, measure, masking, picked)
    _transparency(results, shown)
    _explainers(shown)
    _both_maskings(shown, measure)
    _agreement(results, shown, masking)
    _explanations(shown)
    _numbers(results, shown, measure, masking)


def pick(id: Sequence[str]) -> None:
    """Hold on to the writer and annotator of a mark; a second click lets go."""
    held = list(id[:2])
    address.put(**{PARAMETER: None if held == address.values(PARAMETER) else held})


def _selection(shown: Shown, measure: str, masking: str, picked: tuple[str, ...]) -> None:
    """The bar under the figure: what the clicked mark is, and its claims."""
    if not picked:
        return
    known = {(row.writer, row.annotator) for row in shown.cells.itertuples()}
    if len(picked) != 2 or picked not in known:
        address.unreadable(PARAMETER, "the mark", "a mark of the figure: writer and annotator")
        return
    writer, annotator = picked
    cells = shown.cells
    own = cells[(cells["writer"] == writer) & (cells["annotator"] == annotator) & (cells["masking"] == masking)]
    rows = own[own["measure"] == measure].to_dict("records")
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        if rows and not pd.isna(rows[0]["value"]):
            who, *said = told(rows[0], shown.names)
        else:
            who = f"{shown.names.annotator(annotator)}, explanations by {writer}"
            said = ["not available", reason(rows[0] if rows else None)]
        st.markdown(f"**{plain(who)}** {plain('; '.join(said))}", width="stretch")
        go = address.setter(tab="claim", writer=writer, only=None, explanation=None, passage=None)
        st.button("Its claims", key="claims_of_mark", icon=":material/article:", on_click=go, type="primary")
        st.button("×", key="let_go", help="Let go of the mark", on_click=address.setter(**{PARAMETER: None}))


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
    dot_panels(recovery_drawing(rows, "transparent", shown.writers, shown.names, "full"), "transparency_marks", pick)


def _explainers(shown: Shown) -> None:
    if not has(shown.cells, OF_EXPLAINERS):
        return
    st.subheader("What did the model itself use?")
    st.caption(f"By explainers, which need no judge. {_meanings(OF_EXPLAINERS)}.")
    dot_panels(explainers_drawing(shown.cells, OF_EXPLAINERS, shown.writers, shown.names), "explainer_marks", _pick_explainer)
    _claims_button("Claims with a wrong marker", "wrong_marker")
    known = shown.cells["measure"].isin(OF_SOURCES) & shown.cells["value"].notna()
    if known.any():
        st.subheader("Do explainers find what a sentence was made from?")
        st.caption(f"It is known of these explanations. {_meanings(OF_SOURCES)}.")
        dot_panels(explainers_drawing(shown.cells, OF_SOURCES, shown.writers, shown.names), "source_marks", _pick_explainer)


def _meanings(measures: Sequence[str]) -> str:
    return "; ".join(f"**{plain(MEASURES[name])}**: {plain(MEANINGS[name])}" for name in measures)


def _pick_explainer(id: Sequence[str]) -> None:
    """To the claims of the writer whose mark it is: for a wrong marker to those that have one."""
    only = {"wrong_marker": ["wrong_marker"], "omitted_citation": None}.get(id[-1])
    address.put(tab="claim", writer=id[0], only=only, explanation=None, passage=None)


def _both_maskings(shown: Shown, measure: str) -> None:
    if not {"full", "sample"} <= set(shown.cells["masking"]):
        return
    st.subheader("Does it matter which citation is masked?")
    st.caption(
        f"{plain(MEASURES[measure])}, when every citation is masked in turn (full), and when one of each explanation is "
        "(sample)."
    )
    both = recovery_drawing(shown.cells, measure, shown.writers, shown.names, "full", beside="sample")
    dot_panels(both, "masking_marks", pick)


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
    st.html(alphas_html(agreements, writer, shown.names))


def _claims_button(label: str, only: str) -> None:
    go = address.setter(tab="claim", only=[only], explanation=None, passage=None)
    st.button(label, key=f"claims_{only}", icon=":material/article:", on_click=go)


def _explanations(shown: Shown) -> None:
    if not has(shown.cells, OF_EXPLANATIONS):
        return
    st.subheader("What do explanations cite?")
    st.html(explanations_html(shown.cells, shown.writers))


def _numbers(results: Reader, shown: Shown, measure: str, masking: str) -> None:
    st.subheader("The numbers")
    st.html(recovery_html(shown.cells, measure, masking, shown.writers, shown.names))
    st.caption(
        f"**{plain(MEASURES[measure])}**, {masking} masking: {plain(MEANINGS[measure])}. In brackets: 95 % intervals over "
        "claims. Chance: F1 expected of as many sentences chosen at random. ○: not available; hover for the reason. The "
        "exports hold every measure."
    )
    own = shown.cells[shown.cells["writer"].isin(shown.writers)]
    about = {"claims": shown.names.named("claims", shown.dataset), "shown": measure, "masking shown": masking}
    table_exports(results, own, "citations", about, pictures=False)
