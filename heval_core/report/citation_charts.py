"""The figures about citations, as drawings: annotators as rows, writers as panels, each dot beside its own chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.citation_dots import told
from heval_core.present.names import Names
from heval_core.report.charts import PER_FIGURE, DotPanel, dot_panels
from heval_core.report.figures import Figure, numbered
from heval_core.words import CITATION_MEASURES, MASKINGS, OF_EXPLAINERS

# All are shares or F1, as on the page; with room for dots at both ends.
_ENDS = (-0.04, 1.04)
Lane = tuple[str, ...]


def of_measure(cells: pd.DataFrame, measure: str, names: Names, lanes: Sequence[str]) -> tuple[Figure, ...]:
    """A panel for each writer, with a row for each annotator. cells: rows of `cell_recovery`. lanes: columns of it, whose
    combinations are the lines of a row, from top to bottom."""
    own = cells[(cells["measure"] == measure) & (cells["annotator"] != "")]
    if own["value"].isna().all():
        return ()
    places = lanes_of(own, lanes)
    unit = CITATION_MEASURES[measure].title
    panels = [
        DotPanel(f"by {writer}", _dots(rows, places, lanes, names), unit) for writer, rows in own.groupby("writer", sort=False)
    ]
    return _drawn(_caption(CITATION_MEASURES[measure].title, places), panels, names, names.in_order(own["annotator"]))


def of_explainers(cells: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """A panel for each thing that explainers say of sentences; the last row is the truth, where it is known."""
    own = cells[cells["measure"].isin(OF_EXPLAINERS) & (cells["masking"] == "full")]
    if own["value"].isna().all():
        return ()
    lanes = ("writer", "selector", "dataset")
    places = lanes_of(own, lanes)
    panels = [
        DotPanel(
            CITATION_MEASURES[measure].title, _dots(own[own["measure"] == measure], places, lanes, names), "share of sentences"
        )
        for measure in OF_EXPLAINERS
    ]
    order = names.in_order(own["annotator"])
    return _drawn(_caption("What explainers say of sentences", places), panels, names, order)


def lanes_of(cells: pd.DataFrame, lanes: Sequence[str]) -> list[Lane]:
    """In the order of the dots in a row."""
    return sorted(set(cells[list(lanes)].itertuples(index=False, name=None)))


def _caption(what: str, places: Sequence[Lane]) -> str:
    """With what the lines of a row are, where there are several."""
    varied = [place for place in range(len(places[0])) if len({lane[place] for lane in places}) > 1]
    named = [", ".join(lane[place] for place in varied) for lane in places]
    return f"{what}; in a row from top to bottom: {'; '.join(named)}" if varied else what


def _dots(rows: pd.DataFrame, places: Sequence[Lane], lanes: Sequence[str], names: Names) -> pd.DataFrame:
    own = rows.assign(
        explainer=rows["annotator"],
        lane=[places.index(lane) for lane in rows[list(lanes)].itertuples(index=False, name=None)],
        tip=[_tip(row, names) for row in rows.to_dict("records")],
    )
    return own.astype(dict.fromkeys(("value", "low", "high", "chance"), float))


def _tip(row: Mapping[Any, Any], names: Names) -> str:
    if pd.isna(row["value"]):
        return ""
    who, *more = told(row, names)
    return "; ".join([who, *more, *([MASKINGS[row["masking"]].title] if row["masking"] in MASKINGS else [])])


def _drawn(caption: str, panels: Sequence[DotPanel], names: Names, order: Sequence[str]) -> tuple[Figure, ...]:
    titles = {key: names.annotator(key) for key in order}
    controls = {key for key in order if names.control(key)}
    parts = [panels[start : start + PER_FIGURE] for start in range(0, len(panels), PER_FIGURE)]
    found = []
    for name, part in zip(numbered(caption, len(parts)), parts, strict=True):
        there = {key for panel in part for key in panel.dots["explainer"]}
        rows = [key for key in order if key in there]
        found.append((name, dot_panels(name, part, titles, controls, shared=True, order=rows, ends=_ENDS)))
    return tuple(found)
