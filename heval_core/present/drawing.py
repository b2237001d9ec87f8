"""A drawing: marks at places, and these as one SVG text. Pages and the report draw with it, and with nothing else.

A mark's kind says how it looks, in the colours of a theme: of light, of dark, or of the page that it stands in. Coordinates
are pixels, rounded to a tenth, so that the same numbers give the same bytes. In a fluid drawing those from left to right are
percent of its width: it fits any window, and its letters keep their size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from heval_core.present.html import render, visible


class Theme(NamedTuple):
    """The colours of everything that has none of its own. rim: round what has one."""

    ink: str
    faint: str
    line: str
    band: str
    page: str
    accent: str
    good: str
    bad: str
    rim: str


LIGHT = Theme("#1F2328", "#555C65", "#DCD9D2", "#F7F6F3", "#FFFFFF", "#A0527F", "#1B6E45", "#9A3324", "#1F2328")
DARK = Theme("#E8E6E1", "#B0B5BC", "#3A424E", "#1B2027", "#14171C", "#CC79A7", "#7CCBA2", "#F0A090", "#1F2328")
# Of a page: follows its colour scheme.
_BOTH = Theme(*(f"light-dark({light}, {dark})" for light, dark in zip(LIGHT, DARK, strict=True)))
_FONT = "'Source Sans 3', 'Source Sans', system-ui, 'Noto Sans', sans-serif"


class Look(NamedTuple):
    """fill, stroke: a colour of the theme, `hue` for the mark's own, or `none`. size, weight, halo (over lines): of a text."""

    fill: str = "none"
    stroke: str = "none"
    width: float = 1.0
    dash: str = ""
    opacity: float = 1.0
    size: float = 0.0
    weight: int = 400
    halo: bool = False


LOOKS = {
    "grid": Look(stroke="line"),
    "axis": Look(stroke="ink"),
    "front": Look(stroke="ink", width=1.6, opacity=0.75),
    "chance": Look(stroke="faint", dash="4 3"),
    "level": Look(stroke="faint", width=1.3, dash="5 4"),
    "limit": Look(stroke="ink", width=1.2, dash="3 2"),
    "leader": Look(stroke="faint", opacity=0.6),
    "whisker": Look(stroke="ink", width=1.4),
    "thin": Look(stroke="faint", width=1.1),
    "stem": Look(stroke="hue", width=3, opacity=0.55),
    "tick": Look(stroke="faint", width=1.6),
    "dot": Look(fill="hue", stroke="rim"),
    "core": Look(fill="page", stroke="rim", width=0.6),
    "cell": Look(stroke="ink", width=1.2, opacity=0.65),
    "half": Look(fill="ink", size=10, weight=600),
    "full": Look(fill="ink", stroke="ink", width=1.7),
    "hollow": Look(fill="page", stroke="ink", width=1.7),
    "regular": Look(fill="accent", stroke="page", width=2),
    "control": Look(fill="band", stroke="faint", width=1.8),
    "missing": Look(stroke="faint", width=1.5, dash="3 2.5"),
    "beyond": Look(fill="faint"),
    "ring": Look(stroke="ink", width=1.4),
    "good": Look(fill="good", stroke="good", width=1.6),
    "bad": Look(fill="bad", stroke="bad", width=1.6),
    "open": Look(stroke="faint", width=1.6),
    "band": Look(fill="band"),
    "region": Look(fill="accent", opacity=0.1),
    "piece": Look(fill="hue"),
    "inside": Look(fill="hue", size=12),
    "title": Look(fill="ink", size=15, weight=600),
    "name": Look(fill="ink", size=14.5, weight=600),
    "plain": Look(fill="ink", size=13),
    "faint": Look(fill="faint", size=12.5),
    "quiet": Look(fill="faint", size=12.5, halo=True),
    "number": Look(fill="ink", size=13.5, halo=True),
    "strong": Look(fill="ink", size=13.5, weight=700, halo=True),
    "sign-open": Look(fill="ink", size=10.5, weight=700),
    "sign": Look(fill="hue", size=10.5, weight=700),
    "label": Look(fill="ink", size=14, halo=True),
    "label strong": Look(fill="ink", size=14, weight=650, halo=True),
}
# Corners of what is no circle, from -1 to 1.
_PLUS = ((-3, -8), (3, -8), (3, -3), (8, -3), (8, 3), (3, 3), (3, 8), (-3, 8), (-3, 3), (-8, 3), (-8, -3), (-3, -3))
OUTLINES: dict[str, Sequence[tuple[float, float]]] = {
    "diamond": ((0, -1), (1, 0), (0, 1), (-1, 0)),
    "left": ((-1, 0), (1, -1), (1, 1)),
    "right": ((1, 0), (-1, -1), (-1, 1)),
    "square": ((-0.76, -0.76), (0.76, -0.76), (0.76, 0.76), (-0.76, 0.76)),
    "triangle": ((0, -1), (1, 0.76), (-1, 0.76)),
    "plus": tuple((x / 8, y / 8) for x, y in _PLUS),
}


