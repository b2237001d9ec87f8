"""Annotators as rows, writers as panels: dots with intervals on one axis, each beside its own chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Row, Slot
from heval_core.figures.palette import annotator_colour
from heval_core.present.drawing import Scale
from heval_core.present.names import TRUTH, Names
from heval_core.present.numbers import interval, number
from heval_core.present.table import reason
from heval_core.words import CITATION_MEASURES, MASKINGS, counted

_LEGEND = (("dot", "mean with its 95 % interval over claims"), ("chance", "chance"))
# All are shares or F1.
AXIS = Axis(Scale(0.0, 1.0))
Record = Mapping[Any, Any]
# Measures of what is wrong with an explanation.
_LOW = ("wrong_marker", "unsupported_sentence", "omitted_citation")


def recovery_figure(
    cells: pd.DataFrame, measure: str, writers: Sequence[str], names: Names, masking: str, beside: str = ""
) -> DotFigure:
    """One measure of all annotators. cells: rows of `cell_recovery`. beside: another masking, drawn hollow."""
    own = cells[(cells["measure"] == measure) & (cells["annotator"] != "") & cells["writer"].isin(writers)]
    own, maskings = own[own["masking"].isin([masking, beside])], [kind for kind in (masking, beside) if kind]
    found = _records(own, "writer", "annotator", "masking")
    keys, panels = names.in_order(own["annotator"]), []
    for writer in writers:
        counts = own["claims"][own["writer"] == writer].dropna()
        slots = tuple(_slot([found.get((writer, key, kind)) for kind in maskings], (writer, key), names) for key in keys)
        note = counted(int(counts.max()), "claim") if len(counts) else ""
        panels.append(Panel(f"by {writer}", slots, AXIS, note, f"explanations written by {writer}"))
    legend = (("dot", f"filled: {masking}, hollow: {beside}, with their 95 % intervals"), *_LEGEND[1:]) if beside else _LEGEND
    rows = [_row(key, names, names.annotator(key)) for key in keys]
    return DotFigure(CITATION_MEASURES[measure].title, rows, panels, legend, "click a dot for its claims")


def explainers_figure(cells: pd.DataFrame, measures: Sequence[str], writers: Sequence[str], names: Names) -> DotFigure:
    """What explainers say of sentences: a panel for each measure, rows by writer and explainer; the truth where it is known.

    measures: of OF_EXPLAINERS or OF_SOURCES.
    """
    own = cells[cells["measure"].isin(measures) & cells["writer"].isin(writers)]
    # Where both maskings have rows, those of full masking.
    own = own.sort_values("masking", key=lambda masking: masking != "full", kind="stable")
    found = _records(own.drop_duplicates(["measure", "writer", "annotator"]), "measure", "writer", "annotator")
    keys = [key for key in names.in_order(own["annotator"]) if key == TRUTH or names.family(key) == "explainer"]
    pairs, titles = [(writer, key) for writer in writers for key in keys], names.short(keys)
    rows = [_row(key, names, titles[key] if len(writers) == 1 else f"{titles[key]}, {writer}") for writer, key in pairs]
    panels = [
        Panel(
            CITATION_MEASURES[measure].title,
            tuple(_slot([found.get((measure, *pair))], (*pair, measure), names) for pair in pairs),
            AXIS,
            "low is good" if measure in _LOW else "high is good",
            CITATION_MEASURES[measure].meaning,
        )
        for measure in measures
    ]
    return DotFigure("What explainers say of sentences", rows, panels, _LEGEND)


def _records(cells: pd.DataFrame, *by: str) -> dict[tuple[Any, ...], Record]:
    return {tuple(row[name] for name in by): row for row in cells.to_dict("records")}


def _row(key: str, names: Names, title: str) -> Row:
    return Row(key, title, names.control(key), names.meaning("annotator", key), annotator_colour(key, names))


def told(row: Record, names: Names) -> list[str]:
    """A cell in words: who and where, its number beside its chance, and how many there are."""
    where = f"{names.annotator(str(row['annotator']))}, explanations by {row['writer']}"
    value = f"{CITATION_MEASURES[row['measure']].title} {interval(row['value'], row['low'], row['high'])}"
    chance = "" if pd.isna(row["chance"]) else f", chance {number(row['chance'])}"
    counts = [] if pd.isna(row["n"]) else [f"n = {int(row['n']):,} of {counted(int(row['claims']), 'claim')}"]
    return [where, value + chance, *counts]


def _slot(rows: Sequence[Record | None], id: tuple[str, ...], names: Names) -> Slot:
    """rows: of several maskings the second is hollow."""
    dots, several = [], len(rows) > 1
    for place, row in enumerate(rows):
        if row is not None and not pd.isna(row["value"]):
            about = (*told(row, names), *([MASKINGS[row["masking"]].title] if several else []))
            value, low, high, chance = (float("nan" if row[name] is None else row[name]) for name in _NUMBERS)
            dots.append(Dot(value, about, (*id, row["masking"]) if several else id, low, high, chance, bool(place)))
    if dots:
        return Slot(tuple(dots), text=" · ".join(number(dot.value) for dot in dots))
    return Slot(missing=Dot(0.0, (f"{names.annotator(id[1])}, explanations by {id[0]}", "not available", reason(rows[0])), id))


_NUMBERS = ("value", "low", "high", "chance")


def not_available(cells: pd.DataFrame, measure: str, masking: str, names: Names) -> list[tuple[str, str]]:
    """(title, reason) of the annotators that have no number by any writer."""
    own = cells[(cells["measure"] == measure) & (cells["masking"] == masking) & (cells["annotator"] != "")]
    there = set(own.dropna(subset=["value"])["annotator"])
    missing = {str(row["annotator"]): reason(row) for row in own.to_dict("records") if row["annotator"] not in there}
    return [(names.annotator(key), missing[key]) for key in names.in_order(missing)]
