"""Figures for the report and for pages, whose component `ui/marks.py` shows them: dot figures as one drawing, or as one of
each panel, of which a page has as many in a line as fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from heval_core.figures.dots import FOOT, GAP, MEAN, PER_LINE, RANK, Dot, DotFigure, Panel, Row, Slot
from heval_core.figures.palette import RIM, luminance
from heval_core.html import render
from heval_core.present.drawing import Drawing, Mark, Scale, as_svg, stylesheet, wrapped
from heval_core.present.numbers import number

WIDTH, WIDEST, BETWEEN = 1216.0, 232.0, 30.0
# Chances this close to each other, in percent of the axis, are one dashed line through a panel.
_SAME = 0.5
# Pixels that a number needs right of its dot; where the panel's axis has less, it stands left of it.
_ROOM = 52.0


def as_drawing(figure: DotFigure) -> Drawing:
    """The panels, a few to a line."""
    side, count = figure.side + 8, math.ceil(len(figure.panels) / math.ceil(max(len(figure.panels), 1) / PER_LINE))
    between = 12.0 if figure.above else BETWEEN
    wide = min(90.0 if figure.above else WIDEST, (WIDTH - side) / max(count, 1) - between)
    drawing = Drawing(side + count * (wide + between), 0, figure.title)
    top = _legend_lines(drawing, figure)
    for start in range(0, len(figure.panels), count or 1):
        line = replace(figure, panels=figure.panels[start : start + count])
        inner = Drawing(drawing.width, 0, "")
        _ground(inner, line, line.names_at, drawing.width)
        _names(inner, line)
        for place, panel in enumerate(line.panels):
            left = side + place * (wide + between)
            _panel(inner, line, panel, Scale(0, 100, left, left + wide))
        drawing.place(inner, 0, top)
        top += line.head + line.tops[-1] + FOOT
    drawing.height = top
    return drawing


class Part(NamedTuple):
    """One of the figures that stand side by side where there is room. note: under its title."""

    figure: DotFigure | Drawing
    title: str = ""
    note: str = ""


def as_html(*parts: Part) -> str:
    drawn = [{"title": part.title, "note": part.note, **_as_page(part.figure)} for part in parts]
    return render("figure.html", parts=drawn, style=stylesheet())


def _as_page(figure: DotFigure | Drawing) -> dict[str, Any]:
    """What the template draws: of dots as SVG the legend, the rows' names, and each panel."""
    if isinstance(figure, Drawing):
        return {"plot": as_svg(figure, None, active=True)}
    names = Drawing(figure.side, figure.head + figure.tops[-1] + FOOT, "rows")
    _ground(names, figure, figure.names_at, figure.side + 14)
    _names(names, figure)
    panels = []
    for panel in figure.panels:
        drawing = Drawing(100, names.height, panel.title, fluid=True)
        _ground(drawing, figure, 0, 130)
        _panel(drawing, figure, panel, Scale(0, 100))
        panels.append(as_svg(drawing, None, active=True))
    return {
        "legend": [as_svg(_legend_item(*item), None) for item in figure.signs],
        "hint": figure.hint,
        "names": as_svg(names, None, active=True),
        "panels": panels,
        "side": round(figure.side) + 14,
        "least": round(figure.least),
        "gap": round(figure.gap),
    }


def _ground(drawing: Drawing, figure: DotFigure, left: float, right: float) -> None:
    """Lines between rows, and the band of the controls."""
    head, controls = figure.head, [number for number, row in enumerate(figure.rows) if row.control]
    if controls:
        start = figure.tops[controls[0]] - 2
        drawing.box("band", (left, head + start), (right - left, figure.tops[-1] - start))
    for row, top in zip(figure.rows, figure.tops, strict=False):
        if not row.control and top > figure.tops[0]:
            drawing.line("grid", (left, head + top + 0.5), (right, head + top + 0.5))


def _names(drawing: Drawing, figure: DotFigure) -> None:
    icon = figure.names_at + (24.0 if any(row.shape for row in figure.rows) else 0.0)
    room = figure.side - icon - (MEAN if any(row.mean for row in figure.rows) else 0.0)
    for row, top in zip(figure.rows, figure.tops, strict=False):
        middle = figure.head + top + figure.height(row) / 2
        kind = "faint" if row.control else "plain" if row.shape and not row.strong else "name"
        cut = int(room / 6.9)
        title = row.title if len(row.title) <= cut else row.title[: cut - 1] + "…"
        marks = [Mark("text", kind, icon or (10 if row.control else 0), -2 if row.note else 5, text=title)]
        marks += [Mark("text", "faint", icon, 13, text=row.note)] if row.note else []
        marks += [shaped(row.shape, row.strong, 6.5, 9)] if row.shape else []
        if row.mean:
            written = "quiet" if row.control else "strong" if row.best else "number"
            marks.append(Mark("text", written, figure.side, 5, text=row.mean, anchor="end"))
        about = (f"{row.title}: {row.hint}" if row.hint else row.title,)
        drawing.spot((0, middle), marks, about, id=row.id, wide=figure.side if row.id else 0.0)
    if figure.names_at:
        _ranks(drawing, figure)


