"""The table of techniques: a measure by kind of context, what each does to the model, J, and the cost of an answer."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from heval_core.figures.paper_table import NOT_THERE, booktabs, escaped
from heval_core.figures.technique_differences import TOTAL, ranked
from heval_core.figures.technique_names import TechniqueNames
from heval_core.html import render
from heval_core.present.names import SIGNED, measure_name, regime_meaning, value_unit
from heval_core.present.numbers import brackets, number
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.words import BEHAVIOURS, REGIMES

DISCRIMINATIONS = {"discrimination": "J", "discrimination_off_topic": "J, off topic"}


class Column(NamedTuple):
    """best: whether the highest number is in bold."""

    regime: str
    measure: str
    title: str
    hint: str
    best: bool

    @property
    def heading(self) -> str:
        return self.title + ("" if self.measure in SIGNED else ", %")


def columns_of(cells: pd.DataFrame, measure: str) -> list[Column]:
    """Those that have a number: the measure by kind and in total, then what holds for all kinds together."""
    good = measure != "neither"
    kinds = [Column(kind, measure, REGIMES[kind].title, regime_meaning(kind), good) for kind in CONTEXT_KINDS]
    kinds.append(Column(TOTAL, measure, "Total", f"{measure_name(measure)} over all instances, each counting the same", good))
    more = [
        Column(TOTAL, name, title, BEHAVIOURS[name].meaning, False)
        for name, title in (("memory_kept", "Memory kept"), ("neither", "Neither"))
        if name != measure
    ]
    more += [Column(TOTAL, name, title, BEHAVIOURS[name].meaning, True) for name, title in DISCRIMINATIONS.items()]
    known = cells.dropna(subset=["value"])
    there = set(zip(known["regime"], known["measure"], strict=True))
    return [column for column in (*kinds, *more) if (column.regime, column.measure) in there]


def rows_in_order(cells: pd.DataFrame, measure: str, names: TechniqueNames) -> list[str]:
    """Regular, then the others, those with the highest total first."""
    keys = ranked(cells[cells["measure"] == measure], names)
    return [key for key in (TECHNIQUE,) if key in keys] + [key for key in keys if key != TECHNIQUE]


def techniques_html(cells: pd.DataFrame, measure: str, names: TechniqueNames, front: Collection[str]) -> str:
    """The table as HTML. cells: of one model and dataset. front: techniques on the Pareto front."""
    columns = columns_of(cells, measure)
    found = _by_place(cells)
    best = [_best(column, found) for column in columns]
    rows = []
    for key in rows_in_order(cells, measure, names):
        numbers = [
            _cell(found.get((key, column.regime, column.measure)), column, top)
            for column, top in zip(columns, best, strict=True)
        ]
        cost = {"value": names.cost(key) or "–", "interval": "", "best": False, "why": names.cost_in_words(key)}
        note = "on the front" if key in front else ""
        rows.append({"title": names.title(key), "note": note, "control": False, "cells": [*numbers, cost]})
    heads = [{"title": column.heading, "hint": column.hint} for column in columns]
    heads.append(
        {"title": "cost of an answer", "hint": "Forward passes, Regular's being 1, and what precedes the first answer"}
    )
    return render(
        "numbers.html", first="Technique", caption="The numbers, techniques by kind of context", heads=heads, rows=rows
    )


def techniques_latex(
    cells: pd.DataFrame,
    measure: str,
    names: TechniqueNames,
    front: Collection[str],
    about: Mapping[str, str],
    snapshot_id: str,
) -> str:
    """The table of a paper, with booktabs. about: what it is of, such as model and dataset; all of it is escaped."""
    columns, found = columns_of(cells, measure), _by_place(cells)
    best = [_best(column, found) for column in columns]
    lines = []
    for key in rows_in_order(cells, measure, names):
        values, intervals = [], []
        for column, top in zip(columns, best, strict=True):
            value, interval = _latex_cell(found.get((key, column.regime, column.measure)), column, top)
            values.append(value)
            intervals.append(interval)
        name = escaped(names.title(key)) + (r"$^\dagger$" if key in front else "")
        cost = escaped(names.cost(key)).replace("×", r"$\times$") or NOT_THERE
        lines.append(f"{name} & {' & '.join(values)} & {cost} \\\\\n & {' & '.join(intervals)} & \\\\\n")
    of = "; ".join(f"{escaped(name)}: {escaped(text)}" for name, text in about.items())
    meaning = escaped(BEHAVIOURS[measure].meaning)
    caption = (
        f"{escaped(measure_name(measure))} by kind of context: {meaning}. 95\\,\\% intervals over questions. "
        "J is BCU conflicting + BCU irrelevant - 1 (or off topic in place of irrelevant): 0 for a technique that is blind to "
        f"relevance. $\\dagger$: on the Pareto front. {of}. HEval snapshot {escaped(snapshot_id)}."
    )
    heads = ["Technique", *(escaped(column.heading) for column in columns), "Cost"]
    return booktabs(heads, ["".join(lines)], caption, f"techniques-{measure.replace('_', '-')}", snapshot_id)


_Found = Mapping[tuple[str, str, str], Mapping[Any, Any]]


def _by_place(cells: pd.DataFrame) -> _Found:
    return {(row["technique"], row["regime"], row["measure"]): row for row in cells.to_dict("records")}


def _best(column: Column, found: _Found) -> float:
    """The highest number of a column; NaN where none is to be bold."""
    values = [row["value"] for (_, *place), row in found.items() if place == [column.regime, column.measure]]
    known = [value for value in values if not pd.isna(value)]
    return max(known) if column.best and len(known) > 1 else math.nan


def _cell(row: Mapping[Any, Any] | None, column: Column, best: float) -> dict[str, Any]:
    if row is None or pd.isna(row["value"]):
        why = None if row is None else row["unavailable"]
        return {"value": "–", "interval": "", "best": False, "why": "not measured here" if pd.isna(why) else str(why)}
    interval = brackets(row["low"], row["high"], value_unit(column.measure))
    return {
        "value": number(row["value"], value_unit(column.measure)),
        "interval": interval,
        "best": row["value"] == best,
        "why": "",
    }


def _latex_cell(row: Mapping[Any, Any] | None, column: Column, best: float) -> tuple[str, str]:
    if row is None or pd.isna(row["value"]):
        return NOT_THERE, ""
    value = number(row["value"], value_unit(column.measure)).replace("−", "$-$")
    interval = brackets(row["low"], row["high"], value_unit(column.measure)).replace("−", "$-$")
    return (rf"\textbf{{{value}}}" if row["value"] == best else value), rf"{{\footnotesize {interval}}}"


def unavailable(cells: pd.DataFrame, trials: pd.DataFrame, names: TechniqueNames) -> list[tuple[str, str]]:
    """(title, reason) of the techniques that have no number at all. trials: rows of `technique_trial`."""
    has = set(cells.dropna(subset=["value"])["technique"])
    told: dict[str, str] = {}
    for frame in (cells, trials):
        for row in frame.dropna(subset=["unavailable"]).to_dict("records") if len(frame) else ():
            if row["technique"] not in has:
                told.setdefault(str(row["technique"]), str(row["unavailable"]))
    return [(names.title(key), told[key]) for key in names.in_order(told)]


def shown_cells(cells: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The cells of some techniques; Regular's always, since the others are compared with it."""
    return cells[cells["technique"].isin([TECHNIQUE, *keys])]
