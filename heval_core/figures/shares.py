"""Stacked bars of shares, in panels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heval_core.figures.dots_drawn import BETWEEN, WIDTH
from heval_core.figures.palette import luminance
from heval_core.present.drawing import Drawing, Mark, Scale, wrapped

BAR, LABELS = 19.0, 290.0


class Share(NamedTuple):
    """A piece of a bar. key: what it is of, with a colour."""

    key: str
    share: float
    title: str


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
    top = _legend(drawing, hues, legend) + 24
    for line, label in enumerate(labels):
        drawing.words("plain", (0, top + BAR * line + 13), wrapped(label, 44, 1)[0])
    for number, panel in enumerate(panels):
        left = LABELS + number * (width + BETWEEN)
        drawing.words("title", (left, top - 7), wrapped(panel.title, int(width / 7.5), 1)[0])
        scale = Scale(0, 1, left, left + width)
        for line, (_, pieces) in enumerate(panel.bars):
            _bar(drawing, scale, top + BAR * line, pieces, hues)
        for tick, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            drawing.words("faint", (scale.at(tick), top + BAR * len(labels) + 12), f"{100 * tick:.0f} %", anchor)
    drawing.height = top + BAR * len(labels) + 20
    return drawing


def _legend(drawing: Drawing, hues: Mapping[str, str], legend: Mapping[str, str]) -> float:
    """One line or several; returns where it ends."""
    x, y = 0.0, 4.0
    for key, name in legend.items():
        needed = 30 + 6.8 * len(name)
        if x and x + needed > drawing.width:
            x, y = 0.0, y + 18
        drawing.spot((x, y), [Mark("box", "piece", 0, 0, 11, 11, hue=hues[key]), Mark("text", "plain", 16, 10, text=name)])
        x += needed
    return y + 14


def _bar(drawing: Drawing, scale: Scale, top: float, pieces: Sequence[Share], hues: Mapping[str, str]) -> None:
    start = 0.0
    for piece in pieces:
        left, right = scale.at(start), scale.at(start + piece.share)
        marks = [Mark("box", "piece", 0, 0, max(right - left - 0.6, 0.3), BAR - 4, hue=hues[piece.key])]
        if piece.share >= 0.07:
            ink = "#000000" if luminance(hues[piece.key]) > 0.18 else "#FFFFFF"
            text = f"{100 * piece.share:.0f}"
            marks.append(Mark("text", "inside", (right - left) / 2, BAR - 8, text=text, anchor="middle", hue=ink))
        if piece.share > 0:
            drawing.spot((left, top), marks, (piece.title,))
        start += piece.share
