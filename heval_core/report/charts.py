"""The figures about techniques and citations, as their pages have them: one for each model and dataset, or each place."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from heval_core.figures.citation_dots import explainers_figure, recovery_figure
from heval_core.figures.dots import DotFigure
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.front import WIDTH
from heval_core.figures.front import as_drawing as front_as_drawing
from heval_core.figures.technique_differences import differences_figure
from heval_core.figures.technique_front import front_figure, share_known
from heval_core.present.drawing import Drawing
from heval_core.present.names import Names, measure_name
from heval_core.report.figures import Figure, numbered
from heval_core.words import CITATION_MEASURES, OF_EXPLAINERS

_ACROSS = 2


def of_front(points: pd.DataFrame, cells: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """A figure for each dataset, with a panel for each model. points: rows of `pareto`. cells: of `cell_behaviour`."""
    figures = []
    for dataset, own in points.groupby("dataset"):
        caption = f"Following against ignoring, {names.dataset(str(dataset))}"
        panels = [(str(model), rows) for model, rows in own.groupby("model")]
        parts = [panels[start : start + _ACROSS] for start in range(0, len(panels), _ACROSS)]
        known = cells[cells["dataset"] == dataset]
        for name, part in zip(numbered(caption, len(parts)), parts, strict=True):
            drawing = Drawing(len(part) * (WIDTH + 36) - 36, 0, name)
            for place, (model, rows) in enumerate(part):
                front = front_as_drawing(front_figure(rows, names, share_known(known[known["model"] == model])))
                drawing.words("title", (place * (WIDTH + 36), 16), model)
                drawing.place(front, place * (WIDTH + 36), 26)
                drawing.height = front.height + 26
            figures.append((name, drawing))
    return tuple(figures)


def of_differences(cells: pd.DataFrame, measure: str, names: Names) -> tuple[Figure, ...]:
    """Techniques by kinds of context, for each model and dataset. cells: rows of `cell_behaviour`."""
    figures = []
    for (model, dataset), own in cells.groupby(["model", "dataset"], sort=True):
        figure = differences_figure(own, measure, names)
        if figure is not None:
            figures.append((f"{measure_name(measure)}: difference to Regular, {model} on {dataset}", as_drawing(figure)))
    return tuple(figures)


def of_measure(cells: pd.DataFrame, measure: str, names: Names) -> tuple[Figure, ...]:
    """Annotators by writers. cells: rows of `cell_recovery`; where they are of two maskings, those of sample are hollow."""

    def drawn(own: pd.DataFrame, writers: list[str]) -> DotFigure:
        maskings = [kind for kind in ("full", "sample") if kind in set(own["masking"])]
        return recovery_figure(own, measure, writers, names, *maskings)

    return _each(CITATION_MEASURES[measure].title, cells[(cells["measure"] == measure) & (cells["annotator"] != "")], drawn)


def of_explainers(cells: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """What explainers say of sentences; the truth, where it is known, is one of them."""
    own = cells[cells["measure"].isin(OF_EXPLAINERS) & (cells["masking"] == "full")]
    title = "What explainers say of sentences"
    return _each(title, own, lambda own, writers: explainers_figure(own, OF_EXPLAINERS, writers, names))


def _each(title: str, cells: pd.DataFrame, drawn: Callable[[pd.DataFrame, list[str]], DotFigure]) -> tuple[Figure, ...]:
    if cells["value"].isna().all():
        return ()
    places = cells.groupby(["dataset", "selector"], sort=False)
    captions = [f"{title}, {dataset}, {selector}" if places.ngroups > 1 else title for dataset, selector in places.groups]
    figures = [as_drawing(drawn(own, list(dict.fromkeys(own["writer"])))) for _, own in places]
    return tuple(zip(captions, figures, strict=True))
