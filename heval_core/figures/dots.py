"""The dot figure of pages and report: rows of dots with intervals, in panels side by side, against chance.

A row is an explainer, a technique, an annotator or a feature; controls stand in a band below. `dots_drawn.py` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from heval_core.present.drawing import Scale, wrapped
from heval_core.present.numbers import short

THIN, CONTROL, GAP, FOOT = 25.0, 18.0, 8.0, 36.0
# Left of a row's name: its rank with a bracket round those that share it; right of it: the mean of its panels.
RANK, MEAN = 46.0, 44.0
PER_LINE = 6
# Of what runs from guessing, 0, to the best, 1: how far below 0 an axis goes; what lies beyond is an arrow with its number.
_LOWEST = -0.4
# How far an interval far wider than most may stretch an axis, in spans of its values; it is cut there, with an arrow.
_FURTHEST = 0.5


@dataclass(frozen=True)
class Dot:
    """A number on the axis. title: what is said of it. id: what a click on it is of. sign: what stands in it. text: its own
    number, beside it. lane: which of its row's lines it stands on. link: where a click leads, where it is of nothing.
    hue: its own, in place of its row's."""

    value: float
    title: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    low: float = math.nan
    high: float = math.nan
    chance: float = math.nan
    hollow: bool = False
    sign: str = ""
    text: str = ""
    strong: bool = False
    lane: int = 0
    link: str = ""
    hue: str = ""


@dataclass(frozen=True)
class Slot:
    """One row in one panel. cells: single ones, as ticks below the dots. text: the number beside all its dots. missing: in
    place of dots, with the reason in its title."""

    dots: tuple[Dot, ...] = ()
    cells: tuple[Dot, ...] = ()
    text: str = ""
    best: bool = False
    missing: Dot | None = None


@dataclass(frozen=True)
class Row:
    """hint: what it is, in a sentence. hue: of its dots; without one they are ink, and hollow where that says something.

    shape: of OUTLINES, before its title. strong: whether that is filled. note: below it. rank, mean: as they are written.
    best: whether its mean is bold. id: what a click on its name is of.
    """

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


@dataclass(frozen=True)
class Axis:
    """better: which end is good, `high`, `low`, or neither. text: how ticks are written; at most so many."""

    scale: Scale
    better: str = ""
    text: Callable[[float], str] = short
    ticks: int = 5


@dataclass(frozen=True)
class Panel:
    """hint: what its title means. slots: one for each row. chance: of all dots, where they have none of their own.

    words: (value, text) under the axis. link: of the note.
    """

    title: str
    slots: tuple[Slot, ...]
    axis: Axis = Axis(Scale(0.0, 1.0))
    note: str = ""
    hint: str = ""
    chance: float = math.nan
    words: tuple[tuple[float, str], ...] = ()
    link: str = ""


