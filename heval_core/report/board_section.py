"""The leaderboard as a section: the board with its sentence, and quality against cost as a drawing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from heval_core.evaluation.board.conclusion import conclusion
from heval_core.evaluation.board.costs import costs_shown
from heval_core.evaluation.board.making import board
from heval_core.evaluation.board.records import Board
from heval_core.figures.board_front import front_drawing
from heval_core.figures.board_table import whole_table
from heval_core.report.drawing import Drawing, Scale, legend
from heval_core.report.plans import Plan
from heval_core.report.section import Section
from heval_core.store.reader import Reader

_LEFT, _WIDE, _TALL, _RIGHT, _BOTTOM = 46.0, 520.0, 300.0, 30.0, 44.0


def board_section(results: Reader, plan: Plan) -> Section:
    """The board of everything that is explained under Regular."""
    made = board(results)
    told, front, table = conclusion(made), front_of(made), whole_table(made)
    several = " Answers are those under Regular." if results.choices()["technique"].nunique() > 1 else ""
    rows = made.values.merge(costs_shown(made), on="explainer", how="left")
    figures = () if front is None else (("Quality against cost", front),)
    gaps = told.open if made.rows else ("No explainer ran.",)
    return Section(plan, f"{told.whole} {table.note}{several}", (table,), rows, figures, gaps)


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
