"""The leaderboard as a section: the board with its sentence, and quality against cost as a drawing."""

from __future__ import annotations

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board
from heval_core.figures.board_front import front_figure
from heval_core.figures.board_table import whole_table
from heval_core.figures.front import as_drawing
from heval_core.report.plans import Plan
from heval_core.report.section import Section
from heval_core.store.reader import Reader


def board_section(results: Reader, plan: Plan) -> Section:
    """The board of everything that is explained under Regular."""
    made = board(results)
    told, front, table = conclusion(made), front_figure(made), whole_table(made)
    several = " Answers are those under Regular." if results.choices()["technique"].nunique() > 1 else ""
    rows = made.values.merge(costs_shown(made), on="explainer", how="left")
    figures = () if front is None else (("Quality against cost", as_drawing(front)),)
    gaps = told.open if made.rows else ("No explainer ran.",)
    return Section(plan, f"{told.said} {told.harder} {table.note}{several}", (table,), rows, figures, gaps)
