"""One claim: its evidence, its explanation with a citation masked, all annotators' marks; and the way through the claims."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from heval_core.figures.citation_claim import claim_drawing, first_passage
from heval_core.figures.citation_dots import recovery_figure
from heval_core.store.citation_queries import ONLY, CitationFilter
from heval_core.store.reader import Reader
from heval_core.ui import address, listing
from heval_core.ui.citations import ONLY_TITLES, TITLE, Shown
from heval_core.ui.component import component
from heval_core.ui.marks import draw_figures
from heval_core.ui.published_results import query
from heval_core.ui.text import plain

_KEY = "one_claim"
_NOTHING = "No explanation is left under these filters."


def choose(shown: Shown) -> CitationFilter:
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


def draw(results: Reader, shown: Shown, chosen: CitationFilter, bar: DeltaGenerator) -> None:
    """Steps and list, then the claim. bar: where the steps stand."""
    ids = query(results, Reader.explanation_ids, chosen)
    position, id = listing.position_among(ids, "explanation", lambda id: query(results, Reader.explanation, id))
    with bar:
        listing.steps(position, _show, "claim")
    if id is None:
        st.title(TITLE)
        st.info(_NOTHING, icon=":material/filter_alt_off:")
        go = address.setter(**dict.fromkeys(("only", "find", "writer", "explanation", "passage")))
        st.button("Show all claims", on_click=go)
        return
    with listing.beside_drawer(lambda: _list(results, chosen, position, id)):
        _one(results, shown, position, id)
        _over_all(shown)


def _one(results: Reader, shown: Shown, position: listing.Position, id: str) -> None:
    """The claim with its evidence, and the explanation with everybody's marks."""
    explanation, recoveries = query(results, Reader.explanation, id), query(results, Reader.recoveries, id)
    data = claim_drawing(explanation, recoveries, _passage(explanation), shown.names, shown.annotators)
    for column in data["annotators"]:
        del column["chosen"]
    verdict = f"The claim came with the verdict “{explanation['verdict']}”. " if explanation["verdict"] else ""
    data["facts"] = f"{verdict}{explanation['writer']} explains it below. One citation is hidden: a reader has to put it back."

    def asked() -> None:
        state = st.session_state.get(_KEY) or {}
        what, _, value = str(state.get("asked", "")).partition(" ")
        value = value.rpartition(" ")[0]
        if what == "passage" and value.isdecimal():
            address.put(passage=value)
        elif what == "step" and value in ("1", "-1"):
            _show(position.beside(int(value)))

    component("citations")(key=_KEY, data=data, on_asked_change=asked)


def _over_all(shown: Shown) -> None:
    """What all claims together come to, below the one."""
    st.subheader("Over all claims")
    st.caption("F1 of citations put back, with 95 % intervals over claims. Click a dot for more.")
    figure = recovery_figure(shown.cells, "f1", shown.writers, shown.names, "full")
    draw_figures("over_all", figure, on_pick=lambda id: address.put(tab=None, point=id[:2]))


def _show(id: str | None) -> None:
    """Show an explanation; a passage of one means nothing in another."""
    if id is not None:
        address.put(explanation=id, passage=None, page=None)


def _passage(explanation: dict[str, Any]) -> int | None:
    """The passage whose citation is masked: the link's, else the one to begin with."""
    asked = address.known("passage", explanation["selected"], "passage")
    return asked[-1] if asked else first_passage(explanation)


def _list(results: Reader, chosen: CitationFilter, position: listing.Position, id: str) -> None:
    st.markdown(f"**{len(position.ids):,} explanations**")
    rows = query(results, Reader.explanations, chosen, (position.page[0] - 1) * listing.PAGE, listing.PAGE)
    lines = [
        {"id": row.explanation_id, "title": row.claim, "about": f"{row.verdict or ''} · {row.writer}"}
        for row in rows.itertuples()
    ]
    listing.draw_rows(position, lines, id, _show, "claims")