def _ranks(drawing: Drawing, figure: DotFigure) -> None:
    """The heads of the columns beside the names, and each rank, with a bracket round the rows that share it."""
    drawing.words("faint", (0, figure.head - 8), "rank")
    drawing.words("faint", (figure.side, figure.head - 8), "mean", "end")
    lines = [
        (row, figure.head + top, figure.head + top + figure.height(row))
        for row, top in zip(figure.rows, figure.tops, strict=False)
    ]
    for rank, own in groupby((line for line in lines if line[0].rank), key=lambda line: line[0].rank):
        band = list(own)
        top, bottom = band[0][1] + 4, band[-1][2] - 4
        drawing.words("faint", (RANK - 13, (top + bottom) / 2 + 4.5), rank, "end")
        if len(band) > 1:
            drawing.lines("tick", [(RANK - 5, top), (RANK - 9, top), (RANK - 9, bottom), (RANK - 5, bottom)])


def shaped(shape: str, strong: bool, size: float, x: float = 0.0) -> Mark:
    """The sign of a technique's family. shape: of OUTLINES, `circle`, or `regular`."""
    if shape == "regular":
        return Mark("circle", "regular", x, size=size)
    return Mark(shape, "full" if strong else "hollow", x, size=size)


def _panel(drawing: Drawing, figure: DotFigure, panel: Panel, across: Scale) -> None:
    """across: percent of the axis ▶ place in the drawing."""
    head, bottom = figure.head, figure.head + figure.tops[-1]
    titles = wrapped(panel.title, figure.letters)
    heading = [Mark("text", "title", 0, 16 + 18 * line, text=text) for line, text in enumerate(titles)]
    note = [Mark("text", "link" if panel.link else "faint", 0, 15 + 18 * len(heading), text=panel.note)] if panel.note else []
    drawing.spot((across.left, 0), heading + (note if not panel.link else []), (panel.hint,) if panel.hint else ())
    if panel.link:
        drawing.spot((across.left, 0), note, (f"{panel.title} {panel.note}",), link=panel.link)
    axis, chance = panel.axis, _chance(panel)
    at = axis.scale._replace(left=across.left, right=across.right)
    if axis.better in ("high", "low") and math.isfinite(chance):
        ends = (at.left, at.cut(chance)) if axis.better == "high" else (at.cut(chance), at.right)
        last = next((top for row, top in zip(figure.rows, figure.tops, strict=False) if row.control), figure.tops[-1] + GAP)
        drawing.box("band", (ends[0], head), (ends[1] - ends[0], last - GAP))
    many = len(figure.panels)
    for value in at.ticks(min(axis.ticks, 5 if many <= 4 else 4 if many <= 6 else 2)):
        drawing.line("grid", (at.at(value), head), (at.at(value), bottom))
        last = at.at(value) - at.left > 0.93 * (at.right - at.left)
        drawing.words("faint", (at.at(value), bottom + 15), axis.text(value), "end" if last else "middle", dx=4 if last else 0)
    for value, text in panel.words:
        share = 100 * (at.cut(value) - at.left) / (at.right - at.left)
        drawing.words("faint", (at.cut(value), bottom + 30), text, "end" if share > 90 else "start" if share < 8 else "middle")
    if math.isfinite(chance):
        drawing.line(figure.zero, (at.at(chance), head - 6), (at.at(chance), bottom))
    for row, slot, top in zip(figure.rows, panel.slots, figure.tops, strict=False):
        _slot(drawing, figure, row, slot, at, head + top, chance)


def _chance(panel: Panel) -> float:
    """The one chance of a panel; NaN where each dot has its own, or none is known."""
    if math.isfinite(panel.chance):
        return panel.chance
    known = [dot.chance for slot in panel.slots for dot in slot.dots if math.isfinite(dot.chance)]
    scale = panel.axis.scale
    one = bool(known) and max(known) - min(known) <= _SAME / 100 * (scale.most - scale.least)
    return known[0] if one and not scale.beyond(known[0]) else math.nan


