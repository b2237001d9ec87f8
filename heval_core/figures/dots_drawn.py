"""Dot figures drawn: as one drawing for the report and downloads; for pages, whose component `ui/marks.py` shows them, as one
of each panel, of which as many stand in a line as fit.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, product
from typing import Any, NamedTuple

from heval_core.figures.dots import FOOT, GAP, RANK, Dot, DotFigure, DotRow, Panel, Slot
from heval_core.figures.palette import RIM, luminance
from heval_core.present.drawing import Drawing, Mark, Scale, as_svg, stylesheet, wrapped
from heval_core.present.html import render
from heval_core.present.numbers import number
from heval_core.records.vocabulary import OURS

WIDTH, WIDEST, BETWEEN, PER_LINE = 1216.0, 232.0, 30.0, 6
# Chances this close to each other, as a share of the axis, are one dashed line through a panel.
_SAME = 0.005
# Pixels of a digit, and of a letter of a name.
_DIGIT, _LETTER = 6.8, 5.9
_GREY = "#808080"
# From the middle of a dot to its edge, and some room.
_DOT = 9.0
_CONTROL, _MISSING = Mark("diamond", "control", size=5.5), Mark("circle", "missing", size=6.5)


def as_drawing(figure: DotFigure) -> Drawing:
    """Draw the panels, a few to a line."""
    # As a file a figure may be drawn with wider letters than the page has.
    side, count = figure.side + 28, math.ceil(len(figure.panels) / math.ceil(max(len(figure.panels), 1) / PER_LINE))
    wide = min(WIDEST, (WIDTH - side) / max(count, 1) - BETWEEN)
    drawing = Drawing(side + count * (wide + BETWEEN), 0, figure.title)
    top = _legend_lines(drawing, figure)
    for start in range(0, len(figure.panels), count or 1):
        axis = figure.axis._replace(words=() if start else figure.axis.words)
        line = replace(figure, panels=figure.panels[start : start + count], axis=axis)
        inner = Drawing(drawing.width, 0, "")
        _ground(inner, line, line.names_at, drawing.width)
        _names(inner, line)
        for index in range(len(line.panels)):
            left = side + index * (wide + BETWEEN)
            _panel(inner, line, index, Scale(0, 100, left, left + wide))
        drawing.embed(inner, 0, top)
        top += line.bottom + FOOT
    drawing.height = top
    return drawing


class FigurePart(NamedTuple):
    """One of the figures that stand side by side where there is room. note: under its title."""

    figure: DotFigure | Drawing
    title: str = ""
    note: str = ""


def as_html(*parts: FigurePart) -> str:
    rendered = [{"title": part.title, "note": part.note, **_as_page(part.figure)} for part in parts]
    return render("figure.html", parts=rendered, style=stylesheet())


def _as_page(figure: DotFigure | Drawing) -> dict[str, Any]:
    """Return what the template draws: of dots as SVG the legend, the rows' names, and each panel."""
    if isinstance(figure, Drawing):
        return {"plot": as_svg(figure, None, active=True)}
    names = Drawing(figure.side, figure.bottom + FOOT, "rows")
    _ground(names, figure, figure.names_at, figure.side + 14)
    _names(names, figure)
    return {
        "legend": [as_svg(_legend_item(*item), None) for item in figure.signs],
        "hint": figure.hint,
        "names": as_svg(names, None, active=True),
        "panels": [as_svg(drawing, None, active=True) for drawing in fluid_panels(figure)],
        "side": round(figure.side) + 14,
        "least": round(figure.least),
        "gap": round(figure.gap),
    }


def fluid_panels(figure: DotFigure) -> list[Drawing]:
    """Draw each panel by itself, of any width."""
    drawings = []
    for index, panel in enumerate(figure.panels):
        drawing = Drawing(100, figure.bottom + FOOT, panel.title, fluid=True)
        _ground(drawing, figure, 0, 130)
        _panel(drawing, figure, index, Scale(0, 100))
        drawings.append(drawing)
    return drawings


def _ground(drawing: Drawing, figure: DotFigure, left: float, right: float) -> None:
    """Draw lines between rows, and the band of the controls."""
    if controls := [top - 2 for row, top, _ in figure.lines if row.control]:
        drawing.box("band", (left, controls[0]), (right - left, figure.bottom - controls[0]))
    for row, top, _ in figure.lines[1:]:
        if not row.control:
            drawing.line("grid", (left, top + 0.5), (right, top + 0.5))