@dataclass(frozen=True)
class Mark:
    """shape: line (x, y to x2, y2), box (x2 wide, y2 high), text, circle, or one of OUTLINES (both of a size, the radius).

    kind: of LOOKS. dx: pixels to the right of x. turn: of a text, in degrees.
    """

    shape: str
    kind: str
    x: float = 0.0
    y: float = 0.0
    x2: float = 0.0
    y2: float = 0.0
    size: float = 0.0
    hue: str = ""
    text: str = ""
    anchor: str = "start"
    dx: float = 0.0
    turn: float = 0.0


@dataclass(frozen=True)
class Spot:
    """Marks around a place (pixels from it) that say something together.

    title: lines that are shown where the pointer rests. id: what a click is of. reach: how far from the place a click is
    still meant; wide: to the right of it.
    """

    x: float
    y: float
    marks: tuple[Mark, ...]
    title: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    reach: float = 10.0
    wide: float = 0.0


@dataclass
class Drawing:
    """title: what it shows, for readers who do not see it."""

    width: float
    height: float
    title: str
    fluid: bool = False
    marks: list[Mark | Spot] = field(default_factory=list)

    def line(self, kind: str, start: tuple[float, float], end: tuple[float, float], hue: str = "") -> None:
        self.marks.append(Mark("line", kind, *start, *end, hue=hue))

    def lines(self, kind: str, points: Sequence[tuple[float, float]]) -> None:
        for start, end in pairwise(points):
            self.line(kind, start, end)

    def box(self, kind: str, corner: tuple[float, float], size: tuple[float, float]) -> None:
        self.marks.append(Mark("box", kind, *corner, *size))

    def words(
        self, kind: str, at: tuple[float, float], text: str, anchor: str = "start", *, dx: float = 0.0, turn: float = 0.0
    ) -> None:
        self.marks.append(Mark("text", kind, *at, text=text, anchor=anchor, dx=dx, turn=turn))

    def spot(self, at: tuple[float, float], marks: Iterable[Mark], title: Sequence[str] = (), **more: Any) -> None:
        """Add a spot. more: id, reach."""
        self.marks.append(Spot(*at, tuple(marks), tuple(title), **more))

    def legend(self, items: Iterable[tuple[Mark, str]], top: float) -> float:
        """Draw signs with their texts, as many in a line as fit; returns where they end."""
        x, y = 8.0, top
        for sign, text in items:
            needed = 34 + 6.3 * len(text)
            if x > 8 and x + needed > self.width:
                x, y = 8.0, y + 20
            self.spot((x, y), [sign, Mark("text", "faint", 13, 4.5, text=text)])
            x += needed
        return y

    def embed(self, other: Drawing, x: float, y: float) -> None:
        """Add the marks of another drawing, with its corner at a place of this one; both in pixels."""
        for mark in other.marks:
            moved = replace(mark, x=mark.x + x, y=mark.y + y)
            if isinstance(moved, Mark) and moved.shape == "line":
                moved = replace(moved, x2=moved.x2 + x, y2=moved.y2 + y)
            self.marks.append(moved)

    @property
    def spots(self) -> Iterator[Spot]:
        return (mark for mark in self.marks if isinstance(mark, Spot))


