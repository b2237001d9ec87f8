"""The dot figure of pages and report: rows of dots with intervals, in panels side by side, against chance.

A row is an explainer, a technique or an annotator; controls stand in a band below. `dots_drawn.py` draws it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from heval_core.present.drawing import Scale, wrapped
from heval_core.present.numbers import short

CONTROL, GAP, FOOT = 18.0, 8.0, 36.0
# Left of a row's name: its rank with a bracket round those that share it; right of it: the mean of its panels.
RANK, MEAN = 46.0, 44.0
# Of what runs from guessing, 0, to the best, 1: how far below 0 an axis goes; what lies beyond is an arrow.
_LOWEST = -0.4
# How far an interval far wider than most may stretch an axis, in spans of its values; it is cut there, with an arrow.
_FURTHEST = 0.5


# What a bold number says, in a legend: see `evaluation.ranking`.
BOLD = ("bold", "not shown to be below the highest method")


@dataclass(frozen=True)
class Dot:
    """A number on the axis. title: what is said of it. id: what a click on it is of. sign: stands in it. hue: its own."""

    value: float
    title: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    low: float = math.nan
    high: float = math.nan
    chance: float = math.nan
    hollow: bool = False
    sign: str = ""
    hue: str = ""


@dataclass(frozen=True)
class Slot:
    """One row in one panel. cells: single ones, as ticks or signs below those of methods. text: the number beside its dots.
    missing: a ring in place of dots, with the reason in its title."""

    dots: tuple[Dot, ...] = ()
    cells: tuple[Dot, ...] = ()
    text: str = ""
    best: bool = False
    missing: Dot | None = None


@dataclass(frozen=True)
class DotRow:
    """hint: what it is, in a sentence. hue: of its dots; without one they are ink, and hollow where that says something.
    shape: of OUTLINES, before its title. strong: whether that is filled. note: below it. rank, mean: as they are written.
    best: whether its mean is bold. id: what a click on its name is of."""

    key: str
    title: str
    control: bool = False
    hint: str = ""
    hue: str = ""
    shape: str = ""
    strong: bool = False
    note: str = ""
    rank: str = ""
    mean: str = ""
    best: bool = False
    id: tuple[str, ...] = ()


class Panel(NamedTuple):
    """slots: one for each row. note: under the title. hint: what the title means. chance: of dots without their own. apart:
    whether a line sets it apart from those before it."""

    title: str
    slots: Sequence[Slot]
    note: str = ""
    hint: str = ""
    chance: float = math.nan
    apart: bool = False


class Axis(NamedTuple):
    """What all panels share. better: which end is good, `high`, `low`, or neither. text: how ticks are written. most: of
    these. words: (value, text) under that of the first panel."""

    scale: Scale = Scale(0.0, 1.0)
    better: str = ""
    text: Callable[[float], str] = short
    most: int = 5
    words: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class DotFigure:
    """legend: (sign, text), without controls and what is missing. hint: what a click does. compact: in little room."""

    title: str
    rows: Sequence[DotRow]
    panels: Sequence[Panel]
    axis: Axis = Axis()
    legend: Sequence[tuple[str, str]] = ()
    hint: str = ""
    compact: bool = False

    @property
    def signs(self) -> list[tuple[str, str]]:
        """The whole legend."""
        missing = any(slot.missing for panel in self.panels for slot in panel.slots)
        best = any(slot.best for panel in self.panels for slot in panel.slots)
        legend = [item for item in self.legend if best or item != BOLD]
        controls = [("control", "control")] if any(row.control for row in self.rows) else []
        return [*legend, *controls, *([("missing", "not available")] if missing else [])] if self.legend else []

    @cached_property
    def lines(self) -> list[tuple[DotRow, float, float]]:
        """Each row with its top, below the panels' heads, and its height."""
        lines, top = [], self.head + 2.0
        for index, row in enumerate(self.rows):
            top += GAP if index and row.control and not self.rows[index - 1].control else 0.0
            height = CONTROL if row.control else 36.0 if row.note else 20.4 if self.compact else 25.0
            lines.append((row, top, height))
            top += height
        return lines

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return sum(self.lines[-1][1:]) + 2 if self.lines else self.head

    @property
    def least(self) -> float:
        """Pixels that a panel needs."""
        count = len(self.panels)
        wide = 112.0 if count > 6 else 136.0 if count > 4 or self.names_at else 176.0
        return (106.0 if count < 4 else 74.0) if self.compact else wide

    @property
    def gap(self) -> float:
        """Pixels between two panels."""
        return 18.0 if self.compact else 24.0

    @property
    def letters(self) -> int:
        """That a panel's head has room for in a line."""
        if self.compact:
            return 13 if len(self.panels) < 4 else 11
        return {1: 90, 2: 40, 3: 32, 4: 26, 5: 20, 6: 20}.get(len(self.panels), 14)

    @property
    def head(self) -> float:
        """The height of the panels' titles and notes."""
        lines = max((len(wrapped(panel.title, self.letters)) for panel in self.panels), default=0)
        return 18.0 * lines + 17.0 * any(panel.note for panel in self.panels) + 9

    @property
    def names_at(self) -> float:
        """Where the rows' names begin."""
        return RANK if any(row.rank for row in self.rows) else 0.0

    @property
    def icon(self) -> float:
        return 24.0 if any(row.shape for row in self.rows) else 0.0

    @property
    def mean(self) -> float:
        return MEAN if any(row.mean for row in self.rows) else 0.0

    @property
    def side(self) -> float:
        """The width of the rows' names, and of what stands beside them."""
        longest = max((len(row.title) for row in self.rows), default=0) * 6.3 + 10 + self.icon
        most = 162.0 if self.compact else 180.0 if len(self.panels) > 3 or self.names_at else 320.0
        return self.names_at + self.mean + min(max(96.0, longest), most)


def axis_over(
    rows: Sequence[DotRow],
    panels: Sequence[Panel],
    better: str = "",
    words: Sequence[tuple[float, str]] = (),
    *,
    scaled: bool = False,
) -> Axis:
    """Return an axis for the dots of all methods; controls may lie beyond it, and count only where there is nothing else.

    scaled: from chance, 0, to the best possible, 1.
    """
    pairs = [pair for panel in panels for pair in zip(rows, panel.slots, strict=True)]
    every = [(row, dot) for row, slot in pairs for dot in (*slot.dots, *slot.cells)]
    dots = [dot for row, dot in every if not row.control] or [dot for _, dot in every]
    values = [value for dot in dots for value in (dot.value, dot.chance) if math.isfinite(value)] or [0.0, 1.0]
    ends = [end for dot in dots for end in (dot.low, dot.high) if math.isfinite(end)]
    if scaled:
        least = max(_LOWEST, min(min([*values, *ends]) - 0.03, -0.12))
        return Axis(Scale(least, 1.0), better, words=tuple(words))
    wide = sorted(dot.high - dot.low for dot in dots if math.isfinite(dot.high - dot.low))
    room = max(_FURTHEST * (max(values) - min(values)), 1.5 * wide[len(wide) // 2] if wide else 0.0)
    clipped = [min(max(end, min(values) - room), max(values) + room) for end in ends]
    return Axis(Scale.around([*values, *clipped]), better, words=tuple(words))
