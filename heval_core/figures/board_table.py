"""The board as tables of cells: on the page, and as text for a terminal. `board_paper` has the table of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heval_core.evaluation.board.columns import column_groups
from heval_core.evaluation.board.pairs import against, tallies
from heval_core.evaluation.board.records import EVERY_SIZE, Board, Column
from heval_core.figures.board_dots import counted, said
from heval_core.html import render
from heval_core.metrics.shared.measure import QUESTION_PROTECTED
from heval_core.present.numbers import COST, number, passes

NOT_PROTECTED = "The question may be taken out too: this rewards pointing at the prompt's end, see the position control."
PROTECTED = "Only tokens of the documents are taken out, with the question protected."

TIMES = "Milliseconds for one prompt of a batch, of an explainer by itself; in brackets, how often what fa took beside it."


@dataclass(frozen=True)
class Cell:
    value: str
    interval: str = ""
    why: str = ""
    best: bool = False


@dataclass(frozen=True)
class Head:
    title: str
    hint: str


Grid = tuple[list[Head], dict[str, list[Cell]]]
NOTHING = Cell("–", why="not available")


def main_grid(board: Board) -> Grid:
    """The three questions, their mean, wins over other methods, faithfulness, and what it costs at each size of prompt."""
    plain = [column for column in board.columns if column.plain]
    asked = [_of_column(board, column) for column in plain if column.scaled]
    faithful = [_of_column(board, column) for column in plain if not column.scaled]
    return _side_by_side(board, [*asked, _quality(board), _wins(board), *faithful, *_costs(board)])


def harder_grid(board: Board) -> Grid:
    """The questions under decoys and at the longest length; without columns where there are none."""
    groups = column_groups([column for column in board.columns if not column.plain])
    return _side_by_side(board, [_of_column(board, column) for columns in groups.values() for column in columns])


def by_model_grid(board: Board, column: Column) -> Grid:
    """One question in each model."""
    parts = []
    for model in board.models_at(column):
        values = board.by_model[board.by_model["model"] == model]
        head, cells = _of_column(board, column, values)
        parts.append((Head(model, head.hint), cells))
    return _side_by_side(
        board, [*parts, (Head("all models", "The mean over all cells that count"), _of_column(board, column)[1])]
    )


def pairs_grid(board: Board, column: str | None) -> Grid:
    """Wins, ties and losses of the row against the head. column: the key of a question; None for all of them together."""
    pairs = board.pairs if column is None else board.pairs[board.pairs["column"] == column]
    heads = [Head(row.title, f"The row against {row.title}: wins – ties – losses") for row in board.rows]
    counts = tallies(pairs)
    cells = {row.key: [_pair(counts.get((row.key, other.key)), row is other) for other in board.rows] for row in board.rows}
    return heads, cells


def _pair(counts: Mapping[str, float] | None, same: bool) -> Cell:
    if counts is None:
        return Cell("") if same else NOTHING
    mean = f"mean difference {number(counts['mean difference'])}, in {counts['compared']} comparisons"
    return Cell(_score(counts), why=mean, best=counts["wins"] == counts["compared"])


def _score(counts: Mapping[str, float]) -> str:
    return f"{counts['wins']}–{counts['ties']}–{counts['losses']}"


_Part = tuple[Head, dict[str, Cell]]


def _side_by_side(board: Board, parts: Sequence[_Part]) -> Grid:
    heads = [head for head, _ in parts]
    return heads, {row.key: [cells.get(row.key, NOTHING) for _, cells in parts] for row in board.rows}


def _of_column(board: Board, column: Column, values: pd.DataFrame | None = None) -> _Part:
    values = board.values if values is None else values
    own = values[values["column"] == column.key]
    whole = own[(own["cells"] == own["of"]) & own["explainer"].isin(list(board.methods))]
    ends = {"high": whole["value"].max(), "low": whole["value"].min()}
    best = ends.get(column.measure.best) if len(whole) > 1 else None
    hint = f"{column.measure.headline or column.measure.title}: {column.measure.meaning}"
    if not column.scaled and not _protected(column):
        hint = f"{hint} {NOT_PROTECTED}"
    cells = {}
    for row in own.to_dict("records"):
        if pd.isna(row["value"]):
            cells[row["explainer"]] = Cell("–", why=str(row["reason"]))
            continue
        about = f"{said(row, column)}; {counted(row)}" + (f"; {row['reason']}" if row["reason"] else "")
        value = number(row["value"]) + ("*" if row["reason"] else "")
        ends_of = f"[{number(row['low'])}, {number(row['high'])}]"
        cells[row["explainer"]] = Cell(value, ends_of, about, row["value"] == best and row["explainer"] in board.methods)
    return Head(heading(column), hint), cells


def _protected(column: Column) -> bool:
    return column.measure.switch == QUESTION_PROTECTED


def of_faithfulness(board: Board) -> str:
    """What its faithfulness takes out; empty for a board without it."""
    own = [column for column in board.columns if not column.scaled]
    return "" if not own else f"*Faithfulness*: {PROTECTED if all(map(_protected, own)) else NOT_PROTECTED}"


def heading(column: Column) -> str:
    """A column's title, with its unit where it has one of its own."""
    return column.title if column.scaled else f"{column.title}, {column.measure.unit}"


