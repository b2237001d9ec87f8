"""The Overview: what it is about and which results, one answer traced, who is best, and three ways on."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import streamlit as st

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.records import Board
from heval_core.evaluation.orders import order_of
from heval_core.figures.board import by_question
from heval_core.figures.hard_board import TITLE as HARD_TITLE
from heval_core.figures.hard_board import source_figure
from heval_core.plugins.measures import headlines
from heval_core.present.html import COMPONENTS, plain, render
from heval_core.present.names import model_title
from heval_core.records.whole_answers import WholeAnswer
from heval_core.store.filters import NOT_ANSWER, BestToken, Filter
from heval_core.store.reader import Reader
from heval_core.ui import address, board, filters, links, own_answer, own_prompts, sources
from heval_core.ui.exports import link_button
from heval_core.ui.marks import draw_figures
from heval_core.ui.published_results import (
    RESULTS_TITLES,
    WHICH_RESULTS,
    draw_computing,
    is_shipped,
    names_of,
    offered,
    shipped_of,
)

TITLE = "Which highlight explanation can be trusted?"


def draw_head(results: Reader) -> Filter:
    """Draw title, introduction, which results, and the filter. Return what it asks for."""
    st.html(COMPONENTS / "overview.css")
    with st.container(key="overview_head", horizontal=True):
        with st.container(key="overview_words"):
            st.title(TITLE)
            st.html(render("lead.html"))
        with st.container(key="overview_tools"):
            with st.container(
                key="overview_results", horizontal=True, vertical_alignment="center", horizontal_alignment="right"
            ):
                counted = st.container(key="counts", width="content")
                _which_results()
            if is_shipped(results):
                chosen = filters.everything(results, filters.usable(results, explained=True), explained=True)
                draw_computing()
            else:
                with filters.row():
                    chosen = filters.filter_bar(results, ("model", "dataset", "regime"), explained=True)
                    link_button(results)
            shown = sources.with_decoys(results, chosen) if sources.sources_of(results, chosen) else chosen
            with counted, st.popover(filters.counts(results, shown).rpartition(" · ")[2]):
                st.markdown(results.note or "Results of your own.")
    return chosen


def _which_results() -> None:
    """Draw the switch between results, where there are several."""
    choices = list(offered())
    if len(choices) > 1:
        held = address.value(WHICH_RESULTS)
        st.session_state["which_results"] = held if held in choices else choices[0]

        def change() -> None:  # what the address asked of the others means nothing in these
            address.forget(**{WHICH_RESULTS: st.session_state["which_results"]})

        def title(name: str) -> str:
            computes = name != st.session_state["which_results"] and shipped_of(offered()[name]) is not None
            return RESULTS_TITLES[name] + (" (computes for a minute)" if computes else "")

        looks = {"format_func": title, "label_visibility": "collapsed", "required": True}
        st.segmented_control("Results", choices, key="which_results", on_change=change, **looks)


def draw_answer() -> None:
    """Draw an example of *Your prompt*, by the same component: the first that rests on two documents, else the first."""
    opened = ((name, own_prompts.find(name)) for name in own_prompts.examples())
    whole = ((name, one.prompt, one.result) for name, one in opened if one and isinstance(one.result, WholeAnswer))
    first = next(whole, None)
    if first is None:
        return
    name, prompt, answer = next((one for one in chain([first], whole) if len(_cited(one[2])) > 1), first)
    st.subheader("One answer, traced")
    st.caption(f"{plain(model_title(prompt.model))} was asked: “{plain(prompt.question)}”")
    own_answer.draw(name, prompt, answer, small=True)


def _cited(answer: WholeAnswer) -> set[int]:
    """Return the documents that its sentences cite."""
    return {one.document for sentence in answer.generated.sentences for one in sentence.citations or ()}


def draw_board(results: Reader, chosen: Filter, leaderboard: Board) -> None:
    """Draw the figure of the Leaderboard's first tab that has numbers, in little room, and what it says."""
    hard, names = sources.sources_of(results, chosen), names_of(results)
    st.subheader(HARD_TITLE if hard else "Between guessing (0) and perfect (1)")
    st.markdown(sources.sentence(hard, names) if hard else board.recommendation(leaderboard))
    st.caption(f"{results.note.partition('. ')[0].rstrip('.')}." if results.note else "")
    figure = source_figure(hard, names, compact=True) if hard else by_question(leaderboard, names, compact=True)
    draw_figures("overview_marks", figure, on_pick=lambda id: _open(chosen, id, "source" if hard else "overall"))
    if not hard:
        board.without_numbers(results, leaderboard)


def _open(chosen: Filter, id: list[str], tab: str) -> None:
    """Note a click on a mark, which leads to the Leaderboard's tab with it picked."""
    st.session_state["overview_picked"] = links.parameters(chosen) | {"tab": [tab], board.MARK.parameter: id}


def follow_pick() -> None:
    """Go where a click on a mark leads."""
    if parameters := st.session_state.pop("overview_picked", None):
        st.switch_page("pages/leaderboard.py", query_params=parameters)


def draw_doors(results: Reader, chosen: Filter, leaderboard: Board | None) -> None:
    which = address.value(WHICH_RESULTS)
    same_results: dict[str, str | list[str]] = {WHICH_RESULTS: which} if which else {}
    doors = [
        ("Explain your own prompt", "Paste documents, ask, click any word of the answer", "your_prompt"),
        _wrong(results, chosen, leaderboard),
        ("Choose a technique", "For documents that are right, wrong or irrelevant", links.href("techniques", same_results)),
    ]
    st.html(render("doors.html", doors=[dict(zip(("title", "about", "link"), door, strict=True)) for door in doors]))


# The explainer whose mistakes are shown where it is not the recommended one; else those of the last of the board.
_SUSPECT = "mechlight"


def pair(leaderboard: Board) -> tuple[str, str] | None:
    """Return the recommended method, and one that is often wrong where it is right."""
    best, ranked = conclusion(leaderboard).best, leaderboard.overall.methods
    if len(ranked) < 2:
        return None
    return best, _SUSPECT if _SUSPECT in ranked and best != _SUSPECT else ranked[-1]


def _wrong(results: Reader, chosen: Filter, leaderboard: Board | None) -> tuple[str, str, str]:
    methods, names = pair(leaderboard) if leaderboard else None, names_of(results)
    if methods is not None:
        right, wrong = methods
        mistakes = replace(chosen, best=(BestToken(right, "answer"), BestToken(wrong, NOT_ANSWER)))
        if count := filters.how_many(results, mistakes):
            link = links.parameters(mistakes, order_of(headlines()["RQ3"], wrong))
            about = f"{count:,} instances in which {names.explainer(right)} is right and {names.explainer(wrong)} is not"
            return "See one go wrong", about, links.href("instances", link)
    about = f"{filters.how_many(results, chosen):,} instances, with every explainer’s highlights"
    return "Look at the instances", about, links.href("instances", links.parameters(chosen))
