"""A drawing as marks at coordinates, and these as SVG: black on white, with a class for each kind of mark.

A page that the SVG stands in may give the classes other colours, for dark. Coordinates are rounded to a tenth of a pixel, so
that the same numbers give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heval_core.html import render


class Ink(NamedTuple):
    """How a kind of mark is drawn. dash: as in SVG; empty for a whole line."""

    fill: str = "none"
    stroke: str = "none"
    width: float = 1.0
    dash: str = ""


class Theme(NamedTuple):
    """The colours of everything that has none of its own."""

    ink: str
    faint: str
    grid: str
    band: str
    good: str
    bad: str


LIGHT = Theme("#1F2328", "#555C65", "#DCD9D2", "#F4F3F0", "#1B6E45", "#9A3324")
DARK = Theme("#E8E6E1", "#B0B5BC", "#3A424E", "#1B2027", "#7CCBA2", "#F0A090")


def ink_of(kind: str, hue: str, theme: Theme) -> Ink:
    """hue: of the mark itself, where its kind has one."""
    return {
        "grid": Ink(stroke=theme.grid),
        "axis": Ink(stroke=theme.ink),
        "chance": Ink(stroke=theme.faint, width=1.2),
        "limit": Ink(stroke=theme.ink, width=1.2, dash="3 2"),
        "whisker": Ink(stroke=hue or theme.ink, width=1.3),
        "dot": Ink(fill=hue or theme.ink, stroke=theme.ink, width=0.7),
        "hollow": Ink(fill=theme.band, stroke=theme.ink, width=1.4),
        "ring": Ink(stroke=hue or theme.ink, width=1.4),
        "tick": Ink(stroke=theme.faint, width=1.6),
        "band": Ink(fill=theme.band),
        "piece": Ink(fill=hue),
        "inside": Ink(fill=hue),
        "ink": Ink(fill=theme.ink),
        "name": Ink(fill=theme.ink),
        "head": Ink(fill=theme.ink),
        "faint": Ink(fill=theme.faint),
        "good": Ink(fill=theme.good, stroke=theme.good, width=1.6),
        "bad": Ink(fill=theme.bad, stroke=theme.bad, width=1.6),
        "open": Ink(stroke=theme.faint, width=1.6),
    }[kind]


@dataclass(frozen=True)
class Mark:
    """shape: line (x, y to x2, y2), box, circle, diamond, arrow (to the left where x2 < x), or text. kind: see `ink_of`.

    tip: what is said where the pointer rests on the mark.
    """

    shape: str
    kind: str
    x: float
    y: float
    x2: float = 0.0
    y2: float = 0.0
    radius: float = 0.0
    hue: str = ""
    text: str = ""
    anchor: str = "start"
    tip: str = ""


@dataclass
class Drawing:
    """title: what it shows, for readers who do not see it."""

    width: float
    height: float
    title: str
    marks: list[Mark] = field(default_factory=list)

    def line(self, kind: str, start: tuple[float, float], end: tuple[float, float], hue: str = "") -> None:
        self.marks.append(Mark("line", kind, *start, *end, hue=hue))

    def box(self, kind: str, corner: tuple[float, float], size: tuple[float, float], hue: str = "", tip: str = "") -> None:
        self.marks.append(Mark("box", kind, *corner, *size, hue=hue, tip=tip))

    def dot(self, kind: str, place: tuple[float, float], radius: float, hue: str = "", tip: str = "", **more: str) -> None:
        """more: shape, if it is no circle."""
        self.marks.append(Mark(more.get("shape", "circle"), kind, *place, radius=radius, hue=hue, tip=tip))

    def words(self, kind: str, place: tuple[float, float], text: str, anchor: str = "start", hue: str = "") -> None:
        self.marks.append(Mark("text", kind, *place, text=text, anchor=anchor, hue=hue))


def as_svg(drawing: Drawing, theme: Theme = LIGHT) -> str:
    marks = [_written(mark, theme) for mark in drawing.marks]
    size = {"width": _short(drawing.width), "height": _short(drawing.height)}
    return render("drawing.svg", marks=marks, title=drawing.title, **size).strip()


_OUTLINES = {
    "diamond": ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
    "left": ((-1.0, 0.0), (1.0, -1.0), (1.0, 1.0)),
    "right": ((1.0, 0.0), (-1.0, -1.0), (-1.0, 1.0)),
}


def _written(mark: Mark, theme: Theme) -> dict[str, object]:
    """A mark in the words of the template."""
    own: dict[str, object] = {name: _short(getattr(mark, name)) for name in ("x", "y", "x2", "y2", "radius")}
    own |= {"width": own["x2"], "height": own["y2"], "shape": mark.shape, "kind": mark.kind, "text": mark.text}
    own |= {"anchor": mark.anchor, "tip": mark.tip, "ink": ink_of(mark.kind, mark.hue, theme)}
    if mark.shape in _OUTLINES:
        corners = [(mark.x + mark.radius * dx, mark.y + mark.radius * dy) for dx, dy in _OUTLINES[mark.shape]]
        own |= {"shape": "path", "path": "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in corners) + "Z"}
    return own


def _short(number: float) -> str:
    return f"{round(float(number), 1) + 0.0:g}"


class Scale(NamedTuple):
    """Values from least to most, at pixels from left to right."""

    least: float
    most: float
    left: float
    right: float

    @classmethod
    def around(cls, values: Iterable[float], left: float, right: float) -> Scale:
        """With a little room on both sides. Values that are not finite do not count."""
        finite = [float(value) for value in values if math.isfinite(value)] or [0.0, 1.0]
        least, most = min(finite), max(finite)
        room = (most - least) * 0.05 or abs(most) * 0.1 or 0.5
        return cls(least - room, most + room, left, right)

    def at(self, value: float) -> float:
        """The pixel of a value. By hand: halfway from least to most is halfway from left to right.

        >>> Scale(0, 10, 100, 200).at(5)
        150.0
        """
        return self.left + (float(value) - self.least) / (self.most - self.least) * (self.right - self.left)

    def holds(self, value: float) -> bool:
        return self.least <= value <= self.most

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers inside, with at most so many steps between them.

        >>> Scale(-0.12, 0.31, 0, 1).ticks()
        [-0.1, 0.0, 0.1, 0.2, 0.3]
        """
        span = self.most - self.least
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if span / (power * factor) <= most)
        first = math.ceil(self.least / step - 1e-9)
        places = [round((first + place) * step, 10) + 0.0 for place in range(most + 2)]
        return [place for place in places if self.holds(place)]


def wrapped(text: str, width: int, most: int = 3) -> list[str]:
    """A text in lines of about so many letters, at most so many lines."""
    lines: list[str] = []
    for word in text.replace("_", "_ ").split():
        joined = f"{lines[-1]}{'' if lines[-1].endswith('_') else ' '}{word}" if lines else word
        if lines and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    kept: Sequence[str] = lines[:most]
    return [*kept[:-1], f"{kept[-1]} …"] if len(lines) > most else list(kept)


def legend(drawing: Drawing, titles: Sequence[str]) -> float:
    """Which number stands for which point, in lines at the top of a drawing; returns where they end."""
    x, y = 4.0, 12.0
    for number, title in enumerate(titles, start=1):
        text = f"{number} {title}"
        needed = 18 + 6.4 * len(text)
        if x + needed > drawing.width and x > 4:
            x, y = 4.0, y + 15
        drawing.words("ink", (x, y), text)
        x += needed
    return y
