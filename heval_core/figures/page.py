"""Figures as a page shows them: the HTML that `ui/marks.py` puts into its component."""

from __future__ import annotations

from typing import NamedTuple

from heval_core.figures import dots_drawn, front
from heval_core.figures.dots import DotFigure
from heval_core.figures.front import Front
from heval_core.html import render
from heval_core.present.drawing import as_svg, stylesheet


class Part(NamedTuple):
    """One of the figures that stand side by side where there is room. note: under its title. size: of a front, in pixels."""

    figure: DotFigure | Front
    title: str = ""
    note: str = ""
    size: tuple[float, float] = (front.WIDTH, front.HEIGHT)


def as_html(*parts: Part) -> str:
    drawn = []
    for part in parts:
        if isinstance(part.figure, DotFigure):
            figure = dots_drawn.as_page(part.figure)
        else:
            figure = {"plot": as_svg(front.as_drawing(part.figure, *part.size), None, active=True)}
        drawn.append({"title": part.title, "note": part.note, **figure})
    return render("figure.html", parts=drawn, style=stylesheet())