@dataclass(frozen=True)
class DotFigure:
    """legend: (sign, text), without controls and what is missing. hint: what a click does. bars: from 0 to each dot.

    above: numbers stand above dots. lane: pixels from one line of a row to the next. zero: the kind of the line of chance.
    thin: the height of a method's row.
    """

    title: str
    rows: Sequence[Row]
    panels: Sequence[Panel]
    legend: Sequence[tuple[str, str]] = ()
    hint: str = ""
    bars: bool = False
    above: bool = False
    lane: float = 4.5
    zero: str = "chance"
    thin: float = THIN

    @property
    def signs(self) -> list[tuple[str, str]]:
        """The whole legend."""
        missing = any(slot.missing and slot.missing.id for panel in self.panels for slot in panel.slots)
        controls = [("control", "control")] if any(row.control for row in self.rows) else []
        return [*self.legend, *controls, *([("missing", "not available")] if missing else [])] if self.legend else []

    @cached_property
    def lanes(self) -> int:
        return 1 + max((dot.lane for panel in self.panels for slot in panel.slots for dot in slot.dots), default=0)

    def height(self, row: Row) -> float:
        least = CONTROL if row.control else 44.0 if self.above else 32.0 if self.bars else self.thin
        return max(least, self.lane * self.lanes + 6 if self.lanes > 1 else 0.0, 36.0 if row.note else 0.0)

    @cached_property
    def tops(self) -> list[float]:
        """Of the rows, and where the last one ends; the first is at 0."""
        tops, top = [], 2.0
        for place, row in enumerate(self.rows):
            top += GAP if place and row.control and not self.rows[place - 1].control else 0.0
            tops.append(top)
            top += self.height(row)
        return [*tops, top + 2]

    @property
    def least(self) -> float:
        """Pixels that a panel needs."""
        count = len(self.panels)
        if self.above or self.thin < THIN:
            return 80.0 if self.above else 96.0
        return 112.0 if count > 6 else 136.0 if count > 4 or self.names_at else 100.0 if self.bars else 176.0

    @property
    def gap(self) -> float:
        """Pixels between two panels."""
        return 16.0 if self.above or self.thin < THIN else 24.0

    @property
    def letters(self) -> int:
        """That a panel's head has room for in a line."""
        if self.thin < THIN:
            return int(self.least / 7)
        return {1: 90, 2: 40, 3: 32, 4: 26, 5: 20, 6: 20}.get(len(self.panels), 14)

    @property
    def head(self) -> float:
        """The height of the panels' titles and notes."""
        lines = max((len(wrapped(panel.title, self.letters)) for panel in self.panels), default=0)
        return 18.0 * lines + 17.0 * any(panel.note for panel in self.panels) + 9

    @property
    def side(self) -> float:
        """The width of the rows' names."""
        longest = max((len(row.title) for row in self.rows), default=0)
        icon = 24.0 if any(row.shape for row in self.rows) else 0.0
        beside = self.names_at + (MEAN if any(row.mean for row in self.rows) else 0.0)
        return beside + min(max(96.0, longest * 6.8 + 10 + icon), 180.0 if len(self.panels) > 1 else 400.0)

    @property
    def names_at(self) -> float:
        """Where the rows' names begin."""
        return RANK if any(row.rank for row in self.rows) else 0.0


def axis_over(rows: Sequence[Row], panels: Iterable[Sequence[Slot]], better: str = "", *, scaled: bool = False) -> Axis:
    """An axis for the dots of all methods; controls may lie beyond it, and count only where there is nothing else.

    panels: of each its slots. scaled: from chance, 0, to the best possible, 1.
    """
    pairs = [pair for slots in panels for pair in zip(rows, slots, strict=True)]
    every = [(row, dot) for row, slot in pairs for dot in (*slot.dots, *slot.cells)]
    dots = [dot for row, dot in every if not row.control] or [dot for _, dot in every]
    values = [value for dot in dots for value in (dot.value, dot.chance) if math.isfinite(value)] or [0.0, 1.0]
    ends = [end for dot in dots for end in (dot.low, dot.high) if math.isfinite(end)]
    if scaled:
        return Axis(Scale(max(_LOWEST, min(min([*values, *ends]) - 0.03, -0.12)), 1.0), better)
    wide = sorted(dot.high - dot.low for dot in dots if math.isfinite(dot.high - dot.low))
    room = max(_FURTHEST * (max(values) - min(values)), 1.5 * wide[len(wide) // 2] if wide else 0.0)
    kept = [min(max(end, min(values) - room), max(values) + room) for end in ends]
    return Axis(Scale.around([*values, *kept]), better)


def on_one_axis(
    rows: Sequence[Row], panels: Sequence[Panel], better: str, words: Sequence[tuple[float, str]] = (), *, scaled: bool = False
) -> list[Panel]:
    """Panels that share an axis, with words under that of the first."""
    axis = axis_over(rows, (panel.slots for panel in panels), better, scaled=scaled)
    return [replace(panel, axis=axis, words=() if place else tuple(words)) for place, panel in enumerate(panels)]
