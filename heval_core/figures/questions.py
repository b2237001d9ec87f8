"""The dots of the questions: explainers as rows, questions (or models) as panels, all from chance (0) to the best (1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board, Column
from heval_core.evaluation.ranking import Ranking, ranking
from heval_core.figures.dots import WITH_CELLS, Axis, Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.measured_panels import row_of
from heval_core.figures.palette import in_order
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.present.drawing import Scale
from heval_core.present.names import ALL, Names
from heval_core.present.numbers import interval, number, of_cells

Record = Mapping[Any, Any]
_WORDS = ((0.0, "chance"), (1.0, "best possible"))
# Of the Overview: so many methods are above the fold.
DRAWN = 4
_AXIS = Axis(Scale(-0.06, 1.0), ticks=2)
_NONE = "not available: no cell has enough instances in each group"
# Columns of the headline ▶ those of a board's values.
_AS_BOARD = {
    "value": "native",
    "low": "native_low",
    "high": "native_high",
    "chance": "native_chance",
    "normalised": "value",
    "normalised_low": "low",
    "normalised_high": "high",
}


def by_question(board: Board, names: Names) -> DotFigure:
    """A panel for each question, with a mark for each model."""
    panels = [
        _of_board(board, QUESTIONS[own.question].title, own.measure.headline, own, ALL, names) for own in board.questions
    ]
    several = len(board.methods) <= WITH_CELLS and len(board.models) > 1
    return _figure(board, "The board, by question", panels, names, [("cell", "one model")] if several else [])


def by_model(board: Board, column: Column, names: Names) -> DotFigure:
    """A panel for each model, of one question."""
    panels = [_of_board(board, model, "", column, model, names) for model in board.models_at(column)]
    return _figure(board, f"{column.title}, by model", panels, names, [])


def _figure(board: Board, title: str, panels: Sequence[Panel], names: Names, cells: list[tuple[str, str]]) -> DotFigure:
    rows = _rows(board, names)
    legend = [("dot", "mean with its 95 % interval"), *cells, ("below", "below chance")]
    made = on_one_axis(rows, panels, "high", _WORDS, scaled=True)
    return DotFigure(title, rows, made, legend, "click a mark for its instances")


def _rows(board: Board, names: Names) -> list[Row]:
    return [replace(row_of(own.key, names), title=own.title, control=own.control) for own in board.rows]


def _of_board(board: Board, title: str, hint: str, column: Column, model: str, names: Names) -> Panel:
    values = board.values if model == ALL else board.by_model[board.by_model["model"] == model]
    own = values[values["column"] == column.key]
    single = board.by_model[board.by_model["column"] == column.key].dropna(subset=["value"])
    # One model's mark would be its mean once more.
    single = single if model == ALL and single["model"].nunique() > 1 else single.iloc[:0]
    place = column.title if model == ALL else f"{model} · {column.title}"
    best = board.ranking(column, "" if model == ALL else model).bold
    slots = _slots(_rows(board, names), own, column.measure, (column.key, model), place, best, single)
    n, cells = (int(own[name].max()) if len(own) else 0 for name in ("n", "of"))
    return Panel(title, slots, note=f"n = {n:,} in {of_cells(cells)}", hint=hint, chance=0.0)


def _slots(
    rows: Sequence[Row],
    own: pd.DataFrame,
    measure: Measure,
    id: tuple[str, ...],
    place: str,
    best: Collection[str],
    single: pd.DataFrame | None = None,
    links: Mapping[str, str] = {},  # noqa: B006
) -> tuple[Slot, ...]:
    """own: rows like those of `Board.values`; single: like those of `Board.by_model`. id: behind the explainer's."""
    here = {str(row["explainer"]): row for row in own.to_dict("records")}
    slots = []
    for row in rows:
        found = here.get(row.key)
        if found is None or found["cells"] < found["of"] or pd.isna(found["value"]):
            why = _NONE if found is None else str(found["reason"])
            lacking = () if found is None or pd.isna(found["value"]) else (said(found, measure),)
            slots.append(Slot(missing=Dot(0.0, (row.title, *lacking, why), (row.key, *id))))
            continue
        marks = () if single is None or row.control else single[single["explainer"] == row.key].to_dict("records")
        cells = tuple(
            Dot(
                one["value"],
                (f"{row.title} · {one['model']}", said(one, measure), counted(one)),
                (row.key, *id[:-1], one["model"]),
            )
            for one in marks
        )
        about = (f"{row.title} · {place}", said(found, measure), counted(found))
        link = links.get(row.key, "")
        dot = Dot(found["value"], about, () if link else (row.key, *id), found["low"], found["high"], link=link)
        slots.append(Slot((dot,), cells, number(found["value"]), row.key in best))
    return tuple(slots)


def said(row: Record, measure: Measure, *, scaled: bool = True) -> str:
    """`0.38 [0.37, 0.39] from chance (0) to best (1), that is 18 [18, 19] ranks (chance 0.0)`."""
    native = f"{interval(row['native'], row['native_low'], row['native_high'])} {measure.unit}"
    native += f" (chance {number(row['native_chance'])})"
    return (
        f"{interval(row['value'], row['low'], row['high'])} from chance (0) to best (1), that is {native}"
        if scaled
        else native
    )


def counted(row: Record) -> str:
    return f"mean over {of_cells(row['cells'])}, {int(row['n']):,} instances"


def standings(headline: pd.DataFrame) -> pd.DataFrame:
    """Explainers x questions: normalised values, the best on average first, but after them those that lack a question that
    others have; a question without values is left out."""
    wide = headline.pivot_table(index="explainer", columns="question", values="normalised", dropna=True)
    wide = wide[[question for question in QUESTIONS if question in wide.columns]]
    order = {key: place for place, key in enumerate(in_order(list(wide.index)))}
    best_first = sorted(wide.index, key=lambda key: (wide.loc[key].isna().sum(), -wide.loc[key].mean(), order[key]))
    return wide.loc[best_first]


def rankings(headline: pd.DataFrame, controls: Collection[str]) -> dict[str, Ranking]:
    """Who is best at each question."""
    scaled = headline.assign(chance=0.0)
    of = ("normalised", "normalised_low", "normalised_high")
    return {str(question): ranking(own, controls, of=of) for question, own in scaled.groupby("question")}


def headline_figure(
    headline: pd.DataFrame, names: Names, cells: Callable[[str], str], instances: Callable[[str, str], str]
) -> DotFigure:
    """headline: of one technique. cells: question ▶ link to its cells. instances: explainer, question ▶ link to instances.

    As rows the first methods and all controls, and as panels the questions of which something is known.
    """
    ranked, best = standings(headline), rankings(headline, names.controls)
    values = headline.rename(columns=_AS_BOARD).assign(of=headline["cells"], reason="")
    methods = [key for key in ranked.index if key not in names.controls][:DRAWN]
    rows = [row_of(key, names) for key in (*methods, *(key for key in ranked.index if key in names.controls))]
    panels: list[Panel] = []
    for question in ranked.columns:
        own, title = values[values["question"] == question], QUESTIONS[question].title
        links = {row.key: instances(row.key, question) for row in rows}
        slots = _slots(rows, own, headlines()[question], (question,), title, best[question].bold, links=links)
        words = () if panels else ((0.0, "chance"), (1.0, "best"))
        panels.append(Panel(title, slots, _AXIS, "cell by cell →", "", 0.0, words, cells(question)))
    return DotFigure("Three questions; 0 is chance, 1 is best", rows, panels, bars=True)