def _quality(board: Board) -> _Part:
    methods = board.quality[board.quality["explainer"].isin(list(board.methods))]
    best = methods["value"].max() if len(methods) > 1 else None
    cells = {
        str(row.explainer): Cell(
            number(row.value),
            f"[{number(row.low)}, {number(row.high)}]",
            "",
            row.value == best and row.explainer in board.methods,
        )
        for row in board.quality.itertuples()
    }
    return Head("mean", "Of the questions in this table, from chance (0) to best (1)"), cells


def _wins(board: Board) -> _Part:
    rivals = board.pairs["second"].isin(list(board.methods)) & board.pairs["first"].isin(list(board.methods))
    cells = {}
    for row in board.rows if rivals.any() else ():
        both = against(board.pairs, row.key)
        both = both[both["second"].isin(list(board.methods))]
        if len(both):
            wins, ties = (int((both["better"] == own).sum()) for own in (row.key, ""))
            score = {"wins": wins, "ties": ties, "losses": len(both) - wins - ties}
            cells[row.key] = Cell(_score(score), why=f"of {len(both)} comparisons with methods")
    about = "Against each other method, at each question, in each model and dataset: wins – ties – losses (Holm, p < .05)"
    return Head("won – tied – lost", about), cells


def _costs(board: Board) -> list[_Part]:
    """Passes at each size of prompt, and milliseconds where explainers were timed by themselves."""
    parts: list[_Part] = []
    for size, own in board.costs[board.costs["size"] != EVERY_SIZE].groupby("size"):
        tokens = f"{own['tokens'].median():,.0f} tokens"
        cells = {
            str(row.explainer): Cell(
                number(row.whole_passes, COST),
                why=f"together as long as {passes(row.whole_passes)} over all of it; {passes(row.passes)} declared",
            )
            for row in own.itertuples()
            if not pd.isna(row.passes)
        }
        about = f"Forward passes over a prompt of {tokens} (size {size}), counted or else declared; a backward pass is one"
        parts.append((Head(f"passes, {tokens}", about), cells))
        timed = own.dropna(subset=["seconds"])
        if len(timed):
            about = f"{TIMES} Of prompts of about {tokens}."
            parts.append((Head(f"ms, {tokens}", about), {str(row.explainer): _of_time(row) for row in timed.itertuples()}))
    return parts


def _of_time(row: Any) -> Cell:
    return Cell(number(1000 * row.seconds, COST), f"({number(row.ratio, COST)} × fa)", "all passes that it uses are in it")


def as_html(board: Board, grid: Grid, caption: str, corner: str = "Explainer") -> str:
    heads, cells = grid
    rows = [
        {
            "title": row.title,
            "note": "control" if row.control else "",
            "control": row.control,
            "cells": [
                {"value": cell.value, "interval": cell.interval, "best": cell.best, "why": cell.why} for cell in cells[row.key]
            ],
        }
        for row in board.rows
    ]
    return render(
        "numbers.html",
        first=corner,
        caption=caption,
        heads=[{"title": own.title, "hint": own.hint} for own in heads],
        rows=rows,
    )


def as_text(board: Board, grid: Grid) -> str:
    """For a terminal: a line a row, value and interval together, controls below a rule."""
    heads, cells = grid
    table = [["", *(head.title for head in heads)]]
    table += [[row.title, *(f"{cell.value} {cell.interval}".strip() for cell in cells[row.key])] for row in board.rows]
    widths = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
    lines = [
        "  ".join(
            text.ljust(width) if not place else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    ]
    methods = len(board.methods)
    rule = "-" * len(lines[0])
    return "\n".join(
        [lines[0].rstrip(), rule, *lines[1 : 1 + methods], *([rule] if board.controls else []), *lines[1 + methods :]]
    )