def _names(drawing: Drawing, figure: DotFigure) -> None:
    left = figure.names_at + figure.icon
    cut = int((figure.side - left - figure.mean) / _LETTER)
    for row, top, height in figure.lines:
        kind = "faint" if row.control else "plain" if row.shape and not row.strong else "name"
        end = OURS if row.title.endswith(OURS) else ""  # stays where a name is cut
        title = row.title if len(row.title) <= cut else f"{row.title[: cut - 1 - len(end)]}…{end}"
        marks = [Mark("text", kind, left or (10 if row.control else 0), -2 if row.note else 5, text=title)]
        marks += [Mark("text", "faint", left, 13, text=row.note)] if row.note else []
        marks += [shaped(row.shape, row.strong, 6.5, 9)] if row.shape else []
        if row.mean:
            written = "quiet" if row.control else "strong" if row.best else "number"
            marks.append(Mark("text", written, figure.side, 5, text=row.mean, anchor="end"))
        about = (f"{row.title}: {row.hint}" if row.hint else row.title,)
        drawing.spot((0, top + height / 2), marks, about, id=row.id, wide=figure.side if row.id else 0.0)
    if figure.names_at:
        _ranks(drawing, figure)


def _ranks(drawing: Drawing, figure: DotFigure) -> None:
    """Draw the heads of the columns beside the names, and each rank, with a bracket round the rows that share it."""
    drawing.words("faint", (0, figure.head - 8), "rank")
    drawing.words("faint", (figure.side, figure.head - 8), "mean", "end")
    for rank, group in groupby((line for line in figure.lines if line[0].rank), key=lambda line: line[0].rank):
        band = list(group)
        top, bottom = band[0][1] + 4, sum(band[-1][1:]) - 4
        drawing.words("faint", (RANK - 13, (top + bottom) / 2 + 4.5), rank, "end")
        if len(band) > 1:
            drawing.lines("tick", [(RANK - 5, top), (RANK - 9, top), (RANK - 9, bottom), (RANK - 5, bottom)])


def shaped(shape: str, strong: bool, size: float, x: float = 0.0) -> Mark:
    """Return the sign of a technique's family. shape: of OUTLINES, `circle`, or `regular`."""
    if shape == "regular":
        return Mark("circle", "regular", x, size=size)
    return Mark(shape, "full" if strong else "hollow", x, size=size)


def _panel(drawing: Drawing, figure: DotFigure, index: int, across: Scale) -> None:
    """Draw a panel. index: of the panel. across: percent of the axis ▶ place in the drawing."""
    panel, axis, head, bottom = figure.panels[index], figure.axis, figure.head, figure.bottom
    lines = wrapped(panel.title, figure.letters)
    heading = [Mark("text", "title", 0, 16 + 18 * line, text=text) for line, text in enumerate(lines)]
    heading += [Mark("text", "faint", 0, 15 + 18 * len(lines), text=panel.note)] if panel.note else []
    drawing.spot((across.left, 0), heading, (panel.hint,) if panel.hint else ())
    if panel.apart:
        drawing.spot((across.left, 0), [Mark("line", "tick", -3, 0, -3, bottom)])
    inset = _inset(figure) * (across.right - across.left)
    at, chance = axis.scale._replace(left=across.left + inset, right=across.right), _chance(panel, axis.scale)
    wide = at.right - at.left
    if axis.better in ("high", "low") and math.isfinite(chance):
        ends = (across.left, at.cut(chance)) if axis.better == "high" else (at.cut(chance), at.right)
        end = next((top - GAP for row, top, _ in figure.lines if row.control), bottom)
        drawing.box("band", (ends[0], head), (ends[1] - ends[0], end - head))
    many = len(figure.panels)
    for value in at.ticks(min(axis.most, 5 if many <= 4 else 4 if many <= 6 else 2)):
        drawing.line("grid", (at.at(value), head), (at.at(value), bottom))
        last_one = at.at(value) - at.left > 0.93 * wide
        anchor, moved = ("end", 4) if last_one else ("middle", 0)
        drawing.words("faint", (at.at(value), bottom + 15), axis.text(value), anchor, dx=moved)
    for value, text in () if index else axis.words:
        share = (at.cut(value) - at.left) / wide
        drawing.words(
            "faint", (at.cut(value), bottom + 30), text, "end" if share > 0.9 else "start" if share < 0.08 else "middle"
        )
    if math.isfinite(chance):
        drawing.line("chance", (at.at(chance), head - 6), (at.at(chance), bottom))
    for line, slot in zip(figure.lines, panel.slots, strict=True):
        _slot(drawing, figure, line, slot, at, chance)


