"""Explainers against a text search, as figure and tables of a `HardBoard`: a panel for each column. Columns ask different
things, so that no mean is taken over them. What the last token reads is set apart: it is another question than the source.
"""

import math
from collections.abc import Mapping

import pandas as pd

from heval_core.evaluation.board.hard import ALL, COLUMNS, HardBoard
from heval_core.figures.dots import BOLD, Axis, Dot, DotFigure, DotRow, Panel, Slot
from heval_core.figures.palette import colour
from heval_core.present.drawing import Scale
from heval_core.present.names import Names
from heval_core.present.numbers import interval_of, number, so_many
from heval_core.present.table import IN_BOLD, Fields, Head, Row, Table, TableCell, number_cell

# Stands for all columns together in the id of a row's name.
EVERY = "every"
TITLE = "Explainers against a text search"
# Halves closer than this are one sign, since they would stand on each other.
_NEAR = 0.05
_ASKS = " *"
_MEANINGS = {
    "once": "Prompts with two documents, each with its own answer: how often an explanation names the answer's document.",
    "worded": "The answer stands in several places, and the one that it depends on has more of the question's words.",
    "unworded": "The answer stands in several places, and the question's words do not tell on which it depends.",
    "route": "Another question: of these places, how often an explanation names the one that the last token reads.",
}
# Heads of panels in little room.
_SHORT = {"once": "Stands once", "worded": "Twice, words help", "unworded": "Twice, they do not", "route": "Last token reads"}
_NOTE = (
    "Shares of answers whose place an explanation names, means of two halves, with 95 % intervals over questions; behind them "
    "the halves: where it is the first place / where it is the last. A rule such as “always the first” has 1 in one of them. "
    f"{IN_BOLD} No mean is taken over columns: they ask different things. An asterisk marks controls that ask the model; the "
    "others read text only."
)
VERDICT_TITLES = {
    "one": "depend on one place", "several": "on each of several", "either": "on either, only all together", "none": "on none",
}  # fmt: skip


def source_figure(board: HardBoard, names: Names, *, compact: bool = False) -> DotFigure:
    """Draw a panel for each column, from never (0) to always (1), with chance, and the two halves of each number below it.

    compact: the same without halves.
    """
    rows = []
    for key, title in _titles(board, names).items():
        kind = "" if key not in board.controls else "Asks the model. " if title.endswith(_ASKS) else "Reads text only. "
        hint = kind + names.meaning("explainer", key)
        rows.append(DotRow(key, title, key in board.controls, hint, colour(key), id=(key, EVERY, ALL)))
    panels = [_panel(board, key, {row.key: row.title for row in rows}, compact=compact) for key in COLUMNS]
    chance = next((panel.chance for panel in panels if math.isfinite(panel.chance)), 0.5)
    words = ((chance, "guessing"), (1.0, "always"))
    axis = Axis(Scale(0.0, 1.0), "high", most=2 if compact else 4, words=words[:1] if compact else words)
    if compact:
        return DotFigure(TITLE, rows, panels, axis, compact=True)
    legend = [("dot", "mean of both halves, 95 % interval"), ("halves", "where it is the first place, the last"), BOLD]
    return DotFigure(TITLE, rows, panels, axis, legend, "* asks the model, other controls read text only")


def _titles(board: HardBoard, names: Names) -> dict[str, str]:
    """Name the rows: methods, best first where the question's words do not help; then controls, text only first."""
    order = ("unworded", "worded", "route", "once")
    ranked = [key for column in order for key in board.ranking(column).methods]
    keys = list(dict.fromkeys([*ranked, *board.rows.sort_values("value", ascending=False)["explainer"]]))
    asks = {*board.controls} - {*board.text_only}
    keys.sort(key=lambda key: (key in board.controls, key in asks))
    return {key: names.explainer(key) + (_ASKS if key in asks else "") for key in keys}


def rows_of(board: HardBoard, column: str) -> dict[str, Fields]:
    """Return each explainer's row of a column over all models."""
    rows = board.rows[(board.rows["column"] == column) & (board.rows["model"] == ALL)]
    return {str(row["explainer"]): row for row in rows.to_dict("records")}


