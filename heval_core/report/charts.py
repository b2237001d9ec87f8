"""The figures about citations, as their page has them: one for each source of claims and selector."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from heval_core.figures.citation_dots import explainers_figure, recovery_figure
from heval_core.figures.dots import DotFigure
from heval_core.figures.dots_drawn import as_drawing
from heval_core.present.names import Names
from heval_core.report.section import Figure
from heval_core.words import CITATION_MEASURES, OF_EXPLAINERS


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
