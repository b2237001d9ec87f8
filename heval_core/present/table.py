"""Tables: heads over rows of cells, written as HTML (pages and report), as LaTeX, as text, or as a frame of what is written.

Nothing from data is markup or a command: HTML is a template, and LaTeX is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from heval_core.present.html import render
from heval_core.present.numbers import (
    COUNT,
    EXACT,
    MINUS,
    MISSING,
    PERCENT_EXACT,
    SCORE,
    SHARE,
    THREE_DIGITS,
    VALUE,
    Format,
    brackets,
    decimals,
    number,
)
from heval_core.records.vocabulary import BY_CONSTRUCTION

# Which cells are bold, everywhere: see `evaluation.ranking`.
IN_BOLD = "Bold: the best, and all on its side of chance that it is not ahead of (paired, Holm, p < .05)."
# Columns of values with their intervals beside them that a page of a paper has room for.
BESIDE = 3
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", MINUS: "$-$", "–": "--", "×": r"$\times$", "▶": r"$\rightarrow$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}  # fmt: skip
# A row of a frame.
Fields = Mapping[Any, Any]


@dataclass(frozen=True)
class TableCell:
    """What stands at one place: a number with its interval, in its unit; or a text, by default the dash of what is missing.

    mark: right behind it, such as an asterisk. chance, beside: in small. why: said where one points at it. best: in bold.
    tint: how strongly it is coloured, in percent; None where nothing is.
    """

    text: str = MISSING
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: Format = SCORE
    chance: float | None = None
    mark: str = ""
    beside: str = ""
    why: str = ""
    best: bool = False
    tint: int | None = None

    @property
    def main(self) -> str:
        return (self.text if self.value is None else number(self.value, self.unit)) + self.mark

    @property
    def small(self) -> str:
        chance = "" if self.chance is None else f"chance {number(self.chance, self.unit)}"
        return " ".join(filter(None, (brackets(self.low, self.high, self.unit), chance, self.beside)))

    @property
    def whole(self) -> str:
        return f"{self.main} {self.small}".strip()

    @property
    def plain(self) -> Any:
        """A count as a number, anything else as it is written."""
        return int(self.value) if self.value is not None and self.unit == COUNT else self.whole


@dataclass(frozen=True)
class Head:
    """meaning: said where one points at it. colour: of a bar below the title. left: whether its cells are text."""

    title: str
    meaning: str = ""
    colour: str = ""
    left: bool = False


@dataclass(frozen=True)
class Row:
    """titles: one for each key of the table. note: in small behind the last of them. control: set apart from the methods."""

    titles: tuple[str, ...]
    cells: tuple[TableCell, ...]
    control: bool = False
    note: str = ""

    @property
    def notes(self) -> str:
        return ", ".join(filter(None, ("control" if self.control else "", self.note)))


@dataclass(frozen=True)
class Table:
    """keys: the heads of the rows' titles. note: how to read it, in sentences. label: of LaTeX; empty for a plain tabular.

    wide: whether it takes both columns of a paper's page.
    """

    title: str
    keys: tuple[str, ...]
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    note: str = ""
    label: str = ""
    wide: bool = False

    @property
    def tinted(self) -> bool:
        return any(cell.tint is not None for row in self.rows for cell in row.cells)

    @classmethod
    def of(cls, lines: pd.DataFrame | Iterable[Fields], title: str = "") -> Table:
        """Return every column as it is; lists as text.

        The columns of text before the first one of numbers are the rows' titles.
        """
        frame = pd.DataFrame(lines)
        cells = {str(name): [_cell(value) for value in frame[name]] for name in frame.columns}
        numeric = {name: all(one.value is not None or one.text == MISSING for one in column) for name, column in cells.items()}
        first = next((index for index, name in enumerate(cells) if numeric[name]), len(cells))
        names, keys = list(cells), max(1, first)
        heads = tuple(Head(name, left=not numeric[name]) for name in names[keys:])
        of_rows = zip(*cells.values(), strict=True)
        rows = tuple(Row(tuple(cell.whole for cell in line[:keys]), tuple(line[keys:])) for line in of_rows)
        return cls(title, tuple(names[:keys]), heads, rows)

    def exact(self, unit: Format | None = None) -> Table:
        """Return scores in another unit, by default with three digits of the largest; shares in percent with a decimal."""
        if unit is None:
            cells = (cell for row in self.rows if not row.control for cell in row.cells if cell.unit == SCORE)
            largest = max((abs(cell.value) for cell in cells if cell.value is not None), default=0.0)
            unit = decimals(3 if largest < 2 else 2 if largest < 10 else 1)
        units = {SCORE: unit, SHARE: PERCENT_EXACT}

        def turned(row: Row) -> Row:
            return replace(row, cells=tuple(replace(cell, unit=units.get(cell.unit, cell.unit)) for cell in row.cells))

        return replace(self, rows=tuple(map(turned, self.rows)))

    def html(self, *, style: bool = True) -> str:
        """Return the table as HTML. style: with its stylesheet, which a file of several tables needs once."""
        return render("table.html", table=self, style=style)

    def frame(self) -> pd.DataFrame:
        """Return the table as it is written; counts are numbers, and controls named so."""
        names = [*self.keys, *(head.title for head in self.heads)]
        lines = [
            [*row.titles[:-1], row.titles[-1] + (" (control)" if row.control else ""), *(cell.plain for cell in row.cells)]
            for row in self.rows
        ]
        return pd.DataFrame(lines, columns=names)

    def text(self) -> str:
        """Return the table for a terminal: a line a row, controls below a rule."""
        lines = [[*self.keys, *(head.title for head in self.heads)]]
        lines += [[*row.titles, *(cell.whole for cell in row.cells)] for row in self.rows]
        sides = [str.ljust for _ in self.keys] + [str.ljust if head.left else str.rjust for head in self.heads]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        first, *texts = (
            "  ".join(side(text, width) for side, text, width in zip(sides, line, widths, strict=True)).rstrip()
            for line in lines
        )
        rule = "-" * len(first)
        return "\n".join([first, *(line for block in self._blocks(texts) for line in (rule, *block))])

    def _blocks(self, lines: Sequence[str]) -> list[list[str]]:
        """Return the lines of its rows: of methods, then of controls; none of these blocks is empty."""
        blocks = ([line for line, row in zip(lines, self.rows, strict=True) if row.control is last] for last in (False, True))
        return [block for block in blocks if block]

    def latex(self, snapshot_id: str, *about: str) -> str:
        """Return the table in LaTeX with booktabs; controls stand below a rule.

        about: sentences behind the note; comments where there is no label.
        """
        heads = [*map(escaped, self.keys), *(_stacked(head.title) for head in self.heads)]
        columns = "l" * len(self.keys) + "".join("l" if head.left else "c" for head in self.heads)
        body = "\\midrule\n".join("".join(block) for block in self._blocks([_line(row) for row in self.rows]))
        head = f"\\toprule\n{' & '.join(heads)} \\\\\n\\midrule\n"
        table = f"\\begin{{tabular}}{{{columns}}}\n{head}{body}\\bottomrule\n\\end{{tabular}}\n"
        start = f"% HEval, snapshot {escaped(snapshot_id)}; needs \\usepackage{{booktabs}}\n"
        if not self.label:
            return start + "".join(f"% {' '.join(sentence.split())}\n" for sentence in about) + table
        sentences = [f"{self.title}." if self.title else "", self.note, *about, f"HEval snapshot {snapshot_id}."]
        caption, star = escaped(" ".join(filter(None, sentences))), "*" if self.wide else ""
        return (
            f"{start}\\begin{{table{star}}}\n\\centering\n\\caption{{{caption}}}\n\\label{{tab:heval-{self.label}}}\n{table}"
            f"\\end{{table{star}}}\n"
        )


def escaped(text: object) -> str:
    """Write text without a command of LaTeX, on one line."""
    return "".join(_LATEX.get(character, character) for character in " ".join(str(text).split()))


def number_cell(row: Fields | None, unit: Format = SCORE, of: Sequence[str] = VALUE, **more: Any) -> TableCell:
    """Return a row's number with its interval; of a missing one the reason.

    of: the names of these three. more: fields of a cell.
    """
    if row is None or pd.isna(row[of[0]]):
        return TableCell(why=reason(row))
    value, low, high = (None if pd.isna(row[name]) else float(row[name]) for name in of)
    sure = {"beside": BY_CONSTRUCTION} if row.get("interval") == BY_CONSTRUCTION else {}
    return TableCell(value=value, low=low, high=high, unit=unit, **sure | more)


def reason(row: Fields | None) -> str:
    """Return why a row has no number."""
    why = None if row is None else row.get("unavailable")
    return "not measured here" if why is None or pd.isna(why) else str(why)


def value_cell(value: Any, unit: Format = SCORE) -> TableCell:
    """Return a number by itself, which may be missing."""
    return TableCell() if value is None or pd.isna(value) else TableCell(value=float(value), unit=unit)


def counted(count: Any) -> TableCell:
    return value_cell(count, COUNT)


def crossed(frame: pd.DataFrame, down: Sequence[str], across: str) -> dict[tuple[Any, ...], dict[str, Fields]]:
    """Return the rows of a frame by the values of some columns, then by that of another; in its order."""
    by_place: dict[tuple[Any, ...], dict[str, Fields]] = {}
    for row in frame.to_dict("records"):
        by_place.setdefault(tuple(row[name] for name in down), {})[row[across]] = row
    return by_place


def _cell(value: Any) -> TableCell:
    if isinstance(value, TableCell):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return TableCell(", ".join(map(str, value)))
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return TableCell()
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return TableCell(str(value))
    if isinstance(value, int | np.integer):
        return counted(value)
    return value_cell(value, THREE_DIGITS if 0 < abs(float(value)) < 1e-3 else EXACT)


def _line(row: Row) -> str:
    """Write values with their intervals: beside them, or on a line below where there are many."""
    note = f" {{\\footnotesize {escaped(row.note)}}}" if row.note else ""
    values = [f"\\textbf{{{escaped(cell.main)}}}" if cell.best else escaped(cell.main) for cell in row.cells]
    smalls = [f"{{\\footnotesize {escaped(cell.small)}}}" if cell.small else "" for cell in row.cells]
    titles = " & ".join(map(escaped, row.titles)) + note
    if len(values) <= BESIDE or not any(smalls):
        beside = (f"{value} {small}".strip() for value, small in zip(values, smalls, strict=True))
        return " & ".join([titles, *beside]) + " \\\\\n"
    below = " & ".join([*("" for _ in row.titles), *smalls])
    return " & ".join([titles, *values]) + f" \\\\\n{below} \\\\\n"


def _stacked(title: str) -> str:
    """Write a title in a line for each of its words behind a comma."""
    lines = [escaped(part) for part in title.split(", ")]
    below = r", \\ ".join(lines)
    return f"\\shortstack{{{below}}}" if len(lines) > 1 else below
