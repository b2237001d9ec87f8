"""Numbers of explainers: a measure's by regime, and in every cell; on pages, in the report, in papers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from heval_core.evaluation.means import Wanted
from heval_core.figures.measured_panels import Measured, in_unit
from heval_core.figures.palette import in_order
from heval_core.metrics import part_title
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import Names, regime_meaning, regime_title
from heval_core.present.numbers import COUNT, EXACT, span
from heval_core.present.table import IN_BOLD, Cell, Head, Row, Table, counted, crossed, number_cell
from heval_core.records import CELL, REGIMES
from heval_core.regime_keys import ordered_regimes

_OVERALL = "mean of the"
_WRONG = "Numbers whose whole interval lies on the wrong side of chance"
_DIRECTION = {"high": "higher is better", "low": "lower is better", "zero": "closer to chance is better"}
_BOUND = "Some intervals are the means of the cells' intervals, which is 95 % or more."


def wanted_of(measure: Measure) -> tuple[Wanted, ...]:
    """The means that a measure's figure and table are made of: `Measured.parts`, `.regimes` and `.overall`."""
    return (measure.parts, ("regime", "part")), (measure.together, ("regime",)), (measure.together, ())


class _Column(NamedTuple):
    """means: of the explainers, by key. best: what is bold."""

    head: Head
    means: pd.DataFrame
    best: tuple[str, ...]


def measure_table(found: Measured, names: Names, k: int = 0, *, parts: bool = False) -> Table:
    """Methods best first, then controls. parts: a column for each part of a regime, in place of the mean over all regimes."""
    there = list(found.cells["explainer"].unique())
    ranked = found.ranked([key for key in there if key not in names.controls])
    columns = _columns(found, names, parts)
    reasons = found.cells.dropna(subset=["unavailable"]).groupby("explainer")["unavailable"].first()
    cells = found.overall.set_index("explainer")["cells"]
    rows = []
    for key in [*ranked, *in_order([key for key in there if key in names.controls])]:
        nothing = {"at": None, "unavailable": reasons.get(key)}
        row = [
            number_cell(
                column.means.loc[key].to_dict() if key in column.means.index else nothing,
                of=("at", "at_low", "at_high"),
                best=key in column.best,
            )
            for column in columns
        ]
        ran = f"in {int(cells[key])} of {int(cells.max())} cells" if key in cells.index and key in found.few else ""
        row += [_wrong_side(found, key)] if found.measure.best != "zero" else []
        rows.append(Row((names.explainer(key),), tuple(row), key in names.controls, ran))
    heads = [column.head for column in columns]
    side = "above" if found.measure.best == "low" else "below"
    heads += [Head(f"{side} chance", _WRONG)] if found.measure.best != "zero" else []
    label = re.sub(r"[^a-z0-9]+", "-", f"{found.measure.key} k{k}" if k else found.measure.key)
    title = f"{found.measure.title}, k = {k}" if k else found.measure.title
    return Table(title, ("Explainer",), tuple(heads), tuple(rows), _note(found, columns, names), label)


def _columns(found: Measured, names: Names, parts: bool) -> list[_Column]:
    means, columns = found.parts if parts else found.regimes, []
    for regime in ordered_regimes(set(means["regime"]), REGIMES):
        here = means[means["regime"] == regime]
        several = parts and here["part"].nunique() > 1
        for part, rows in here.groupby("part", sort=False) if several else [("", here)]:
            title = regime_title(regime) + (f", {part_title(str(part))}" if several else "")
            columns.append((Head(title, regime_meaning(regime)), rows))
    if len(columns) > 1 and not parts:
        columns.append((Head(f"{_OVERALL} {len(columns)}", "Mean over all cells"), found.overall))
    return [
        _Column(head, in_unit(rows, found.scaled).set_index("explainer"), found.ranking(rows, names.controls).bold)
        for head, rows in columns
    ]


def _wrong_side(found: Measured, key: str) -> Cell:
    if key not in found.wrong_side.index:
        return Cell()
    own = found.wrong_side.loc[key]
    return Cell(f"{own['wrong']} of {own['numbers']}")


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
    parts += [IN_BOLD] if any(c.best for c in columns) else []
    return " ".join(parts)


def cells_table(cells: pd.DataFrame) -> Table:
    """Every cell: one row for each with its part, measure and k; n, the chance level(s), and a number for each explainer."""
    if cells.empty:
        return Table("", (), (), ())
    explainers, titled = in_order(list(cells["explainer"].unique())), {"regime": regime_title, "part": part_title}
    names = ("measure", "k", *CELL, "part")
    keys = [key for key in names if key not in ("measure", "k", "part", "technique") or cells[key].nunique() > 1]
    grouped = any("," in sizes for sizes in cells["group_sizes"])
    places = {regime: place for place, regime in enumerate(ordered_regimes(set(cells["regime"])))}
    order = cells[list(CELL)].assign(
        regime=cells["regime"].map(places), asked=cells.groupby(["measure", "k"], sort=False).ngroup()
    )
    cells = cells.loc[order.sort_values(["asked", *CELL], kind="stable").index]
    rows = []
    for place, own in crossed(cells, names, "explainer").items():
        n = max(int(row["n"]) for row in own.values())
        sizes = next(iter(own.values()))["group_sizes"].strip("{}").replace('"', "")
        # One group has the size n.
        about = [counted(n), *([Cell(sizes if "," in sizes else "")] if grouped else [])]
        about.append(Cell(span([row["chance"] for row in own.values()], EXACT)))
        titles = tuple(titled.get(key, str)(value) for key, value in zip(names, place, strict=True) if key in keys)
        rows.append(Row(titles, (*about, *(_with_n(own.get(key), n) for key in explainers))))
    heads = ["n", *(["groups"] if grouped else []), "chance", *explainers]
    return Table("Every cell", tuple(keys), tuple(Head(head, left=head == "groups") for head in heads), tuple(rows))


def _with_n(row: Mapping[Any, Any] | None, n: int) -> Cell:
    """n: of the cell; an explainer with fewer instances shows its own."""
    fewer = row is not None and not pd.isna(row["value"]) and int(row["n"]) != n
    return number_cell(row, beside=f"n = {int(row['n'])}" if row is not None and fewer else "")
