"""The board as dots: explainers as rows, from chance (0) to the best possible (1); as panels the questions, or one question's
prompts: plain, with each decoy, at length. The Leaderboard and the Overview draw the same figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board, Column
from heval_core.figures.dots import THIN, Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.palette import colour
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.present.names import ALL, Names
from heval_core.present.numbers import interval, number, of_cells
from heval_core.words import DECOYS

Record = Mapping[Any, Any]
# Stands for all questions together in the id of a mark.
ALL_QUESTIONS = "quality"
_WORDS = ((0.0, "guessing"), (1.0, "best"))
_COMPACT = 20.4
# Heads of panels; what each does to the prompt is their hint.
_DECOYS = {"d0": "neutral sentence", "d1": "both answers named", "d2": "answer three times", "d3": "another name"}


def by_question(board: Board, names: Names, *, compact: bool = False) -> DotFigure:
    """A panel for each question, with a tick for each model. compact: the same without ranks, means and ticks."""
    panels = [_panel(board, column, QUESTIONS[column.question].title, column.measure.headline, ticks=not compact)
              for column in board.questions]  # fmt: skip
    return _figure(board, "Explainers by question", panels, _rows(board, names, ranked=not compact), compact=compact)


def by_prompts(board: Board, question: str, names: Names) -> DotFigure:
    """A panel for each kind of prompts that one question was asked of: plain, with each decoy, at the longest length."""
    columns = [column for column in board.columns if column.question == question and column.scaled]
    panels = []
    for column in sorted(columns, key=lambda own: (not own.plain, bool(own.length))):
        hint = DECOYS[column.decoy].meaning if column.decoy else column.prompts
        title = _DECOYS[column.decoy] if column.decoy else column.prompts or "as they are"
        panels.append(_panel(board, column, title, hint, ticks=True))
    return _figure(board, f"{QUESTIONS[question].title} By kind of prompt", panels, _rows(board, names, ranked=False))


def _figure(board: Board, title: str, panels: Sequence[Panel], rows: Sequence[Row], *, compact: bool = False) -> DotFigure:
    several = not compact and len(board.models) > 1
    legend = [("dot", "mean, 95 % interval"), *([("cell", "one model")] if several else [])]
    legend += [("rank", "intervals of the mean overlap: same rank")] if any("–" in row.rank for row in rows) else []
    made = on_one_axis(rows, panels, "high", _WORDS, scaled=True)
    return DotFigure(title, rows, made, () if compact else legend, thin=_COMPACT if compact else THIN)


def _rows(board: Board, names: Names, *, ranked: bool) -> list[Row]:
    overall = board.overall
    ranks, means = overall.ranks(), board.quality.set_index("explainer")["value"].to_dict()
    rows = []
    for own in board.rows:
        hint, id = names.meaning("explainer", own.key), (own.key, ALL_QUESTIONS, ALL)
        row = Row(own.key, own.title, own.control, hint, colour(own.key), id=id)
        mean, best = number(means.get(own.key)), own.key in overall.bold
        rows.append(replace(row, rank=ranks.get(own.key, ""), mean=mean, best=best) if ranked else row)
    return rows


def _panel(board: Board, column: Column, title: str, hint: str, *, ticks: bool) -> Panel:
    own = board.values[board.values["column"] == column.key]
    single = board.by_model[board.by_model["column"] == column.key].dropna(subset=["value"])
    # One model's tick would be its mean once more.
    single = single if ticks and single["model"].nunique() > 1 else single.iloc[:0]
    best, here = board.ranking(column).bold, {str(row["explainer"]): row for row in own.to_dict("records")}
    slots = [_slot(row.key, row.title, column, here.get(row.key), single, row.key in best) for row in board.rows]
    return Panel(title, tuple(slots), note=f"n = {int(own['n'].max()) if len(own) else 0:,}", hint=hint, chance=0.0)


def _slot(key: str, title: str, column: Column, found: Record | None, single: pd.DataFrame, best: bool) -> Slot:
    """found: the row of `Board.values`. single: rows of `Board.by_model`, of all explainers."""
    if found is None or found["cells"] < found["of"] or pd.isna(found["value"]):
        why = "not available" if found is None else str(found["reason"])
        lacking = () if found is None or pd.isna(found["value"]) else (said(found, column.measure),)
        return Slot(missing=Dot(0.0, (title, *lacking, why), (key, column.key, ALL)))
    cells = tuple(
        Dot(
            one["value"],
            (f"{title} · {one['model']}", said(one, column.measure), counted(one)),
            (key, column.key, one["model"]),
        )
        for one in single[single["explainer"] == key].to_dict("records")
    )
    about = (f"{title} · {column.title}", said(found, column.measure), counted(found))
    dot = Dot(found["value"], about, (key, column.key, ALL), found["low"], found["high"])
    return Slot((dot,), cells, number(found["value"]), best)


def said(row: Record, measure: Measure, *, scaled: bool = True) -> str:
    """`0.38 [0.37, 0.39] of 1 (0 = guessing), that is 18 [18, 19] ranks (chance 0.0)`."""
    native = f"{interval(row['native'], row['native_low'], row['native_high'])} {measure.unit}"
    native += f" (chance {number(row['native_chance'])})"
    own = interval(row["value"], row["low"], row["high"])
    return f"{own} of 1 (0 = guessing), that is {native}" if scaled else native


def counted(row: Record) -> str:
    return f"mean over {of_cells(row['cells'])}, {int(row['n']):,} instances"