def _inset(figure: DotFigure) -> float:
    """Return the share of a panel left of its axis, so that a dot at its beginning is in its own column and not
    between two.
    """
    scale, share = figure.axis.scale, _DOT / figure.least
    known = [dot.value for panel in figure.panels for slot in panel.slots for dot in slot.dots]
    return share if any(0 <= (value - scale.least) / (scale.most - scale.least) < share for value in known) else 0.0


def _chance(panel: Panel, scale: Scale) -> float:
    """Return the one chance of a panel; NaN where each dot has its own, or none is known."""
    if math.isfinite(panel.chance):
        return panel.chance
    known = [dot.chance for slot in panel.slots for dot in slot.dots if math.isfinite(dot.chance)]
    alike = bool(known) and max(known) - min(known) <= _SAME * (scale.most - scale.least)
    return known[0] if alike and not scale.beyond(known[0]) else math.nan


def _slot(
    drawing: Drawing, figure: DotFigure, line: tuple[DotRow, float, float], slot: Slot, at: Scale, chance: float
) -> None:
    """Draw a slot. line: of `figure.lines`. chance: of the panel, where it has one."""
    row, top, height = line
    y = top + (10 if slot.cells and not row.control else height / 2)
    centres = [at.cut(dot.value) for dot in slot.dots]
    if slot.missing:
        where = at.cut(slot.missing.value), top + height / 2
        drawing.spot(where, [_MISSING], slot.missing.title, id=slot.missing.id)
    if len(centres) > 1:
        drawing.line("thin" if row.control else "stem", (min(centres), y), (max(centres), y), row.hue or _GREY)
    for dot in slot.dots:
        if math.isnan(chance) and not (math.isnan(dot.chance) or at.beyond(dot.chance)):
            drawing.line("chance", (at.at(dot.chance), y - height / 2 + 1), (at.at(dot.chance), y + height / 2 - 1))
        _whisker(drawing, dot, at, y)
    for cell in () if row.control else slot.cells:
        tick = _beyond(at.beyond(cell.value), 3.0) or [_cell(cell.sign)]
        drawing.spot((at.cut(cell.value), y + 11), tick, cell.title, id=cell.id, reach=3.5)
    for dot, centre, lower in reversed(list(zip(slot.dots, centres, _lowered(row, centres, at), strict=True))):
        drawing.spot((centre, y + lower), _beyond(at.beyond(dot.value)) or _dot(row, dot), dot.title, id=dot.id)
    if centres:
        _numbers(drawing, figure, row, slot, at, y, chance)


def _lowered(row: DotRow, centres: Sequence[float], at: Scale) -> Sequence[float]:
    """Return which of two dots that would hide each other's sign stands a little above the other."""
    near = len(centres) == 2 and not row.control and abs(centres[0] - centres[1]) < 0.07 * (at.right - at.left)
    return (-4, 6) if near else [0] * len(centres)


def _numbers(drawing: Drawing, figure: DotFigure, row: DotRow, slot: Slot, at: Scale, y: float, chance: float) -> None:
    """Draw one number beside all dots; one for each where those of a control stand far apart."""
    centres, wide = [at.cut(dot.value) for dot in slot.dots], at.right - at.left
    kind = "quiet" if row.control else "strong" if slot.best else "number"
    if row.control and max(centres) - min(centres) >= wide / 4 and all(dot.sign for dot in slot.dots):
        for dot, centre in zip(slot.dots, centres, strict=True):
            anchor, moved = ("end", -10) if centre > (at.left + at.right) / 2 else ("start", 10)
            drawing.words(kind, (centre, y - 1.5), f"{dot.sign}: {number(dot.value)}", anchor, dx=moved)
    elif slot.text:
        _beside(drawing, kind, slot, at, y, chance, figure)


def _beside(drawing: Drawing, kind: str, slot: Slot, at: Scale, y: float, chance: float, figure: DotFigure) -> None:
    """Draw the number right of the dots and their intervals, left of them where the axis ends; close to them or beyond the
    line of chance where it would else stand on that.
    """
    pixel = (at.right - at.left) / (figure.least * (1 - _inset(figure))) if drawing.fluid else 1.0
    ends = [at.cut(end) for dot in slot.dots for end in (dot.low, dot.high) if math.isfinite(end)]
    ends += [at.cut(dot.value) + side * pixel for dot in slot.dots for side in (-4, 4)]
    line = at.at(chance) if math.isfinite(chance) else math.inf
    wide = _DIGIT * (len(slot.text) - 0.5 * slot.text.count("."))

    def inside(right: bool, gap: float) -> bool:
        reach = (gap + wide + 1) * pixel
        return max(ends) + reach < at.right + (figure.gap - 4) * pixel if right else min(ends) - reach > at.left

    def free(right: bool, gap: float) -> bool:
        far_off = line - max(ends) if right else min(ends) - line
        return inside(right, gap) and not 0 < far_off < (gap + wide + 1) * pixel

    far = 10 if kind == "quiet" else 12
    choices = [choice for choice in product((True, False), (far, 8, 6)) if free(*choice)]
    if not choices:
        ends.append(line)
    right, gap = choices[0] if choices else (inside(True, far), far)
    where = (max(ends), "start", gap) if right else (min(ends), "end", -gap)
    drawing.words(kind, (where[0], y + 4.5), slot.text, where[1], dx=where[2])