class Element(NamedTuple):
    """An element of SVG. title: in an element of its own."""

    name: str
    attributes: dict[str, str]
    parts: tuple[Element, ...] = ()
    text: str = ""
    title: str = ""


def as_svg(drawing: Drawing, theme: Theme | None = LIGHT, *, active: bool = False) -> str:
    """Write a drawing as SVG. theme: None where the drawing stands in a page that has the `stylesheet`.

    active: spots with an id are buttons; `marks.js` answers to them.
    """
    unit, height = "%" if drawing.fluid else "", _short(drawing.height)
    size = {"width": "100%"} if drawing.fluid else {"viewBox": f"0 0 {_short(drawing.width)} {height}"}
    size |= {"overflow": "visible"} if drawing.fluid else {"width": _short(drawing.width)}
    about = {"role": "group" if active else "img", "aria-label": visible(drawing.title), "font-family": _FONT}
    parts = tuple(
        _spot(mark, unit, theme, active) if isinstance(mark, Spot) else _element(mark, unit, theme) for mark in drawing.marks
    )
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "height": height, **about}, parts)
    return render("drawing.svg", root=root).strip()


def _spot(spot: Spot, unit: str, theme: Theme | None, active: bool) -> Element:
    inner = tuple(_element(mark, "", theme) for mark in spot.marks)
    title = "\n".join(map(visible, spot.title))
    attributes = {}
    if active and spot.id:
        least, whole = _short(-spot.reach), _short(2 * spot.reach)
        across = _short(max(2 * spot.reach, spot.reach + spot.wide))
        hit = {"class": "hit", "x": least, "y": least, "width": across, "height": whole, "rx": _short(spot.reach / 1.6)}
        inner = (Element("rect", hit | {"fill": "transparent"}), *inner)
        attributes = {"class": "mark", "tabindex": "-1", "aria-label": title, "data-id": id_of(spot.id), "role": "button"}
        title = ""
    if unit:
        at = {"x": f"{_short(spot.x)}%", "y": _short(spot.y), "overflow": "visible"}
        return Element("svg", at, (Element("g", attributes, inner, title=title),))
    return Element("g", {"transform": f"translate({_short(spot.x)} {_short(spot.y)})", **attributes}, inner, title=title)


def _element(mark: Mark, unit: str, theme: Theme | None) -> Element:
    x, y, x2, y2, size = (_short(getattr(mark, name)) for name in ("x", "y", "x2", "y2", "size"))
    style = {"class": mark.kind, **_ink(mark.kind, mark.hue, theme)}
    if mark.shape == "line":
        return Element("line", {"x1": x + unit, "y1": y, "x2": x2 + unit, "y2": y2, **style})
    if mark.shape == "box":
        return Element("rect", {"x": x + unit, "y": y, "width": x2 + unit, "height": y2, **style})
    if mark.shape == "text":
        more = {"dx": _short(mark.dx)} if mark.dx else {}
        more |= {"text-anchor": mark.anchor} if mark.anchor != "start" else {}
        more |= {"transform": f"rotate({_short(mark.turn)} {x} {y})"} if mark.turn else {}
        return Element("text", {"x": x + unit, "y": y, **more, **style}, text=mark.text)
    if mark.shape == "circle":
        return Element("circle", {"cx": x, "cy": y, "r": size, **style})
    corners = [(mark.x + mark.size * dx, mark.y + mark.size * dy) for dx, dy in OUTLINES[mark.shape]]
    return Element("path", {"d": "M" + "L".join(f"{_short(dx)} {_short(dy)}" for dx, dy in corners) + "Z", **style})


@lru_cache(maxsize=1024)
def _ink(kind: str, hue: str, theme: Theme | None) -> dict[str, str]:
    """Return the attributes of a mark; where a stylesheet says the rest, those of its own colour."""
    if theme is None:
        return {name: hue for name in ("fill", "stroke") if getattr(LOOKS[kind], name) == "hue"}
    if hue.startswith("light-dark"):
        light, dark = hue[11:-1].split(", ")
        hue = dark if theme is DARK else light
    return _attributes(LOOKS[kind], theme._asdict() | {"hue": hue, "none": "none"})


