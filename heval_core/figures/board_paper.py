"""The board as a table of a paper, in LaTeX with booktabs. All text is escaped, so that nothing from the data is a command."""

from __future__ import annotations

from collections.abc import Sequence

from heval_core.evaluation.board.records import Board
from heval_core.figures.board_table import Cell, Grid
from heval_core.figures.paper_table import NOT_THERE, booktabs, escaped, stacked


def board_latex(board: Board, grid: Grid, snapshot_id: str, said: str = "", shown: str = "", label: str = "board") -> str:
    """The table with caption and label. said: the sentence about it. shown: the filter in words; empty for everything.

    The best method of each column is bold; controls stand below a rule. Intervals stand on a line below their row.
    """
    heads, cells = grid
    lines = {row.key: _row(row.title, cells[row.key]) for row in board.rows}
    blocks = ["".join(lines[key] for key in keys) for keys in (board.methods, board.controls) if keys]
    caption = _caption(board, snapshot_id, said, shown)
    return booktabs(["Explainer", *(stacked(head.title) for head in heads)], blocks, caption, label, snapshot_id, "*")


def _row(title: str, cells: Sequence[Cell]) -> str:
    values = " & ".join(_value(cell) for cell in cells)
    row = f"{escaped(title)} & {values} \\\\\n"
    if not any(cell.interval for cell in cells):
        return row
    intervals = " & ".join(f"{{\\footnotesize {_minus(escaped(cell.interval))}}}" if cell.interval else "" for cell in cells)
    return f"{row} & {intervals} \\\\\n"


def _value(cell: Cell) -> str:
    if cell.value in ("–", ""):
        return NOT_THERE
    text = _minus(escaped(cell.value))
    return f"\\textbf{{{text}}}" if cell.best else text


def _minus(text: str) -> str:
    return text.replace("−", "$-$").replace("–", "--").replace("×", r"$\times$")


def _caption(board: Board, snapshot_id: str, said: str, shown: str) -> str:
    counts = (
        f"{len(own)} {name}{'' if len(own) == 1 else 's'}"
        for own, name in ((board.models, "model"), (board.datasets, "dataset"))
    )
    sentences = [
        f"Explainers over {escaped(' and '.join(counts))}. Questions run from chance (0) to the best possible (1), means over "
        "cells with 95\\,\\% intervals over questions. Won, tied and lost: against each other method, at each question, in "
        "each model and dataset (paired bootstrap, Holm over models and datasets, $p < .05$).",
        "Milliseconds: an explainer by itself, for one prompt of a batch." if board.timed else "",
        "Bold: best method. Below the rule: controls." if board.controls else "Bold: best method.",
        "An asterisk: the row lacks cells, and is not compared." if _lacking(board) else "",
        escaped(said),
        f"Filter: {escaped(shown)}." if shown else "",
        f"HEval snapshot {escaped(snapshot_id)}.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _lacking(board: Board) -> bool:
    return bool((board.values["reason"].ne("") & board.values["value"].notna()).any()) if len(board.values) else False
