"""The board: the three questions, quality against cost, and all numbers."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.records import Board
from heval_core.figures import board_table
from heval_core.figures.board_dots import by_question
from heval_core.figures.board_front import front_drawing
from heval_core.figures.board_paper import board_latex
from heval_core.report.board_section import front_of
from heval_core.report.drawing import as_svg
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import board_page
from heval_core.ui.exports import download, table_exports
from heval_core.ui.marks import dot_panels, id_of
from heval_core.ui.technique_figure import technique_figure

_ABOUT = (
    "Questions and their mean run from chance (0) to the best possible (1): means over the cells that most methods have, with "
    "95 % intervals, questions resampled in all cells together. *Won – tied – lost*: against each other method, at each "
    "question, in each model and dataset (paired bootstrap, Holm over models and datasets, p < .05). *Passes*: forward passes "
    "over the whole prompt, counted, or else as each method declares them. Best method in bold; an asterisk marks a row that "
    "lacks cells and is not compared. Point at a number for what is behind it."
)


def draw(results: Reader, chosen: Filter, made: Board) -> None:
    """The sentence, both figures, what a click leads to, and the tables."""
    board_page.tell(made)
    id = board_page.picked_id()
    picked = id_of(id) if id else ""
    if made.questions:
        _figures(results, made, picked)
    board_page.selection(made, chosen)
    st.subheader("The numbers")
    grid = board_table.main_grid(made)
    st.html(board_table.as_html(made, grid, "The board: explainers by question, faithfulness and cost"))
    told = [_ABOUT, board_table.of_faithfulness(made), f"*ms*: {board_table.TIMES}" if made.timed else ""]
    st.caption(" ".join(filter(None, told)))
    harder = board_table.harder_grid(made)
    if harder[0]:
        st.subheader("Under decoys and at length")
        st.html(board_table.as_html(made, harder, "The questions under decoys and at the longest length"))
        st.caption(
            "Decoys d1 to d3 are read against d0, the same prompts with a neutral sentence. Raw ranks do not compare across "
            "lengths, these values do."
        )
    about = {"filter": str(chosen)}
    whole = (grid[0] + harder[0], {row.key: [*grid[1][row.key], *harder[1][row.key]] for row in made.rows})
    paper = partial(board_latex, made, whole, results.snapshot_id, conclusion(made).whole, str(chosen))
    with st.container(horizontal=True):
        table_exports(results, exported(made), "board", about, latex=paper, pictures=False)
        picture = front_of(made)
        if picture is not None:
            name = f"heval-front-{results.snapshot_id[:8]}.svg"
            download("SVG", partial(as_svg, picture), name, "svg_front", "Quality against cost")


def _figures(results: Reader, made: Board, picked: str) -> None:
    front = front_drawing(made, picked)
    with st.container(key="board_figures"):
        with st.container(key="board_dots"):
            dot_panels(by_question(made, board_page.hints(results), picked), "board_figure", board_page.pick)
        if front is not None:
            with st.container(key="board_front"):
                technique_figure("front_figure", board_page.pick, front=front, titles=("Quality against cost", ""))


def exported(made: Board) -> pd.DataFrame:
    """A row for each column and explainer, with its costs over all sizes of prompts, and whether it is on the front."""
    costs = costs_shown(made).set_index("explainer")
    front = made.quality.set_index("explainer")[["value", "on_front"]].rename(columns={"value": "quality"})
    controls = made.values["explainer"].isin(list(made.controls))
    return made.values.assign(control=controls).join(costs, on="explainer").join(front, on="explainer")
