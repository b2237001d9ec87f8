"""One question of the board in each model: whether the same explainer is best for all of them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from heval_core.evaluation.board.conclusion import AT, standing
from heval_core.evaluation.board.records import Board, Column
from heval_core.figures import board_table
from heval_core.figures.board_dots import by_model
from heval_core.figures.board_paper import board_latex
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.ui import board_page
from heval_core.ui.exports import table_exports
from heval_core.ui.marks import dot_panels, id_of
from heval_core.ui.text import plain
from heval_core.wording import counted, listed


def draw(results: Reader, chosen: Filter, made: Board) -> None:
    """The question, who is best in which model, a panel for each model, and the numbers."""
    said = st.container(key="answer")
    column = board_page.choose_question(made)
    if column is None:
        return
    sentence = best_in_each(made, column)
    said.markdown(sentence)
    id = board_page.picked_id()
    dot_panels(by_model(made, column, board_page.hints(results), id_of(id) if id else ""), "models_figure", board_page.pick)
    board_page.selection(made, chosen)
    st.subheader("The numbers")
    grid = board_table.by_model_grid(made, column)
    st.html(board_table.as_html(made, grid, f"{column.title}: explainers by model"))
    st.caption("From chance (0) to the best possible (1), with 95 % intervals, questions resampled. Best method in bold.")
    own = made.by_model[made.by_model["column"] == column.key]
    paper = partial(board_latex, made, grid, results.snapshot_id, f"{column.title}, by model.", str(chosen), "board-models")
    table_exports(results, own, f"board-{column.key.lower()}-models", {"filter": str(chosen)}, latex=paper, pictures=False)


def best_in_each(made: Board, column: Column) -> str:
    """Who is best at a question in which models; where intervals overlap, who they are."""
    winners: dict[str, list[str]] = {}
    level = []
    for model in made.models:
        here = standing(made, made.by_model[made.by_model["model"] == model], column)
        if here.winner:
            winners.setdefault(here.winner, []).append(model)
        elif here.methods:
            names = listed([f"**{plain(made.titles[key])}**" for key in here.best])
            level.append(f"{names} on {plain(model)}")
    if not winners and not level:
        return "No method has a number for this question under these filters."
    at = AT[column.question] + (f", {column.prompts}," if column.prompts else "")
    if len(winners) == 1 and not level:
        (winner,) = winners
        models = made.models_at(column)
        where = f"all {counted(len(models), 'model')}" if len(models) > 1 else plain(models[0])
        return f"**{plain(made.titles[winner])}** is the best method at {at} on {where}."
    told = [
        f"**{plain(made.titles[key])}** on {listed([plain(model) for model in models])}" for key, models in winners.items()
    ]
    said = [f"Best at {at}: {', '.join(told)}."] if told else []
    said += [f"The intervals of the best overlap: {'; '.join(level)}."] if level else []
    return " ".join(said)