def _panel(board: HardBoard, column: str, titles: Mapping[str, str], *, compact: bool) -> Panel:
    known, best, rows = board.numbers(column), board.ranking(column).bold, rows_of(board, column)
    slots = [_slot((key, column, ALL), titles[key], rows.get(key), key in best, compact=compact) for key in titles]
    note, chance = "no number", math.nan
    if len(known):
        questions = "" if compact else f", {so_many(known['questions'].iloc[0], 'question')}"
        note, chance = f"n = {known['n'].iloc[0]:,}{questions}", float(known["chance"].median())
    return Panel(
        _SHORT[column] if compact else COLUMNS[column].title, slots, note, _MEANINGS[column], chance, apart=column == "route"
    )


def _slot(id: tuple[str, str, str], title: str, row: Fields | None, best: bool, *, compact: bool) -> Slot:
    about = (f"{title} · {COLUMNS[id[1]].title}", *in_words(row))
    if row is None or pd.isna(row["value"]):
        return Slot(missing=Dot(0.5, about, id))
    signs = {"1": row["first"], "2": row["last"]}
    if abs(row["first"] - row["last"]) < _NEAR:
        signs = {"1 2": (row["first"] + row["last"]) / 2}
    halves = () if compact else tuple(Dot(value, about, id, sign=sign) for sign, value in signs.items())
    return Slot((Dot(row["value"], about, id, row["low"], row["high"]),), halves, number(row["value"]), best)


def in_words(row: Fields | None) -> tuple[str, ...]:
    """Return `0.58 [0.50, 0.66] (chance 0.50)`, `first place: 1.00 [0.88, 1.00] (28 answers), last …`, `64 answers to 40 …`;
    or why there is no number.
    """
    if row is None or pd.isna(row["value"]):
        return ("not measured here" if row is None else str(row["reason"]),)
    ends = {half: interval_of(row, of=(half, f"{half}_low", f"{half}_high")) for half in ("first", "last")}
    halves = (f"{half} place: {value} ({so_many(row[f'{half}_n'], 'answer')})" for half, value in ends.items())
    value = f"{interval_of(row)} (chance {number(row['chance'])})"
    return value, ", ".join(halves), f"{so_many(row['n'], 'answer')} to {so_many(row['questions'], 'question')}"


def source_table(board: HardBoard, names: Names) -> Table:
    """Return a table of the same numbers, with their halves."""
    titles, heads, columns = _titles(board, names), [], []
    for key, column in COLUMNS.items():
        known, best = board.numbers(key), board.ranking(key).bold
        about = f", n = {known['n'].iloc[0]:,}, chance {number(known['chance'].median())}" if len(known) else ""
        heads.append(Head(f"{column.title}{about}", _MEANINGS[key]))
        rows = rows_of(board, key)
        columns.append({name: _cell(rows.get(name), name in best) for name in titles})
    of_rows = (Row((title,), tuple(cells[key] for cells in columns), key in board.controls) for key, title in titles.items())
    return Table(TITLE, ("Explainer",), tuple(heads), tuple(of_rows), _NOTE, "source", wide=True)


def _cell(row: Fields | None, best: bool) -> TableCell:
    about = "; ".join(in_words(row))
    if row is None or pd.isna(row["value"]):
        return TableCell(why=about)
    return number_cell(row, beside=f"{number(row['first'])} / {number(row['last'])}", why=about, best=best)


def verdict_table(verdicts: pd.DataFrame, names: Names) -> Table:
    """Count what answers depend on, by model and data set. verdicts: of `Reader.source_verdicts`."""
    titled = verdicts.assign(dataset=verdicts["dataset"].map(names.dataset), source=verdicts["source"].map(VERDICT_TITLES))
    counts = titled.pivot_table("n", ["model", "dataset"], "source", "sum", fill_value=0)
    return Table.of(
        counts[[title for title in VERDICT_TITLES.values() if title in counts]].reset_index(), "What answers depend on"
    )
