"""Numbers of explainers: a measure's by regime, and the three questions over all cells; on pages, in the report, in papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from heval_core.evaluation.means import Wanted
from heval_core.figures.comparable import comparable
from heval_core.figures.measured_panels import Measured, in_unit, winner
from heval_core.figures.palette import in_order
from heval_core.metrics import headlines, part_title
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.present.names import Names, regime_meaning, regime_title
from heval_core.present.numbers import COUNT, EXACT, span
from heval_core.present.table import Cell, Head, Row, Table, counted, number_cell
from heval_core.records import REGIMES
from heval_core.regime_keys import ordered_regimes

_OVERALL = "mean of the"
_WRONG = "Numbers whose whole interval lies on the wrong side of chance"
_DIRECTION = {"high": "higher is better", "low": "lower is better", "zero": "closer to chance is better"}
_HEADLINE = (
    "Means over all cells (model, dataset, regime) in which the measure is available; with two documents, answers from the "
    "first and from the second have the same weight. Between chance and best: each cell from 0 (chance) to 1 (the best "
    "possible value), then the mean. Intervals are 95 %, questions resampled in all cells together."
)
_BOUND = "Some intervals are the means of the cells' intervals, which is 95 % or more."


def wanted_of(measure: Measure) -> tuple[Wanted, ...]:
    """The means that a measure's figure and table are made of: `Measured.parts`, `.regimes` and `.overall`."""
    return (measure.parts, ("regime", "part")), (measure.together, ("regime",)), (measure.together, ())


class _Column(NamedTuple):
    """means: of the explainers, by key. best: the key of the best method, if there are several."""

    head: Head
    means: pd.DataFrame
    best: str


def measure_table(found: Measured, names: Names, k: int = 0, *, parts: bool = False) -> Table:
    """Methods best first, then controls. parts: a column for each part of a regime, in place of the mean over all regimes."""
    there = list(found.cells["explainer"].unique())
    ranked = found.ranked([key for key in there if key not in names.controls])
    columns = _columns(found, names, parts)
    reasons = found.cells.dropna(subset=["unavailable"]).groupby("explainer")["unavailable"].first()
    cells = found.overall.set_index("explainer")["cells"].astype(float)
    whole = set(cells.index[comparable(cells)])
    rows = []
    for key in [*ranked, *in_order([key for key in there if key in names.controls])]:
        nothing = {"at": None, "unavailable": reasons.get(key)}
        row = [
            number_cell(
                column.means.loc[key].to_dict() if key in column.means.index else nothing,
                of=("at", "at_low", "at_high"),
                best=key == column.best,
            )
            for column in columns
        ]
        ran = f"in {int(cells[key])} of {int(cells.max())} cells" if key in cells.index and key not in whole else ""
        row += [_wrong_side(found, key)] if found.measure.best != "zero" else []
        rows.append(Row((names.explainer(key),), tuple(row), key in names.controls, ran))
    heads = [column.head for column in columns]
    side = "above" if found.measure.best == "low" else "below"
    heads += [Head(f"{side} chance", _WRONG)] if found.measure.best != "zero" else []
    label = re.sub(r"[^a-z0-9]+", "-", f"{found.measure.key} k{k}" if k else found.measure.key)
    title = f"{found.measure.title}, k = {k}" if k else found.measure.title
    return Table(title, ("Explainer",), tuple(heads), tuple(rows), _note(found, columns, names), label)


def _columns(found: Measured, names: Names, parts: bool) -> list[_Column]:
    means = in_unit(found.parts if parts else found.regimes, found.scaled)
    columns = []
    for regime in ordered_regimes(set(means["regime"]), REGIMES):
        here = means[means["regime"] == regime]
        several = parts and here["part"].nunique() > 1
        for part, rows in here.groupby("part", sort=False) if several else [("", here)]:
            title = regime_title(regime) + (f", {part_title(str(part))}" if several else "")
            columns.append((Head(title, regime_meaning(regime)), rows, str(part), regime))
    if len(columns) > 1 and not parts:
        about = Head(f"{_OVERALL} {len(columns)}", "Mean over all cells")
        columns.append((about, in_unit(found.overall, found.scaled), "", ""))
    return [_column(found, names, *column) for column in columns]


def _column(found: Measured, names: Names, head: Head, rows: pd.DataFrame, part: str, regime: str) -> _Column:
    means = rows.set_index("explainer")
    own = replace(found, cells=found.cells[found.cells["part"] == part]) if part else found
    several = len(set(means.index) - names.controls) > 1
    return _Column(head, means, winner(own, means, names, regime) if several else "")


def _wrong_side(found: Measured, key: str) -> Cell:
    if key not in found.wrong_side.index:
        return Cell()
    counted = found.wrong_side.loc[key]
    return Cell(f"{counted['wrong']} of {counted['numbers']}")


def _note(found: Measured, columns: Sequence[_Column], names: Names) -> str:
    """What the numbers are, chance, and what is bold."""
    measure = found.measure
    own = {
        column.head.title: column.means[[key not in names.controls for key in column.means.index]].dropna(subset=["at"])
        for column in columns
        if len(column.means)
    }
    if not own:
        return ""
    unit = f"In {measure.unit} ({_DIRECTION[measure.best]})"
    unit = f"From chance (0) to the best possible (1), of {measure.unit}" if found.scaled else unit
    count = span([cells for means in own.values() for cells in means["cells"]], COUNT)
    levels = {title: span(means["at_chance"], EXACT) for title, means in own.items() if not title.startswith(_OVERALL)}
    chance = "; ".join(f"{level} ({title})" for title, level in levels.items())
    chance = next(iter(levels.values())) if len(set(levels.values())) == 1 else chance
    parts = [f"{unit}: means over {count} cells of a model and a dataset, with 95 % intervals over questions."]
    parts += [_BOUND] if any((means["interval"] == "bound").any() for means in own.values()) else []
    parts += [] if found.scaled else [f"Chance: {chance}."]
    parts += ["Best method in bold, over the cells that all methods of a column have."] if any(c.best for c in columns) else []
    return " ".join(parts)


def headline_table(headline: pd.DataFrame, names: Names) -> Table:
    """The three questions over all cells: a row for each question, technique and explainer."""
    order = {question: place for place, question in enumerate(QUESTIONS)}
    table = headline.sort_values("question", key=lambda column: column.map(order), kind="stable")
    several = table["technique"].nunique() > 1
    rows = []
    for row in table.to_dict("records"):
        titles = (
            QUESTIONS[row["question"]].title,
            *([row["technique"]] if several else []),
            names.explainer(row["explainer"]),
        )
        scaled = number_cell(row, of=("normalised", "normalised_low", "normalised_high"))
        value = number_cell(row, beside=headlines()[row["question"]].unit)
        chance = number_cell({**row, "none": None}, of=("chance", "none", "none"))
        cells = (scaled, value, chance, counted(row["cells"]), counted(row["n"]))
        rows.append(Row(titles, cells, row["explainer"] in names.controls))
    keys = ("question", *(["technique"] if several else []), "explainer")
    heads = ("between chance (0) and best (1)", "value", "chance", "cells", "instances")
    return Table("The three questions, over all cells", keys, tuple(map(Head, heads)), tuple(rows), _HEADLINE, "headline")
