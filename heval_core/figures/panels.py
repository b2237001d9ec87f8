"""The figure of the question tabs, before it is drawn: explainers as rows, panels as columns, one axis for all of them.

Everything here is a place on the axis in percent, or a text. The browser draws it: it knows how wide the window is, and puts
as many panels into a line as fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from heval_core.figures.palette import RIM, colour, luminance
from heval_core.present.numbers import number

# With up to so many methods each model and dataset has a mark; with more, rows are thinner.
WITH_CELLS = 6
# Below this luminance of a dot its number is white.
_DARK = 0.2


@dataclass(frozen=True)
class Mark:
    """A number on the axis. about: what is said of it. id: what a click on it is of. sign: what stands in its dot."""

    value: float
    about: tuple[str, ...]
    id: tuple[str, ...]
    low: float = math.nan
    high: float = math.nan
    hollow: bool = False
    sign: str = ""


@dataclass(frozen=True)
class Slot:
    """One explainer in one panel. value: the number beside its dots. missing: why it has none, if it has none."""

    dots: tuple[Mark, ...] = ()
    cells: tuple[Mark, ...] = ()
    value: float | None = None
    best: bool = False
    missing: Mark | None = None


@dataclass(frozen=True)
class Row:
    """hint: what the explainer is, in a sentence."""

    key: str
    title: str
    control: bool = False
    hint: str = ""


@dataclass(frozen=True)
class Panel:
    """hint: what its title means. slots: one for each row."""

    title: str
    note: str
    hint: str
    chance: float
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Axis:
    """better: which end is good, `high`, `low`, or `zero` for neither. words: what stands under some of its values."""

    low: float
    high: float
    better: str
    percent: bool = False
    words: tuple[tuple[float, str], ...] = field(default=())

    def at(self, value: float) -> float:
        """In percent of the axis, as far as it goes."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def beyond(self, value: float) -> int:
        """-1 or 1 for a value left or right of the axis."""
        slack = 1e-9 * (self.high - self.low)
        return -1 if value < self.low - slack else int(value > self.high + slack)


def axis_over(values: Sequence[float], better: str, scaled: bool, words: tuple[tuple[float, str], ...] = ()) -> Axis:
    """An axis for the methods' numbers; controls beyond it are cut. scaled: from chance, 0, to the best possible, 1."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if scaled:
        return Axis(max(-1.0, min(low - 0.03, -0.12)), 1.0, better, words=words)
    room = 0.05 * (high - low) or 0.5
    return Axis(low - room, high + room, better, words=words)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values inside an axis, at most so many."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20, 25, 50) if span / (power * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round(step * place, 10) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def drawing(
    rows: Sequence[Row], panels: Sequence[Panel], axis: Axis, legend: Sequence[tuple[str, str]], hint: str, picked: str
) -> dict[str, Any]:
    """What the component `dot_panels` draws. legend: (sign, text). picked: the id of the mark that is chosen, as JSON."""
    most = 5 if len(panels) <= 4 else 4 if len(panels) <= WITH_CELLS else 2
    return {
        "rows": [_row(row) for row in rows],
        "columns": [_panel(panel, rows, axis) for panel in panels],
        "ticks": [{"at": axis.at(value), "text": _tick(value, axis)} for value in ticks(axis.low, axis.high, most)],
        "words": [{"at": axis.at(value), "text": text} for value, text in axis.words],
        "legend": [{"kind": kind, "text": text} for kind, text in legend],
        "hint": hint,
        "picked": picked,
        "rim": RIM,
        "with_cells": WITH_CELLS,
    }


def _tick(value: float, axis: Axis) -> str:
    text = f"{100 * value:g} %" if axis.percent else f"{value:g}"
    return text.replace("-", "−")


def _row(row: Row) -> dict[str, Any]:
    hue = colour(row.key)
    ink = "#FFFFFF" if luminance(hue) < _DARK else RIM
    return {"title": row.title, "color": hue, "ink": ink, "control": row.control, "hint": row.hint}


def _panel(panel: Panel, rows: Sequence[Row], axis: Axis) -> dict[str, Any]:
    chance = axis.at(panel.chance)
    below = {"high": [0.0, chance], "low": [chance, 100.0]}.get(axis.better, [0.0, 0.0])
    slots = [_slot(slot, row, axis) for slot, row in zip(panel.slots, rows, strict=True)]
    return {"title": panel.title, "note": panel.note, "hint": panel.hint, "chance": chance, "below": below, "slots": slots}


def _slot(slot: Slot, row: Row, axis: Axis) -> dict[str, Any]:
    made: dict[str, Any] = {
        "dots": [_mark(mark, axis) for mark in slot.dots],
        "cells": [_mark(mark, axis) for mark in slot.cells],
    }
    if slot.missing is not None:
        made["missing"] = _mark(slot.missing, axis)
    if not slot.dots:
        return made
    if row.control:
        made["labels"] = _labels(slot, axis)
        return made
    return made | {"strong": slot.best} | _beside(slot, axis)


def _mark(mark: Mark, axis: Axis) -> dict[str, Any]:
    made: dict[str, Any] = {"at": axis.at(mark.value), "about": list(mark.about), "id": list(mark.id)}
    if math.isfinite(mark.low):
        made |= {"low": axis.at(mark.low), "high": axis.at(mark.high)}
    if mark.hollow:
        made["hollow"] = True
    if mark.sign:
        made["sign"] = mark.sign
    if beyond := axis.beyond(mark.value):
        made["beyond"] = beyond
    return made


def _beside(slot: Slot, axis: Axis) -> dict[str, Any]:
    """Where a method's number stands: right of its dots, or left of them where the axis ends."""
    ends = [axis.at(mark.value) for mark in slot.dots]
    ends += [axis.at(end) for mark in slot.dots for end in (mark.low, mark.high) if math.isfinite(end)]
    left = max(ends) > 82
    return {"text": _text(slot.value, axis), "text_at": min(ends) if left else max(ends), "side": -1 if left else 1}


def _text(value: float | None, axis: Axis) -> str:
    return f"{100 * value:.0f} %" if axis.percent and value is not None else number(value)


def _labels(slot: Slot, axis: Axis) -> list[dict[str, Any]]:
    """The numbers of a control: one of all, or one for each of several dots that stand far apart."""
    ends = [axis.at(mark.value) for mark in slot.dots]
    if max(ends) - min(ends) < 25 and len({axis.beyond(mark.value) for mark in slot.dots}) == 1:
        left = max(ends) > 82
        value = slot.value if len(slot.dots) > 1 else slot.dots[0].value
        return [{"text": _text(value, axis), "text_at": min(ends) if left else max(ends), "side": -1 if left else 1}]
    return [
        {
            "text": f"{mark.sign}: {_text(mark.value, axis)}" if mark.sign else _text(mark.value, axis),
            "text_at": axis.at(mark.value),
            "side": 1 if axis.at(mark.value) < 50 else -1,
            "above": True,
        }
        for mark in slot.dots
    ]
