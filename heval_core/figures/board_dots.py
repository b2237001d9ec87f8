"""The board's dots: explainers as rows, questions (or models) as panels, all from chance (0) to the best possible (1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board, Column
from heval_core.figures.dots import WITH_CELLS, Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.palette import colour
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.numbers import interval, number

# Stands for all models together in the id of a mark.
EVERY_MODEL = "*"
Record = Mapping[Any, Any]
_WORDS = ((0.0, "chance"), (1.0, "best possible"))


def by_question(board: Board, hints: Mapping[str, str]) -> DotFigure:
    """A panel for each question, with a mark for each model. hints: explainer ▶ what it is."""
    panels = [_panel(board, QUESTIONS[own.question].title, own.measure.headline, own, EVERY_MODEL) for own in board.questions]
    several = len(board.methods) <= WITH_CELLS and len(board.models) > 1
    return _figure(board, "The board, by question", panels, hints, [("cell", "one model")] if several else [])


def by_model(board: Board, column: Column, hints: Mapping[str, str]) -> DotFigure:
    """A panel for each model, of one question."""
    panels = [_panel(board, model, "", column, model) for model in board.models_at(column)]
    return _figure(board, f"{column.title}, by model", panels, hints, [])


def _figure(
    board: Board, title: str, panels: Sequence[Panel], hints: Mapping[str, str], cells: list[tuple[str, str]]
) -> DotFigure:
    rows = [Row(row.key, row.title, row.control, hints.get(row.key, ""), colour(row.key)) for row in board.rows]
    legend = [("dot", "mean with its 95 % interval"), *cells, ("below", "below chance")]
    made = on_one_axis(rows, panels, "high", _WORDS, scaled=True)
    return DotFigure(title, rows, made, legend, "click a mark for its instances")


def _panel(board: Board, title: str, hint: str, column: Column, model: str) -> Panel:
    values = board.values if model == EVERY_MODEL else board.by_model[board.by_model["model"] == model]
    own = values[values["column"] == column.key]
    here = {str(row["explainer"]): row for row in own.to_dict("records")}
    of_models: dict[str, list[Record]] = {}
    for row in board.by_model[board.by_model["column"] == column.key].to_dict("records") if model == EVERY_MODEL else ():
        of_models.setdefault(str(row["explainer"]), []).append(row)
    best = board.ranking(column, "" if model == EVERY_MODEL else model).bold
    slots = tuple(
        _slot(board, row.key, here.get(row.key), of_models.get(row.key, []), column, model, best) for row in board.rows
    )
    n, cells = (int(own[name].max()) if len(own) else 0 for name in ("n", "of"))
    note = f"n = {n:,} in {cells} cell{'' if cells == 1 else 's'}"
    return Panel(title, slots, note=note, hint=hint, chance=0.0)


def _slot(
    board: Board, key: str, row: Record | None, models: Sequence[Record], column: Column, model: str, best: Sequence[str]
) -> Slot:
    title, id = board.titles[key], (key, column.key, model)
    if row is None or row["cells"] < row["of"] or pd.isna(row["value"]):
        why = "not run here" if row is None else str(row["reason"])
        lacking = () if row is None or pd.isna(row["value"]) else (said(row, column),)
        return Slot(missing=Dot(0.0, (title, *lacking, why), id))
    about = (f"{title} · {_place(model, column)}", said(row, column), counted(row))
    single = tuple(
        Dot(own["value"], (f"{title} · {own['model']}", said(own, column), counted(own)), (*id[:2], str(own["model"])))
        for own in models
        if len(models) > 1 and key in board.methods and not pd.isna(own["value"])
    )
    return Slot((Dot(row["value"], about, id, row["low"], row["high"]),), single, number(row["value"]), key in best)


def _place(model: str, column: Column) -> str:
    return column.title if model == EVERY_MODEL else f"{model} · {column.title}"


def said(row: Record, column: Column) -> str:
    """`0.38 [0.37, 0.39] of the way from chance to the best possible, that is 18 [18, 19] ranks (chance 0.0)`."""
    native = f"{interval(row['native'], row['native_low'], row['native_high'])} {column.measure.unit}"
    of_chance = f" (chance {number(row['native_chance'])})"
    if not column.scaled:
        return native + of_chance
    return f"{interval(row['value'], row['low'], row['high'])} from chance (0) to best (1), that is {native}{of_chance}"


def counted(row: Record) -> str:
    cells = int(row["cells"])
    return f"mean over {cells} cell{'' if cells == 1 else 's'}, {int(row['n']):,} instances"
