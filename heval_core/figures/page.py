"""Figures as a page shows them: the HTML that `ui/marks.py` puts into its component."""

from __future__ import annotations

from typing import NamedTuple

from heval_core.figures import dots_drawn
from heval_core.figures.dots import DotFigure
from heval_core.html import render
from heval_core.present.drawing import Drawing, as_svg, stylesheet


class Part(NamedTuple):
    """One of the figures that stand side by side where there is room. note: under its title."""

    figure: DotFigure | Drawing
    title: str = ""
    note: str = ""


def as_html(*parts: Part) -> str:
    drawn = [
        {
            "title": part.title,
            "note": part.note,
            **(
                dots_drawn.as_page(part.figure)
                if isinstance(part.figure, DotFigure)
                else {"plot": as_svg(part.figure, None, active=True)}
            ),
        }
        for part in parts
    ]
    return render("figure.html", parts=drawn, style=stylesheet())
