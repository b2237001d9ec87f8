"""The two kinds of figures that a report has, as drawings: dots with intervals, and stacked shares; both as small panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from heval_core.figures.palette import colour, in_order, luminance
from heval_core.present.numbers import number, short
from heval_core.report.drawing import Drawing, Scale, wrapped

WIDTH = 1080.0
NAMES, GAP, WIDEST = 150.0, 18.0, 200.0
LINE = 13.0
PER_FIGURE = 6
# How far an interval far wider than most may stretch an axis, in spans of its values; it is cut there, with an arrow.
FURTHEST = 0.5


class DotPanel(NamedTuple):
    """dots: explainer, lane (which of a row's lines, from 0), value, low, high, chance, tip. unit: of its own axis."""

    title: str
    dots: pd.DataFrame
    unit: str


class Row(NamedTuple):
    """Where an explainer's dots stand. step: from one lane to the next."""

    explainer: str
    top: float
    height: float
    step: float


def dot_panels(
    title: str,
    panels: Sequence[DotPanel],
    titles: Mapping[str, str],
    controls: set[str],
    shared: bool,
    order: Sequence[str] | None = None,
    ends: tuple[float, float] | None = None,
) -> Drawing:
    """A row for each explainer, controls in a band below; a dot with its whisker for each value, and its chance as a bar.

    order: of rows that are no explainers, such as techniques; these have no colours.

    shared: whether all panels have one scale. Controls do not stretch it: one that lies beyond has an arrow at the edge, and
    its number. Values that are not there are a dash. ends: of every axis, where they do not follow from the values.
    """
    frame = pd.concat([panel.dots for panel in panels], ignore_index=True)
    width = min(WIDEST, (WIDTH - NAMES) / len(panels) - GAP)
    heads = [wrapped(panel.title, max(10, int(width / 6))) for panel in panels]
    top = 8 + LINE * max(map(len, heads))
    rows = _rows(
        in_order(list(frame["explainer"].unique())) if order is None else order, int(frame["lane"].max()) + 1, controls, top
    )
    bottom = rows[-1].top + rows[-1].height
    drawing = Drawing(NAMES + len(panels) * (width + GAP), bottom + 34, title)
    _names(drawing, rows, titles, controls)
    for place, (panel, head) in enumerate(zip(panels, heads, strict=True)):
        left = NAMES + place * (width + GAP)
        own_axis = (left + 4, left + width - 4)
        scale = Scale(*ends, *own_axis) if ends else _scale(frame if shared else panel.dots, controls, *own_axis)
        for place_of, line in enumerate(head, start=1):
            drawing.words("head", (left, LINE * place_of), line)
        _axis(drawing, scale, (top, bottom), panel.unit if not shared or place == 0 else "")
        of_explainers = dict(iter(panel.dots.groupby("explainer", sort=False)))
        for row in rows:
            own = of_explainers.get(row.explainer, panel.dots.iloc[:0])
            if own["value"].notna().any():
                hue = colour(row.explainer) if order is None and row.explainer not in controls else ""
                _dots(drawing, scale, row, own, hue, row.explainer in controls)
            else:
                drawing.words("faint", (left + width / 2, row.top + row.height / 2 + 4), "not available", "middle")
    return drawing


def _rows(explainers: Sequence[str], lanes: int, controls: set[str], top: float) -> list[Row]:
    rows: list[Row] = []
    for explainer in explainers:
        step = max(2.2, min(4.5, 40 / lanes)) * (0.7 if explainer in controls else 1.0)
        if explainer in controls and rows and rows[-1].explainer not in controls:
            top += 8
        height = max(17.0, step * lanes + 6)
        rows.append(Row(explainer, top, height, step))
        top += height
    return rows


def _names(drawing: Drawing, rows: Sequence[Row], titles: Mapping[str, str], controls: set[str]) -> None:
    band = [row for row in rows if row.explainer in controls]
    if band:
        height = band[-1].top + band[-1].height - band[0].top
        drawing.box("band", (0, band[0].top), (drawing.width, height))
    for row in rows:
        name = titles.get(row.explainer, row.explainer)
        kind = "faint" if row.explainer in controls else "name"
        drawing.words(kind, (4, row.top + row.height / 2 + 4), wrapped(name, 26, 1)[0])
        drawing.line("grid", (0, row.top), (drawing.width, row.top))


def _scale(dots: pd.DataFrame, controls: set[str], left: float, right: float) -> Scale:
    methods = dots[~dots["explainer"].isin(controls)]
    shown = methods if methods["value"].notna().any() else dots
    values = [float(value) for value in (*shown["value"], *shown["chance"]) if pd.notna(value)] or [0.0, 1.0]
    widths = (shown["high"] - shown["low"]).astype(float)
    room = max(FURTHEST * (max(values) - min(values)), 1.5 * float(widths.median()) if widths.notna().any() else 0.0)
    ends = [float(end) for end in (*shown["low"], *shown["high"]) if pd.notna(end)]
    kept = [min(max(end, min(values) - room), max(values) + room) for end in ends]
    return Scale.around([*values, *kept], left, right)


def _axis(drawing: Drawing, scale: Scale, between: tuple[float, float], unit: str) -> None:
    top, bottom = between
    for tick in scale.ticks(4 if scale.right - scale.left < 140 else 5):
        drawing.line("grid", (scale.at(tick), top), (scale.at(tick), bottom))
        drawing.words("faint", (scale.at(tick), bottom + 13), short(tick), "middle")
    drawing.line("axis", (scale.left, bottom), (scale.right, bottom))
    if unit:
        drawing.words("faint", (scale.left, bottom + 27), unit)


def _dots(drawing: Drawing, scale: Scale, row: Row, own: pd.DataFrame, hue: str, control: bool) -> None:
    lanes = int(own["lane"].max()) + 1
    start = row.top + (row.height - row.step * (lanes - 1)) / 2
    radius = min(3.2, max(1.6, row.step * 0.6))
    for dot in own.itertuples():
        y = start + row.step * dot.lane
        if pd.notna(dot.chance) and scale.holds(dot.chance):
            drawing.line("chance", (scale.at(dot.chance), y - row.step / 2), (scale.at(dot.chance), y + row.step / 2))
        if pd.isna(dot.value):
            continue
        if not scale.holds(dot.value):
            _beyond(drawing, scale, dot, y)
            continue
        if pd.notna(dot.low) and pd.notna(dot.high):
            ends = (scale.at(max(dot.low, scale.least)), scale.at(min(dot.high, scale.most)))
            drawing.line("whisker", (ends[0], y), (ends[1], y))
            for cut, edge, shape in ((dot.low < scale.least, ends[0], "left"), (dot.high > scale.most, ends[1], "right")):
                if cut:
                    drawing.dot("ring", (edge, y), 1.8, tip=dot.tip, shape=shape)
        shape = "diamond" if control else "circle"
        drawing.dot("ring" if control else "dot", (scale.at(dot.value), y), radius, hue, dot.tip, shape=shape)


def _beyond(drawing: Drawing, scale: Scale, dot: Any, y: float) -> None:
    """A value outside the scale: an arrow at the edge; the number is written once a row, beside the first of them."""
    below = dot.value < scale.least
    edge = scale.left if below else scale.right
    drawing.dot("ring", (edge, y), 2.4, tip=dot.tip, shape="left" if below else "right")
    if dot.lane == 0:
        drawing.words("faint", (edge + (6 if below else -6), y + 4), number(float(dot.value)), "start" if below else "end")


class Share(NamedTuple):
    """A piece of a bar. key: what it is of, with a colour. interval: 95 %, drawn where the piece is the first of its bar."""

    key: str
    share: float
    tip: str
    interval: tuple[float, float] | None = None


class SharePanel(NamedTuple):
    """bars: (label, pieces from left to right)."""

    title: str
    bars: Sequence[tuple[str, Sequence[Share]]]


BAR, LABELS = 17.0, 262.0


def share_panels(title: str, panels: Sequence[SharePanel], hues: Mapping[str, str], legend: Mapping[str, str]) -> Drawing:
    """Stacked bars from 0 to 100 %, their labels on the left of the first panel. A piece of 7 % or more has its number.

    All panels have the same bars. hues: a colour for each key. legend: what a key is called, in order.
    """
    width = min(420.0, (WIDTH - LABELS) / len(panels) - GAP)
    labels = [label for label, _ in panels[0].bars]
    drawing = Drawing(LABELS + len(panels) * (width + GAP), 0, title)
    top = _legend(drawing, hues, legend) + LINE + 8
    for line, label in enumerate(labels):
        drawing.words("ink", (4, top + BAR * line + 11), wrapped(label, 48, 1)[0])
    for place, panel in enumerate(panels):
        left = LABELS + place * (width + GAP)
        drawing.words("head", (left, top - 6), wrapped(panel.title, int(width / 6), 1)[0])
        scale = Scale(0, 1, left, left + width)
        for line, (_, pieces) in enumerate(panel.bars):
            _bar(drawing, scale, top + BAR * line, pieces, hues)
        for tick, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            drawing.words("faint", (scale.at(tick), top + BAR * len(labels) + 10), f"{100 * tick:.0f} %", anchor)
    drawing.height = top + BAR * len(labels) + 18
    return drawing


def _legend(drawing: Drawing, hues: Mapping[str, str], legend: Mapping[str, str]) -> float:
    """One line or several; returns where it ends."""
    x, y = 4.0, 4.0
    for key, name in legend.items():
        needed = 30 + 6.2 * len(name)
        if x + needed > drawing.width and x > 4:
            x, y = 4.0, y + LINE + 3
        drawing.box("piece", (x, y), (10, 10), hues[key])
        drawing.words("ink", (x + 14, y + 9), name)
        x += needed
    return y + LINE


def _bar(drawing: Drawing, scale: Scale, top: float, pieces: Sequence[Share], hues: Mapping[str, str]) -> None:
    start = 0.0
    for piece in pieces:
        left, right = scale.at(start), scale.at(start + piece.share)
        if piece.share > 0:
            drawing.box("piece", (left, top), (max(right - left - 0.6, 0.3), BAR - 4), hues[piece.key], piece.tip)
        if piece.share >= 0.07:
            ink = "#000000" if luminance(hues[piece.key]) > 0.18 else "#FFFFFF"
            middle = ((left + right) / 2, top + BAR - 7)
            drawing.words("inside", middle, f"{100 * piece.share:.0f}", "middle", ink)
        if piece.interval and start == 0:
            y = top + BAR - 3
            drawing.line("axis", (scale.at(max(0.0, piece.interval[0])), y), (scale.at(min(1.0, piece.interval[1])), y))
        start += piece.share