def _attributes(look: Look, colours: Mapping[str, str]) -> dict[str, str]:
    ink = {"fill": colours[look.fill]}
    if look.stroke != "none":
        ink |= {"stroke": colours[look.stroke], "stroke-width": f"{look.width:g}"}
    if look.dash:
        ink |= {"stroke-dasharray": look.dash}
    if look.opacity < 1:
        ink |= {"opacity": f"{look.opacity:g}"}
    if look.size:
        ink |= {"font-size": f"{look.size:g}"} | ({"font-weight": str(look.weight)} if look.weight != 400 else {})
    if look.halo:
        ink |= {"stroke": colours["page"], "stroke-width": "3", "stroke-linejoin": "round", "paint-order": "stroke"}
    return ink


def stylesheet() -> str:
    """Return how every kind of mark looks in a page, in light and in dark."""
    colours, rules = _BOTH._asdict() | {"hue": "", "none": "none"}, []
    for kind, look in LOOKS.items():
        ink = _attributes(look, colours) | ({"font-size": f"{look.size:g}px"} if look.size else {})
        declarations = "; ".join(f"{name}: {value}" for name, value in ink.items() if value)
        rules.append(f"svg .{kind.replace(' ', '.')} {{ {declarations} }}")
    return "\n".join(rules)


def id_of(parts: Sequence[str]) -> str:
    """Join parts to an id, by which the browser tells spots apart."""
    return json.dumps(list(parts), separators=(",", ":"), ensure_ascii=False)


def _short(number: float) -> str:
    return f"{round(float(number), 1) + 0.0:g}"


class Scale(NamedTuple):
    """Values from least to most, at places from left to right."""

    least: float
    most: float
    left: float = 0.0
    right: float = 100.0

    @classmethod
    def around(cls, values: Iterable[float], left: float = 0.0, right: float = 100.0) -> Scale:
        """Make a scale with a little room on both sides. Values that are not finite do not count."""
        finite = [float(value) for value in values if math.isfinite(value)] or [0.0, 1.0]
        least, most = min(finite), max(finite)
        room = (most - least) * 0.05 or abs(most) * 0.1 or 0.5
        return cls(least - room, most + room, left, right)

    def at(self, value: float) -> float:
        """Return the place of a value. By hand: halfway from least to most is halfway from left to right.

        >>> Scale(0, 10, 100, 200).at(5)
        150.0
        """
        return self.left + (float(value) - self.least) / (self.most - self.least) * (self.right - self.left)

    def cut(self, value: float) -> float:
        """Return the same, as far as the scale goes."""
        return self.at(min(max(value, self.least), self.most))

    def beyond(self, value: float) -> int:
        """Return -1 or 1 for a value left or right of the scale.

        >>> [Scale(0, 10).beyond(value) for value in (-1, 10, 11)]
        [-1, 0, 1]
        """
        slack = 1e-9 * (self.most - self.least)
        return -1 if value < self.least - slack else int(value > self.most + slack)

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers inside, with at most so many steps between them.

        >>> Scale(-0.12, 0.31).ticks()
        [-0.1, 0.0, 0.1, 0.2, 0.3]
        """
        span = self.most - self.least
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if span / (power * factor) <= most)
        first = math.ceil(self.least / step - 1e-9)
        values = [round((first + number) * step, 10) + 0.0 for number in range(most + 2)]
        return [value for value in values if not self.beyond(value)]


def wrapped(text: str, width: int, most: int = 3) -> list[str]:
    """Wrap a text in lines of about so many letters, at most so many lines."""
    lines: list[str] = []
    for word in text.replace("_", "_ ").split():
        joined = f"{lines[-1]}{'' if lines[-1].endswith('_') else ' '}{word}" if lines else word
        if lines and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    first: Sequence[str] = lines[:most]
    return [*first[:-1], f"{first[-1]} …"] if len(lines) > most else list(first)
