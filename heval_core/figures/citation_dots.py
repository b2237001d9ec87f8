"""Annotators as rows, writers as panels: dots with intervals on one axis, each beside its own chance."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.palette import RIM, annotator_colour
from heval_core.figures.panels import Axis, Mark, Panel, Row, Slot, drawing
from heval_core.present.names import TRUTH, Names
from heval_core.present.numbers import number
from heval_core.words import CITATION_MEASURES, MASKINGS, counted

# Chances this close to each other are one dashed line through a panel.
_SAME = 0.005
_LEGEND = (("dot", "mean with its 95 % interval over claims"), ("control", "control"), ("missing", "not available"))
_AXIS = Axis(0.0, 1.0, "zero")
Record = Mapping[Any, Any]
# Measures of what is wrong with an explanation.
_LOW = ("wrong_marker", "unsupported_sentence", "omitted_citation")
# Writer, annotator and masking ▶ a row of `cell_recovery`.
_Found = dict[tuple[str, str, str], Record]


def recovery_drawing(
    cells: pd.DataFrame,
    measure: str,
    writers: Sequence[str],
    names: Names,
    masking: str,
    *,
    beside: str = "",
    picked: str = "",
) -> dict[str, Any]:
    """One measure of all annotators. cells: rows of `cell_recovery`. beside: another masking, drawn hollow."""
    own = cells[(cells["measure"] == measure) & (cells["annotator"] != "") & cells["writer"].isin(writers)]
    own = own[own["masking"].isin([masking, beside])]
    found: _Found = {(row["writer"], row["annotator"], row["masking"]): row for row in own.to_dict("records")}
    keys = names.in_order(own["annotator"])
    rows = [_row(key, names) for key in keys]
    panels = []
    for writer in writers:
        slots = []
        for key in keys:
            both = [(found.get((writer, key, kind)), kind) for kind in (masking, beside) if kind]
            slots.append(_slot(both, (writer, key), names))
        panels.append(_panel(f"by {writer}", _note(found, writer), slots, found, writer))
    legend = list(_LEGEND)
    if beside:
        legend = [("dot", f"filled: {masking}, hollow: {beside}, with their 95 % intervals"), *_LEGEND[1:]]
    return _finished(rows, panels, names, keys, legend, picked, "click a dot for its claims")


def explainers_drawing(cells: pd.DataFrame, measures: Sequence[str], writers: Sequence[str], names: Names) -> dict[str, Any]:
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
        Row(key, titles[key] if len(writers) == 1 else f"{titles[key]}, {writer}", hint=names.meaning("annotator", key))
        for writer, key in pairs
    ]
    panels = []
    for measure in measures:
        slots = [_slot([(found.get((measure, *pair)), "")], (*pair, measure), names) for pair in pairs]
        chances = {pair: found[(measure, *pair)] for pair in pairs if (measure, *pair) in found}
        note = "low is good" if measure in _LOW else "high is good"
        panels.append(
            (
                Panel(CITATION_MEASURES[measure].title, note, CITATION_MEASURES[measure].meaning, math.nan, tuple(slots)),
                chances,
                pairs,
            )
        )
    return _finished(rows, panels, names, [key for _, key in pairs], [_LEGEND[0], _LEGEND[2]], "", "")


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


def _row(key: str, names: Names) -> Row:
    return Row(key, names.annotator(key), names.control(key), names.meaning("annotator", key))


def _slot(given: Sequence[tuple[Record | None, str]], id: tuple[str, ...], names: Names) -> Slot:
    dots = []
    for place, (row, masking) in enumerate(given):
        if row is None or pd.isna(row["value"]):
            continue
        about = (*told(row, names), *([MASKINGS[masking].title] if masking and len(given) > 1 else []))
        value = float(row["value"])
        low, high = (value if pd.isna(row[end]) else float(row[end]) for end in ("low", "high"))
        dots.append(Mark(value, about, (*id, masking) if len(given) > 1 else id, low, high, hollow=place > 0))
    if dots:
        return Slot(tuple(dots), value=dots[0].value)
    why = reason(given[0][0])
    return Slot(missing=Mark(0.0, (f"{names.annotator(id[1])}, explanations by {id[0]}", "not available", why), id))


# A panel, its rows of the table, and what it asks these by.
_Filled = tuple[Panel, Mapping[Any, Record], Sequence[Any]]


def _panel(title: str, note: str, slots: Sequence[Slot], found: _Found, writer: str) -> _Filled:
    own: dict[str, Record] = {}
    for key, row in found.items():
        if key[0] == writer:
            own.setdefault(key[1], row)
    return Panel(title, note, f"explanations written {title}", math.nan, tuple(slots)), own, ()


def _note(found: _Found, writer: str) -> str:
    counts = [int(row["claims"]) for key, row in found.items() if key[0] == writer and not pd.isna(row["claims"])]
    return counted(max(counts), "claim") if counts else ""


def _finished(
    rows: Sequence[Row],
    panels: Sequence[_Filled],
    names: Names,
    keys: Sequence[str],
    legend: Sequence[tuple[str, str]],
    picked: str,
    hint: str,
) -> dict[str, Any]:
    """The drawing with the annotators' own colours, and the chances where they belong."""
    made = drawing(rows, [panel for panel, _, _ in panels], _AXIS, legend, hint, picked)
    for row, key in zip(made["rows"], keys, strict=True):
        row |= {"color": annotator_colour(key, names), "ink": RIM}
    for column, (panel, own, pairs) in zip(made["columns"], panels, strict=True):
        chances = [_chance(own.get(key)) for key in (pairs or keys)]
        known = [chance for chance in chances if chance is not None]
        one = bool(known) and max(known) - min(known) <= _SAME
        column |= {"chance": _AXIS.at(known[0]) if one else None, "below": [0.0, 0.0]}
        for slot, given, chance in zip(column["slots"], panel.slots, chances, strict=True):
            slot |= {"whiskers": True} | ({} if one or chance is None else {"chance": _AXIS.at(chance)})
            if given.dots:
                label = _beside(given.dots)
                slot |= {"labels": [label]} if "labels" in slot else label
    made["legend"].insert(1, {"kind": "chance", "text": "chance"})
    return made


def _beside(dots: Sequence[Mark]) -> dict[str, Any]:
    """The numbers of all dots beside the longest interval, as nothing else of the row is there."""
    low, high = min(_AXIS.at(dot.low) for dot in dots), max(_AXIS.at(dot.high) for dot in dots)
    left = high > 82
    text = " · ".join(number(dot.value) for dot in dots)
    return {"text": text, "text_at": low if left else high, "side": -1 if left else 1}


def _chance(row: Record | None) -> float | None:
    return None if row is None or pd.isna(row["chance"]) else float(row["chance"])


def has(cells: pd.DataFrame, measures: Collection[str]) -> bool:
    """Whether there is anything to say about some measures, be it why they are not available."""
    return bool(cells["measure"].isin(list(measures)).any())


def not_available(cells: pd.DataFrame, measure: str, masking: str, names: Names) -> list[tuple[str, str]]:
    """(title, reason) of the annotators that have no number by any writer."""
    own = cells[(cells["measure"] == measure) & (cells["masking"] == masking) & (cells["annotator"] != "")]
    there = set(own.dropna(subset=["value"])["annotator"])
    missing = {str(row["annotator"]): reason(row) for row in own.to_dict("records") if row["annotator"] not in there}
    return [(names.annotator(key), missing[key]) for key in names.in_order(missing)]