def _slot(drawing: Drawing, figure: DotFigure, row: Row, slot: Slot, at: Scale, top: float, chance: float) -> None:
    """chance: of the panel, where it has one."""
    height, lanes = figure.height(row), 1 + max((dot.lane for dot in slot.dots), default=0)
    middle = top + (height - 14 if figure.above else 10 if slot.cells and not row.control else height / 2)
    lane = figure.lane if lanes > 1 else 0.0
    lines = {dot: middle + lane * (dot.lane - (lanes - 1) / 2) for dot in slot.dots}
    if not slot.dots:
        _missing(drawing, slot, at, top + height / 2)
    if len(slot.dots) > 1 and lanes == 1:
        ends = [at.cut(dot.value) for dot in slot.dots]
        drawing.line("thin" if row.control else "stem", (min(ends), middle), (max(ends), middle), row.hue or "#808080")
    for dot, y in lines.items():
        if not math.isfinite(chance) and math.isfinite(dot.chance) and not at.beyond(dot.chance):
            tall = lane / 2 or height / 2 - 1
            drawing.line("chance" if lanes == 1 else "tick", (at.at(dot.chance), y - tall), (at.at(dot.chance), y + tall))
        if figure.bars and not row.control:
            drawing.line("stem", (at.cut(0), y), (at.cut(dot.value), y), row.hue or "#808080")
        _whisker(drawing, dot, at, y)
    for cell in () if row.control else slot.cells:
        tick = _beyond(at.beyond(cell.value), 3.0) or [Mark("line", "cell", 0, -3, 0, 3)]
        drawing.spot((at.cut(cell.value), middle + 11), tick, cell.title, id=cell.id, reach=3.5)
    # Two dots that would hide each other's sign stand one a little above the other.
    near = (
        len(slot.dots) == 2
        and lanes == 1
        and abs(at.cut(slot.dots[0].value) - at.cut(slot.dots[1].value)) < 0.07 * (at.right - at.left)
    )
    for place, dot in reversed(list(enumerate(slot.dots))):
        y = lines[dot] + ((-4, 6)[place] if near and not row.control else 0)
        marks = _beyond(at.beyond(dot.value)) or _dot(row, dot, min(7.0, max(1.8, 0.6 * lane)) if 0 < lane < 10 else 0.0)
        drawing.spot((at.cut(dot.value), y), marks, dot.title, id=dot.id, link=dot.link)
    _numbers(drawing, figure, row, slot, at, lines, chance)


def _missing(drawing: Drawing, slot: Slot, at: Scale, y: float) -> None:
    if slot.missing is not None and slot.missing.id:
        ring = (Mark("circle", "missing", size=6.5),)
        drawing.spot((at.cut(slot.missing.value), y), ring, slot.missing.title, id=slot.missing.id)
    elif slot.missing is not None:
        drawing.words("faint", ((at.left + at.right) / 2, y + 4), "not available", "middle")


def _whisker(drawing: Drawing, dot: Dot, at: Scale, y: float) -> None:
    """Cut where the axis ends, with an arrow."""
    if not math.isfinite(dot.high - dot.low) or at.beyond(dot.value):
        return
    drawing.line("whisker", (at.cut(dot.low), y), (at.cut(dot.high), y))
    for end in (dot.low, dot.high):
        if side := at.beyond(end):
            drawing.spot((at.cut(end), y), _beyond(side, 3.0), dot.title)


def _beyond(side: int, size: float = 5.0) -> list[Mark]:
    """The arrow at the edge that stands for what lies beyond it."""
    return [Mark("left" if side < 0 else "right", "beyond", x=-side * size * 0.6, size=size)] if side else []


def _dot(row: Row, dot: Dot, size: float) -> list[Mark]:
    if row.control:
        return [Mark("diamond", "control", size=size or 5.5)]
    hue = dot.hue or row.hue
    if not hue:
        return [Mark("circle", "hollow" if dot.hollow else "full", size=size or 5.0)]
    radius = size or (7.5 if dot.sign else 6.0)
    marks = [Mark("circle", "dot", size=radius, hue=hue)]
    marks += [Mark("circle", "core", size=radius - 2.9)] if dot.hollow else []
    if dot.sign and dot.hollow:
        return [*marks, Mark("text", "sign-open", y=3.8, text=dot.sign, anchor="middle")]
    ink = "#FFFFFF" if dot.sign and luminance(hue) < 0.2 else RIM
    return [*marks, Mark("text", "sign", y=3.8, text=dot.sign, anchor="middle", hue=ink)] if dot.sign else marks


