"""Points with intervals both ways, and the front of those that none beats in both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from heval_core.figures.dots_drawn import shaped
from heval_core.present.drawing import Drawing, Mark, Scale

_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 14.0, 10.0, 46.0
# Left where the axis has no title of its own.
_NARROW = 32.0
WIDTH, HEIGHT = 590.0, 424.0
# Of names in a column: pixels left of them, and from one to the next.
_COLUMN, _LINE = 22.0, 17.0
# Letters there are a little smaller.
_NARROWER = 0.91


def _wide(text: str, strong: bool) -> float:
    """Estimate how many pixels a label takes."""
    return (7.5 if strong else 7.1) * len(text)


@dataclass(frozen=True)
class PlottedPoint:
    """title: beside it. about: lines of its title. look: the hue of an explainer, or the shape of a technique's family."""

    id: tuple[str, ...]
    title: str
    about: tuple[str, ...]
    x: float
    y: float
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]
    look: str
    on_front: bool = False


class Ticks(NamedTuple):
    """An axis from low to high. at: (value, text)."""

    title: str
    low: float
    high: float
    at: Sequence[tuple[float, str]]


def ends(value: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval; the value itself where there is none."""
    return (value, value) if math.isnan(low) or math.isnan(high) else (low, high)


@dataclass(frozen=True)
class Front:
    """about: the figure in words, for those who do not see it.

    level: both ends of a dashed line within the axes. along: its text. legend: (look, text). column: whether names, that of
    the line too, stand in a column right of the figure, because points lie close together.
    """

    about: str
    points: Sequence[PlottedPoint]
    x: Ticks
    y: Ticks
    level: Sequence[tuple[float, float]] = ()
    along: str = ""
    legend: Sequence[tuple[str, str]] = ()
    column: bool = False

    @property
    def line(self) -> list[tuple[float, float]]:
        """The points that none beats in both, from left to right; those that coincide once."""
        return sorted({(point.x, point.y) for point in self.points if point.on_front})


def as_drawing(front: Front, width: float = WIDTH, height: float = HEIGHT) -> Drawing:
    """Draw every point with its name; Regular on top of those that coincide with it."""
    drawing = Drawing(width, height, front.about)
    named = [*(point.title for point in front.points), front.along] if front.column else []
    beside = max((_NARROWER * _wide(title, strong=True) for title in named), default=-_COLUMN) + _COLUMN
    x = Scale(front.x.low, front.x.high, _LEFT if front.y.title else _NARROW, width - max(beside, _RIGHT))
    y = Scale(front.y.low, front.y.high, height - _BOTTOM, _TOP)
    labels = [Label(x.at(one.x), y.at(one.y), one.title, one.on_front or one.look == "regular") for one in front.points]
    taken, whiskers = list[Box](), list[tuple[float, float, float, float]]()
    for point, (left, top, *_) in zip(front.points, labels, strict=True):  # labels keep away from it and its intervals
        (start, end), (low, high) = map(x.at, point.x_ends), map(y.at, point.y_ends)
        whiskers += [(start, top, end, top), (left, low, left, high)]
        taken.append(Box(left - 9, top - 9, left + 9, top + 9, 3.0))
        taken += [Box(start, top - 1, end, top + 1, 0.4), Box(left - 1, high, left + 1, low, 0.4)]
    _axes(drawing, front, x, y)
    if front.level:
        _level_line(drawing, front, x, y, taken)
    _front_line(drawing, front, x, y, taken)
    for start, top, end, bottom in whiskers:
        drawing.line("thin", (start, top), (end, bottom))
    beside_line = [Label(x.right, y.at(front.level[1][1]), front.along, False)] if front.column and front.level else []
    if front.column:
        positions = _in_column(drawing, [*labels, *beside_line], x.right, y)
    else:
        room = Box(x.left + 2, _TOP - 4, x.right + 8, y.left - 1)
        positions = place_labels(drawing, labels, room, taken)
    plain, strong = ("number", "strong") if front.column else ("label", "label strong")
    for point, label in reversed(list(zip(front.points, labels, strict=True))):
        left, top = positions[label]
        name = Mark("text", strong if label.strong else plain, left - label.x, top - label.y, text=label.text)
        marks = _sign(point.look, point.on_front, 8.5), name
        drawing.spot((label.x, label.y), marks, point.about, id=point.id, reach=12.0)
    for label in beside_line:
        drawing.words("faint", positions[label], label.text)
    if front.legend:
        drawing.height = 14 + drawing.legend([(_sign(look, False, 6.5), text) for look, text in front.legend], height + 10)
    return drawing


def _in_column(drawing: Drawing, labels: Sequence[Label], right: float, y: Scale) -> dict[Label, tuple[float, float]]:
    """Place names one below the other, as near to the heights of points as the others let them, with a line to each point.

    right: where the axes end. Lines do not cross: two that cross would be shorter in all if they swapped their ends.
    """
    from scipy.optimize import linear_sum_assignment  # which takes long to import

    left, lowest, tops = right + _COLUMN, y.left - 4, list[float]()
    for height in sorted(label.y for label in labels):
        tops.append(max(height, tops[-1] + _LINE if tops else -math.inf))
    for at in reversed(range(len(tops))):  # from the bottom up, so that all stay inside
        tops[at] = min(tops[at], lowest)
        lowest = tops[at] - _LINE
    lengths = np.array([[math.hypot(left - 3 - label.x, top - label.y) for top in tops] for label in labels])
    positions = {}
    for label, at in zip(labels, linear_sum_assignment(lengths)[1] if tops else (), strict=True):
        drawing.line("leader", (label.x, label.y), (left - 3, tops[at]))
        positions[label] = left, tops[at] + 4.5
    return positions


def _sign(look: str, strong: bool, size: float) -> Mark:
    if look.startswith("#"):
        return Mark("circle", "dot", size=7.5 if strong else 6.0, hue=look)
    return shaped(look, strong, size)


def _axes(drawing: Drawing, front: Front, x: Scale, y: Scale) -> None:
    for value, text in front.x.at:
        drawing.line("grid", (x.at(value), y.right), (x.at(value), y.left))
        drawing.words("faint", (x.at(value), y.left + 17), text, "middle")
    for value, text in front.y.at:
        drawing.line("grid", (x.left, y.at(value)), (x.right, y.at(value)))
        drawing.words("faint", (x.left - 8, y.at(value) + 4.5), text, "end")
    drawing.words("plain", ((x.left + x.right) / 2, y.left + 38), front.x.title, "middle")
    if front.y.title:
        drawing.words("plain", (13, (y.left + y.right) / 2), front.y.title, "middle", turn=-90)


def _level_line(drawing: Drawing, front: Front, x: Scale, y: Scale, taken: list[Box]) -> None:
    (x0, y0), (x1, y1) = front.level

    def at(share: float) -> tuple[float, float]:
        return x.at(x0 + share * (x1 - x0)), y.at(y0 + share * (y1 - y0))

    start, end = at(0), at(1)
    drawing.line("level", start, end)
    if front.column:
        return
    # Names keep away from all of it.
    for px, py in (at(step / 60) for step in range(61)):
        taken.append(Box(px - 4, py - 4, px + 4, py + 4, 0.6))
    slope = math.atan2(end[1] - start[1], end[0] - start[0])

    def free(share: float) -> float:
        return min((math.dist(at(share), (x.at(point.x), y.at(point.y))) for point in front.points), default=0.0)

    # Where the label is furthest from every point.
    left, top = at(max((0.14 + 0.06 * step for step in range(13)), key=free))
    lifted = left + 6 * math.sin(slope), top - 6 * math.cos(slope)
    drawing.words("quiet", lifted, front.along, "middle", turn=math.degrees(slope))
    for step in range(-2, 3):
        px, py = left + 24 * step * math.cos(slope), top + 24 * step * math.sin(slope)
        taken.append(Box(px - 12, py - 20, px + 16, py + 4, 1.0))


def _front_line(drawing: Drawing, front: Front, x: Scale, y: Scale, taken: list[Box]) -> None:
    """Draw the front as steps: nothing lies right of it and above."""
    ends = [(x.at(across), y.at(up)) for across, up in front.line]
    if not ends:
        return
    steps = [(x.left, ends[0][1]), ends[0]]
    for start, end in pairwise(ends):
        steps += [(start[0], end[1]), end]
    drawing.lines("front", [*steps, (ends[-1][0], y.left)])
    for (left, top), bottom in zip(ends, [*(below for _, below in ends[1:]), y.left], strict=True):
        taken.append(Box(left - 2, top, left + 2, bottom, 0.5))
    if not front.column:
        # Above the line where there is room.
        at = x.left + 6, ends[0][1] + (-6 if ends[0][1] > y.right + 20 else 15)
        drawing.words("quiet", at, "Pareto front")
        taken.append(box_of("Pareto front", *at, "start", 5.0))


# Where labels find room: each takes the nearest place that lies on nothing.
_WAYS = ((1, -0.9), (-1, -0.9), (1, 0.0), (-1, 0.0), (1, 0.9), (-1, 0.9), (0, -1.15), (0, 1.15))
_FAR = (13.0, 24.0, 38.0, 54.0, 72.0, 92.0)
# What a place costs that reaches out of the figure: more than any that lies on something.
OUTSIDE = 600.0


class Box(NamedTuple):
    """weight: how bad it is to lie on it."""

    left: float
    top: float
    right: float
    bottom: float
    weight: float = 0.0

    def cost(self, taken: Iterable[Box]) -> float:
        """Compute the cost of lying where it does: the areas that it shares with others, by their weights."""
        cost = 0.0
        for other in taken:
            wide = min(self.right, other.right) - max(self.left, other.left)
            tall = min(self.bottom, other.bottom) - max(self.top, other.top)
            cost += other.weight * max(20.0, wide * tall / 4) if wide > 0 and tall > 0 else 0.0
        return cost

    def within(self, other: Box) -> bool:
        return self.left >= other.left and self.right <= other.right and self.top >= other.top and self.bottom <= other.bottom

    def away(self, x: float, y: float) -> float:
        """Return how far a point is from it."""
        return math.hypot(max(self.left - x, 0, x - self.right), max(self.top - y, 0, y - self.bottom))


class Label(NamedTuple):
    """The name of a point."""

    x: float
    y: float
    text: str
    strong: bool


def box_of(text: str, x: float, y: float, anchor: str, weight: float = 0.0) -> Box:
    """Estimate where a text of a figure stands."""
    wide = 6.6 * len(text)
    left = x - wide if anchor == "end" else x - wide / 2 if anchor == "middle" else x
    return Box(left, y - 12, left + wide, y + 4, weight)


def place_labels(drawing: Drawing, labels: Sequence[Label], room: Box, taken: list[Box]) -> dict[Label, tuple[float, float]]:
    """Return where each text begins.

    Draws a thin line to its point from far, or past a nearer point. taken: grows by the labels.
    """
    positions = {label: (label.x, label.y) for label in labels}
    for label in (one for one in labels if one.text):
        wide = _wide(label.text, label.strong) + 4
        costs: list[tuple[float, int, Box, float, int]] = []
        for far in _FAR:
            for way, (dx, dy) in enumerate(_WAYS):
                left = label.x + dx * far - (wide if dx < 0 else wide / 2 if dx == 0 else 0)
                middle = label.y + dy * far
                box = Box(left, middle - 9, left + wide, middle + 9, 5.0)
                outside = 0.0 if box.within(room) else OUTSIDE
                costs.append((far * 1.2 + (dy > 0) + outside + box.cost(taken), len(costs), box, far, way))
        _, _, box, far, way = min(costs)
        taken.append(box)
        nearer = any(box.away(other.x, other.y) <= box.away(label.x, label.y) for other in labels if other is not label)
        if far > _FAR[1] or nearer:
            end = {1: box.left, -1: box.right, 0: (box.left + box.right) / 2}[_WAYS[way][0]]
            drawing.line("leader", (label.x, label.y), (end, (box.top + box.bottom) / 2))
        positions[label] = box.left + 2, box.top + 14
    return positions
