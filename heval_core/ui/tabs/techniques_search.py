"""Which settings were chosen, and how clearly?"""

from __future__ import annotations

import streamlit as st

from heval_core.figures.technique_trials import Search, searches
from heval_core.store.reader import Reader
from heval_core.ui.exports import table_exports
from heval_core.ui.technique_page import Shown
from heval_core.ui.text import plain
from heval_core.wording import counted, listed

TITLE = "Which settings were chosen, and how clearly?"
_HEIGHT = 320


def draw(results: Reader, shown: Shown) -> None:
    """For each technique that has something to choose: the search in a sentence, and every setting that was tried."""
    found = searches(shown.trials)
    with st.container(key="answer"):
        st.markdown(_answer(found, shown))
    for search in found:
        _one(search, shown)
    failed = shown.trials.dropna(subset=["unavailable"]).drop_duplicates("technique")
    if len(failed):
        told = [
            f"**{plain(shown.names.title(row.technique))}** ({plain(str(row.unavailable).rstrip('.'))})"
            for row in failed.itertuples()
        ]
        st.caption(f"Not searched: {'; '.join(told)}.")
    st.caption(
        "Settings are chosen on development questions, by each method's own rule, and then used on the test questions that "
        "the other numbers are about. COIECD is chosen by gold documents, as in CUB, PH3 by the documents that its mode is "
        "for, the others by the mean. The mean BCU of gold, conflicting and irrelevant does not settle it where corner "
        "policies tie at 2/3: a model that always follows is then as good as one that never does but knows the gold answers. "
        "So all ties are stored and counted."
    )
    if len(shown.trials):
        table_exports(results, shown.trials, "search", pictures=False)


def _answer(found: list[Search], shown: Shown) -> str:
    found = [one for one in found if not one.trained]
    if not found:
        return "No technique of these results has a setting to choose."
    tied = [f"**{plain(shown.names.title(one.technique))}** ({one.ties:,})" for one in found if one.ties > 1]
    start = f"{counted(len(found), 'technique').capitalize()} had settings to choose."
    if not tied:
        return f"{start} Each choice is the only best one on the development questions."
    return f"{start} Several settings are equally good on the development questions for {listed(tied)}."


def _one(search: Search, shown: Shown) -> None:
    st.subheader(plain(shown.names.title(search.technique)))
    said = "On" if search.trained else "Chosen:"
    st.markdown(f"{plain(search.sentence)} {said} **{plain(search.chosen)}**.")
    if search.trained:
        return
    if search.heads:
        st.markdown(f"It prunes {counted(len(search.heads), 'head')}: {plain(', '.join(search.heads))}.")
    table = search.table
    st.dataframe(table, hide_index=True, height=min(_HEIGHT, 38 + 35 * len(table)))
    st.caption(
        f"BCU in percent on the development questions, by kind of context; {len(table):,} settings, the chosen one first."
    )
