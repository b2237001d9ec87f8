"""Every row of the board against every other: wins, ties and losses over models and datasets."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.pairs import against, counted_pairs
from heval_core.evaluation.board.records import ASKED, Board
from heval_core.figures import board_table
from heval_core.figures.board_paper import board_latex
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import address
from heval_core.ui.exports import table_exports
from heval_core.ui.names import names_of
from heval_core.ui.text import plain
from heval_core.wording import listed

TOGETHER = "all"


def draw(results: Reader, chosen: Filter, made: Board) -> None:
    """The question, who beats all others, the table of wins, and every difference on demand."""
    if made.pairs.empty:
        st.info("Under these filters no two explainers have the same cells of a question.", icon=":material/balance:")
        return
    said = st.container(key="answer")
    there = [question for question in ASKED if question in set(made.pairs["column"])]
    titles = {TOGETHER: "All questions"} | {question: QUESTIONS[question].title for question in there}
    asked = address.one_of("Question", list(titles), "question", hidden=True, titles=titles)
    pairs = made.pairs if asked == TOGETHER else made.pairs[made.pairs["column"] == asked]
    said.markdown(unbeaten(made, pairs))
    grid = board_table.pairs_grid(made, None if asked == TOGETHER else asked)
    st.html(board_table.as_html(made, grid, "Wins, ties and losses of rows against columns", "Row against"))
    st.caption(
        "Wins – ties – losses of the row, over models and datasets"
        + (" and questions" if asked == TOGETHER else "")
        + ". The "
        "difference of two means over the same cells and questions is bootstrapped; p from its standard error, Holm over the "
        "models and datasets of a question and a pair; a win needs p < .05. Bold: every comparison is a win."
    )
    if address.switch("Every difference", "differences"):
        shown = names_of(results).readable(pairs.drop(columns=["cells"]))
        st.dataframe(shown.rename(columns={"column": "question"}).round(4), hide_index=True)
    about = {"question": asked, "filter": str(chosen)}
    paper = partial(
        board_latex, made, grid, results.snapshot_id, "Wins, ties and losses of rows against columns.", str(chosen)
    )
    table_exports(results, exported(pairs), "board-pairs", about, latex=partial(paper, label="board-pairs"), pictures=False)


def unbeaten(made: Board, pairs: pd.DataFrame) -> str:
    """Which methods win every comparison with methods, or lose none; and the controls that beat a method."""
    methods = pairs[pairs["first"].isin(list(made.methods)) & pairs["second"].isin(list(made.methods))]
    own = {key: against(methods, key) for key in made.methods}
    always = [key for key, one in own.items() if len(one) and (one["better"] == key).all()]
    never = [key for key, one in own.items() if len(one) and one["better"].isin([key, ""]).all() and key not in always]
    if always:
        told = f"{_names(made, always)} wins every comparison with another method."
    elif never:
        told = f"{_names(made, never)} {'loses' if len(never) == 1 else 'lose'} no comparison with another method."
    elif methods.empty:
        told = "There is no pair of methods to compare."
    else:
        ranked = sorted(own, key=lambda key: (own[key]["better"] == key).mean(), reverse=True)
        best = own[ranked[0]]
        wins, losses = (best["better"] == ranked[0]).sum(), (~best["better"].isin([ranked[0], ""])).sum()
        told = (
            f"{_names(made, ranked[:1])} wins most: {wins} of {len(best)} comparisons with other methods, and loses {losses}."
        )
    crossed = pairs[pairs["first"].isin(list(made.methods)) != pairs["second"].isin(list(made.methods))]
    wins = crossed[crossed["better"].isin(list(made.controls))]["better"].value_counts()
    if wins.empty:
        return f"{told} No control beats a method anywhere."
    often = [f"{_names(made, [str(key)])} in {count:,} of {len(against(crossed, str(key))):,}" for key, count in wins.items()]
    return f"{told} Controls beat methods too: {listed(often)} comparisons."


def _names(made: Board, keys: list[str]) -> str:
    return listed([f"**{plain(made.titles[key])}**" for key in keys])


def exported(pairs: pd.DataFrame) -> pd.DataFrame:
    """Every difference, with how often its pair is won, tied and lost at its question."""
    counts = counted_pairs(pairs).drop(columns=["mean difference"])
    return pairs.merge(counts, on=["column", "first", "second"])