def _numbers(
    drawing: Drawing, figure: DotFigure, row: Row, slot: Slot, at: Scale, lines: dict[Dot, float], chance: float
) -> None:
    around = _Around(chance, (_ROOM - figure.gap) / figure.least, figure.bars and not row.control)
    kind = "quiet" if row.control else "strong" if slot.best else "number"
    values = [at.cut(dot.value) for dot in slot.dots]
    spread = max(values, default=0.0) - min(values, default=0.0)
    apart = row.control and spread >= (at.right - at.left) / 4 and all(dot.sign for dot in slot.dots)
    for dot, y in lines.items():
        if slot.text and apart:
            text = f"{dot.sign}: {number(dot.value)}" if dot.sign else number(dot.value)
            left = at.cut(dot.value) > (at.left + at.right) / 2
            drawing.words(kind, (at.cut(dot.value), y - 1.5), text, "end" if left else "start", dx=-10 if left else 10)
        elif figure.above:
            share = min(max(at.cut(dot.value), at.left + 0.08 * (at.right - at.left)), at.right - 0.08 * (at.right - at.left))
            drawing.words("strong" if dot.strong else "quiet", (share, y - 11), dot.text, "middle")
        elif not slot.text and (dot.text or (at.beyond(dot.value) and dot.lane == 0)):
            own = "strong" if dot.strong else "quiet" if at.beyond(dot.value) else kind
            _beside(drawing, own, dot.text or number(dot.value), [dot], at, y, around)
    if slot.text and slot.dots and not apart:
        _beside(drawing, kind, slot.text, slot.dots, at, sum(lines.values()) / len(lines), around)


class _Around(NamedTuple):
    """What a number beside dots keeps clear of. room: what it needs of the axis, as a share of it."""

    chance: float
    room: float
    bars: bool


def _beside(drawing: Drawing, kind: str, text: str, dots: Sequence[Dot], at: Scale, y: float, around: _Around) -> None:
    """Right of the dots and their intervals, and of the line of chance; left of them where the axis ends, and of bars to the
    left."""
    ends = [at.cut(end) for dot in dots for end in (dot.value, dot.low, dot.high) if math.isfinite(end)]
    span, bars = at.right - at.left, around.bars
    near = math.isfinite(around.chance) and 0 < at.at(around.chance) - max(ends) < 2 * around.room * span
    ends += [at.at(around.chance)] if near and not bars else []
    left = max(ends) - at.left > (1 - around.room) * span or (bars and dots[0].value < 0 and max(ends) < at.cut(0))
    gap = 12 if kind == "quiet" else 14
    # Not on the bar that leads to the dot.
    lifted = 9 if bars and left and max(ends) > at.cut(0) else 0
    place = (min(ends) if left else max(ends), y + 4.5 - lifted)
    drawing.words(kind, place, text, "end" if left else "start", dx=-gap if left else gap)


def _legend_item(kind: str, text: str) -> Drawing:
    width = {"pair": 48, "dot": 32, "below": 22, "missing": 20, "control": 18, "cell": 14, "chance": 14}.get(kind, 20)
    drawing = Drawing(width + 5.8 * len(text) + 4, 18, text)
    grey, row = "#808080", Row("", "", hue="#808080")
    if kind in ("pair", "dot"):
        drawing.line("stem" if kind == "pair" else "whisker", (1, 9), (width - 6, 9), grey)
    dots = {"pair": [(9, Dot(0, sign="1")), (33, Dot(0, sign="2", hollow=True))], "dot": [(14, Dot(0))]}.get(kind, [])
    for x, dot in dots:
        drawing.spot((x, 9), _dot(row, dot, 0.0))
    signs = {
        "cell": Mark("line", "cell", 0, -4, 0, 4),
        "hollow": Mark("circle", "hollow", size=5),
        "rank": Mark("line", "tick", 0, -6, 0, 6),
        "below": Mark("box", "band", -7, -7, 16, 14),
        "control": Mark("diamond", "control", size=5.5),
        "missing": Mark("circle", "missing", size=6.5),
        "chance": Mark("line", "chance", 0, -8, 0, 8),
    }
    drawing.spot((8, 9), [signs[kind]] if kind in signs else [] if dots else [shaped(kind, False, 6.0)])
    drawing.words("faint", (width, 13), text)
    return drawing


def _legend_lines(drawing: Drawing, figure: DotFigure) -> float:
    """The legend on top of a drawing; returns where it ends."""
    x, y = 0.0, 0.0
    for item in (_legend_item(*item) for item in figure.signs):
        if x and x + item.width > drawing.width:
            x, y = 0.0, y + 20
        drawing.place(item, x, y)
        x += item.width + 16
    return y + 26 if figure.signs else 0.0
