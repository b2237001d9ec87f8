"""The leaderboard as a section: the board with its sentence, and quality against cost as a drawing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pandas as pd

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.records import Board
from heval_core.figures.board_front import front_drawing
from heval_core.figures.board_paper import board_latex
from heval_core.figures.board_table import TIMES, Grid, harder_grid, heading, main_grid
from heval_core.metrics.shared.measure import QUESTION_PROTECTED
from heval_core.present.numbers import EXACT, interval
from heval_core.report.drawing import Drawing, Scale, legend
from heval_core.report.figures import Figure
from heval_core.report.plans import GLANCE, OTHER
from heval_core.report.section import Section
from heval_core.store.reader import Reader

BOARD = "board"
_ABOUT = (
    "Questions and their mean run from chance (0) to the best possible (1): means over the cells that most methods have, with "
    "95 % intervals over questions. Won, tied and lost: against each other method, at each question, in each model and "
    "dataset (paired bootstrap, Holm over models and datasets, p < .05). Passes: forward passes over the whole prompt, "
    "counted or else declared. {faithful} A row with an asterisk lacks cells."
)
_UNPROTECTED = "Faithfulness takes tokens out wherever they stand, the question's too."
_PROTECTED = "Faithfulness takes tokens of the documents out, with the question protected."
_LEFT, _WIDE, _TALL, _RIGHT, _BOTTOM = 46.0, 520.0, 300.0, 30.0, 44.0


def board_section(results: Reader) -> Section:
    """The board of everything that is explained under Regular."""
    made = board(results)
    told = conclusion(made)
    front = front_of(made)
    figures: tuple[Figure, ...] = () if front is None else (("Quality against cost", front),)
    table = made.values.merge(costs_shown(made), on="explainer", how="left")
    gaps = told.open if made.rows else ("No explainer ran.",)
    several = results.choices()["technique"].nunique() > 1
    protected = any(column.measure.switch == QUESTION_PROTECTED for column in made.columns)
    about = _ABOUT.format(faithful=_PROTECTED if protected else _UNPROTECTED)
    about = f"{about} Answers are those under Regular." if several else about
    about = f"{about} ms: {TIMES}" if made.timed else about
    return Section(BOARD, GLANCE, *OTHER[BOARD], f"{told.whole} {about}", figures, table, _shown(made), gaps)


def board_paper(results: Reader) -> str:
    """The section's table for a paper; empty where no explainer ran."""
    made = board(results)
    return board_latex(made, _whole(made), results.snapshot_id, conclusion(made).whole) if made.rows else ""


def _whole(made: Board) -> Grid:
    (heads, cells), (more, further) = main_grid(made), harder_grid(made)
    return [*heads, *more], {row.key: [*cells[row.key], *further[row.key]] for row in made.rows}


def _shown(made: Board) -> pd.DataFrame:
    """The table of the page, with three decimals as in all sections."""
    heads, cells = _whole(made)
    exact = {
        (row["column"], row["explainer"]): interval(row["value"], row["low"], row["high"], EXACT)
        + ("*" if row["reason"] else "")
        for row in made.values.dropna(subset=["value"]).to_dict("records")
    }
    keys = {heading(column): column.key for column in made.columns}
    rows = []
    for row in made.rows:
        texts = {head.title: f"{cell.value} {cell.interval}".strip() for head, cell in zip(heads, cells[row.key], strict=True)}
        texts |= {title: exact[key, row.key] for title, key in keys.items() if (key, row.key) in exact}
        rows.append({"explainer": row.title + (" (control)" if row.control else ""), **texts})
    return pd.DataFrame(rows)


def front_of(made: Board) -> Drawing | None:
    """Quality against cost, cheaper to the right; None where there are no two methods with both."""
    data = front_drawing(made)
    if data is None:
        return None
    drawing = Drawing(_LEFT + _WIDE + _RIGHT, 0, data["about"])
    top = legend(drawing, [point["title"] for point in data["points"]]) + 18
    x = Scale(data["x"]["low"], data["x"]["high"], _LEFT, _LEFT + _WIDE)
    y = Scale(data["y"]["low"], data["y"]["high"], top + _TALL, top)
    _frame(drawing, x, y, data)
    for level in data["levels"]:
        drawing.line("limit", (x.left, y.at(level["y"])), (x.right, y.at(level["y"])))
        drawing.words("faint", (x.right, y.at(level["y"]) - 4), level["text"], "end")
    ends = [(x.at(one), y.at(other)) for one, other in data["front"]]
    steps = [(x.left, ends[0][1]), *(spot for one, other in pairwise(ends) for spot in (one, (one[0], other[1]))), ends[-1]]
    for start, end in pairwise([*steps, (ends[-1][0], y.left)]):
        drawing.line("axis", start, end)
    for number, point in enumerate(data["points"], start=1):
        at = x.at(point["x"]), y.at(point["y"])
        drawing.line("whisker", (at[0], y.at(point["y_low"])), (at[0], y.at(point["y_high"])))
        drawing.dot("dot", at, 5.0 if point["front"] else 3.8, point["color"], "; ".join(point["about"]))
        drawing.words("name", (at[0] + 7, at[1] - 6), str(number))
    drawing.height = top + _TALL + _BOTTOM
    return drawing


def _frame(drawing: Drawing, x: Scale, y: Scale, data: dict[str, Any]) -> None:
    for tick in data["x"]["ticks"]:
        drawing.line("grid", (x.at(tick["at"]), y.left), (x.at(tick["at"]), y.right))
        drawing.words("faint", (x.at(tick["at"]), y.left + 14), tick["text"], "middle")
    for tick in data["y"]["ticks"]:
        drawing.line("grid", (x.left, y.at(tick["at"])), (x.right, y.at(tick["at"])))
        drawing.words("faint", (x.left - 5, y.at(tick["at"]) + 4), tick["text"], "end")
    drawing.line("axis", (x.left, y.left), (x.right, y.left))
    drawing.line("axis", (x.left, y.left), (x.left, y.right))
    drawing.words("faint", (x.left, y.left + 30), f"right: {data['x']['title']}; up: {data['y']['title']}".replace(" →", ""))