def _whisker(drawing: Drawing, dot: Dot, at: Scale, y: float) -> None:
    """Cut where the axis ends, with an arrow."""
    if not math.isfinite(dot.high - dot.low) or at.beyond(dot.value):
        return
    drawing.line("whisker", (at.cut(dot.low), y), (at.cut(dot.high), y))
    for end in (dot.low, dot.high):
        if side := at.beyond(end):
            drawing.spot((at.cut(end), y), _beyond(side, 3.0), dot.title)


def _beyond(side: int, size: float = 5.0) -> list[Mark]:
    """Draw the arrow at the edge that stands for what lies beyond it."""
    return [Mark("left" if side < 0 else "right", "beyond", x=-side * size * 0.6, size=size)] if side else []


def _cell(sign: str) -> Mark:
    return Mark("text", "half", 0, 3, text=sign, anchor="middle") if sign else Mark("line", "cell", 0, -3, 0, 3)


def _dot(row: DotRow, dot: Dot) -> list[Mark]:
    if row.control:
        return [_CONTROL]
    hue = dot.hue or row.hue
    if not hue:
        return [Mark("circle", "hollow" if dot.hollow else "full", size=5.0)]
    radius = 7.5 if dot.sign else 6.0
    marks = [Mark("circle", "dot", size=radius, hue=hue)]
    marks += [Mark("circle", "core", size=radius - 2.9)] if dot.hollow else []
    if dot.sign and dot.hollow:
        return [*marks, Mark("text", "sign-open", y=3.8, text=dot.sign, anchor="middle")]
    ink = "#FFFFFF" if dot.sign and luminance(hue) < 0.2 else RIM
    return [*marks, Mark("text", "sign", y=3.8, text=dot.sign, anchor="middle", hue=ink)] if dot.sign else marks


_SOME = DotRow("", "", hue=_GREY)
# A sign of the legend ▶ how wide it is with the room behind it, and where its marks stand.
_SIGNS = {
    "pair": (48, {9: _dot(_SOME, Dot(0, sign="1")), 33: _dot(_SOME, Dot(0, sign="2", hollow=True))}),
    "dot": (32, {14: _dot(_SOME, Dot(0))}),
    "cell": (14, {8: [Mark("line", "cell", 0, -4, 0, 4)]}),
    "halves": (32, {8: [_cell("1")], 20: [_cell("2")]}),
    "hollow": (20, {8: [Mark("circle", "hollow", size=5)]}),
    "rank": (20, {8: [Mark("line", "tick", 0, -6, 0, 6)]}),
    "below": (22, {8: [Mark("box", "band", -7, -7, 16, 14)]}),
    "control": (18, {8: [_CONTROL]}),
    "missing": (20, {8: [_MISSING]}),
    "chance": (14, {8: [Mark("line", "chance", 0, -8, 0, 8)]}),
    "bold": (32, {14: [Mark("text", "strong", 0, 5, text="0.9", anchor="middle")]}),
    "given": (14, {8: [Mark("text", "faint", 0, 5, text="†", anchor="middle")]}),
}


def _legend_item(kind: str, text: str) -> Drawing:
    width, spots = _SIGNS[kind]
    drawing = Drawing(width + 5.8 * len(text) + 4, 18, text)
    if kind in ("pair", "dot"):
        drawing.line("stem" if kind == "pair" else "whisker", (1, 9), (width - 6, 9), _GREY)
    for x, marks in spots.items():
        drawing.spot((x, 9), marks)
    drawing.words("faint", (width, 13), text)
    return drawing


def _legend_lines(drawing: Drawing, figure: DotFigure) -> float:
    """Draw the legend on top of a drawing; returns where it ends."""
    x, y = 0.0, 0.0
    for item in (_legend_item(*item) for item in figure.signs):
        if x and x + item.width > drawing.width:
            x, y = 0.0, y + 20
        drawing.embed(item, x, y)
        x += item.width + 16
    return y + 26 if figure.signs else 0.0
