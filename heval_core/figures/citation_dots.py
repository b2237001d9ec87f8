"""Annotators as rows, writers as panels: dots with intervals on one axis, each beside its own chance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Row, Slot
from heval_core.figures.palette import annotator_colour
from heval_core.present.drawing import Scale
from heval_core.present.names import TRUTH, Names
from heval_core.present.numbers import number
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
    own = own[own["masking"].isin([masking, beside])]
    found = {(row["writer"], row["annotator"], row["masking"]): row for row in own.to_dict("records")}
    rows = [
        Row(key, names.annotator(key), names.control(key), names.meaning("annotator", key), annotator_colour(key, names))
        for key in names.in_order(own["annotator"])
    ]
    panels = []
    for writer in writers:
        counts = [int(row["claims"]) for key, row in found.items() if key[0] == writer and not pd.isna(row["claims"])]
        slots = tuple(
            _slot([(found.get((writer, row.key, kind)), kind) for kind in (masking, beside) if kind], (writer, row.key), names)
            for row in rows
        )
        note = counted(max(counts), "claim") if counts else ""
        panels.append(Panel(f"by {writer}", slots, AXIS, note, f"explanations written by {writer}"))
    legend = _LEGEND
    if beside:
        legend = (("dot", f"filled: {masking}, hollow: {beside}, with their 95 % intervals"), *_LEGEND[1:])
    return DotFigure(CITATION_MEASURES[measure].title, rows, panels, legend, "click a dot for its claims")


def explainers_figure(cells: pd.DataFrame, measures: Sequence[str], writers: Sequence[str], names: Names) -> DotFigure:
    """What explainers say of sentences: a panel for each measure, rows by writer and explainer; the truth where it is known.

    measures: of OF_EXPLAINERS or OF_SOURCES.
    """
    own = cells[cells["measure"].isin(measures) & cells["writer"].isin(writers)]
    # Where both maskings have rows, those of full masking.
    own = own.sort_values("masking", key=lambda masking: masking != "full", kind="stable")
    own = own.drop_duplicates(["measure", "writer", "annotator"])
    found = {(row["measure"], row["writer"], row["annotator"]): row for row in own.to_dict("records")}
    keys = [key for key in names.in_order(own["annotator"]) if key == TRUTH or names.family(key) == "explainer"]
    pairs = [(writer, key) for writer in writers for key in keys]
    titles = names.short(keys)
    rows = [
        Row(
            key,
            titles[key] if len(writers) == 1 else f"{titles[key]}, {writer}",
            hint=names.meaning("annotator", key),
            hue=annotator_colour(key, names),
        )
        for writer, key in pairs
    ]
    panels = [
        Panel(
            CITATION_MEASURES[measure].title,
            tuple(_slot([(found.get((measure, *pair)), "")], (*pair, measure), names) for pair in pairs),
            AXIS,
            "low is good" if measure in _LOW else "high is good",
            CITATION_MEASURES[measure].meaning,
        )
        for measure in measures
    ]
    return DotFigure("What explainers say of sentences", rows, panels, _LEGEND)


def told(row: Record, names: Names) -> list[str]:
    """A cell in words: who and where, its number beside its chance, and how many there are."""
    where = f"{names.annotator(str(row['annotator']))}, explanations by {row['writer']}"
    value = f"{CITATION_MEASURES[row['measure']].title} {with_interval(row)}"
    chance = "" if pd.isna(row["chance"]) else f", chance {number(row['chance'])}"
    counts = [] if pd.isna(row["n"]) else [f"n = {int(row['n']):,} of {counted(int(row['claims']), 'claim')}"]
    return [where, value + chance, *counts]


def with_interval(row: Record) -> str:
    """`0.79 [0.75, 0.83]`; without the interval where there is none."""
    ends = "" if pd.isna(row["low"]) else f" [{number(row['low'])}, {number(row['high'])}]"
    return f"{number(row['value'])}{ends}"


def reason(row: Record | None) -> str:
    """Why a cell has no number."""
    why = None if row is None else row["unavailable"]
    return "not measured here" if why is None or pd.isna(why) else str(why)


def _slot(given: Sequence[tuple[Record | None, str]], id: tuple[str, ...], names: Names) -> Slot:
    dots = []
    for hollow, (row, masking) in enumerate(given):
        if row is None or pd.isna(row["value"]):
            continue
        about = (*told(row, names), *([MASKINGS[masking].title] if masking and len(given) > 1 else []))
        value, low, high, chance = (_float(row[name]) for name in ("value", "low", "high", "chance"))
        mark = (*id, masking) if len(given) > 1 else id
        dots.append(Dot(value, about, mark, low, high, chance, bool(hollow)))
    if dots:
        return Slot(tuple(dots), text=" · ".join(number(dot.value) for dot in dots))
    about = (f"{names.annotator(id[1])}, explanations by {id[0]}", "not available", reason(given[0][0]))
    return Slot(missing=Dot(0.0, about, id))


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)


def has(cells: pd.DataFrame, measures: Collection[str]) -> bool:
    """Whether there is anything to say about some measures, be it why they are not available."""
    return bool(cells["measure"].isin(list(measures)).any())


def not_available(cells: pd.DataFrame, measure: str, masking: str, names: Names) -> list[tuple[str, str]]:
    """(title, reason) of the annotators that have no number by any writer."""
    own = cells[(cells["measure"] == measure) & (cells["masking"] == masking) & (cells["annotator"] != "")]
    there = set(own.dropna(subset=["value"])["annotator"])
    missing = {str(row["annotator"]): reason(row) for row in own.to_dict("records") if row["annotator"] not in there}
    return [(names.annotator(key), missing[key]) for key in names.in_order(missing)]
