"""Stacked bars of shares, in panels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heval_core.figures.dots_drawn import BETWEEN, WIDTH
from heval_core.figures.palette import luminance
from heval_core.present.drawing import Drawing, Mark, Scale, wrapped

BAR, LABELS = 19.0, 290.0


class Share(NamedTuple):
    """A piece of a bar. key: what it is of, with a colour. id: what a click on it is of."""

    key: str
    share: float
    title: str
    id: tuple[str, ...] = ()


class SharePanel(NamedTuple):
    """bars: (label, pieces from left to right)."""

    title: str
    bars: Sequence[tuple[str, Sequence[Share]]]


def share_panels(title: str, panels: Sequence[SharePanel], hues: Mapping[str, str], legend: Mapping[str, str]) -> Drawing:
    """Bars from 0 to 100 %, their labels on the left of the first panel. A piece of 7 % or more has its number.

    All panels have the same bars. hues: a colour for each key. legend: what a key is called, in order.
    """
    width = min(420.0, (WIDTH - LABELS) / len(panels) - BETWEEN)
    labels = [label for label, _ in panels[0].bars]
    drawing = Drawing(LABELS + len(panels) * (width + BETWEEN), 0, title)
    signs = ((Mark("box", "piece", -3, -6, 11, 11, hue=hues[key]), name) for key, name in legend.items())
    top = drawing.legend(signs, 10) + (34 if any(panel.title for panel in panels) else 14)
    for line, label in enumerate(labels):
        drawing.words("plain", (0, top + BAR * line + 13), wrapped(label, 44, 1)[0])
    for number, panel in enumerate(panels):
        left = LABELS + number * (width + BETWEEN)
        for heading in wrapped(panel.title, int(width / 7.5), 1):
            drawing.words("title", (left, top - 7), heading)
        scale = Scale(0, 1, left, left + width)
        for line, (_, pieces) in enumerate(panel.bars):
            _bar(drawing, scale, top + BAR * line, pieces, hues)
        for tick, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            drawing.words("faint", (scale.at(tick), top + BAR * len(labels) + 12), f"{100 * tick:.0f} %", anchor)
    drawing.height = top + BAR * len(labels) + 20
    return drawing


def _bar(drawing: Drawing, scale: Scale, top: float, pieces: Sequence[Share], hues: Mapping[str, str]) -> None:
    start, middle = 0.0, BAR / 2 - 2
    for piece in pieces:
        left, right = scale.at(start), scale.at(start + piece.share)
        half = (right - left) / 2
        marks = [Mark("box", "piece", -half, -middle, max(2 * half - 0.6, 0.3), 2 * middle, hue=hues[piece.key])]
        if piece.share >= 0.07:
            ink = "#000000" if luminance(hues[piece.key]) > 0.18 else "#FFFFFF"
            marks.append(Mark("text", "inside", 0, 4, text=f"{100 * piece.share:.0f}", anchor="middle", hue=ink))
        if piece.share > 0:
            drawing.spot((left + half, top + middle), marks, (piece.title,), id=piece.id, reach=min(half, middle))
        start += piece.share
