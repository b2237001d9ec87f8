"""A measure as the question tabs draw it: its means by regime with intervals, each model and dataset, in either unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from heval_core.figures.cells import as_normalised
from heval_core.figures.comparable import comparable, goodness, shared
from heval_core.figures.palette import colour, in_order
from heval_core.figures.panels import Axis, Mark, Panel, Row, Slot, axis_over
from heval_core.html import render
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import ALL, Names, regime_meaning, regime_title
from heval_core.present.numbers import interval, number
from heval_core.records import REGIMES
from heval_core.regime_keys import ordered_regimes

SCALED = "of the way from chance to the best possible"


@dataclass(frozen=True)
class Measured:
    """A measure under a filter. cells: of its parts, those too that are not available. parts, regimes, overall: means over
    cells, by regime and part, by regime, and over everything. scaled: whether it is shown from chance, 0, to best, 1.
    """

    measure: Measure
    cells: pd.DataFrame
    parts: pd.DataFrame
    regimes: pd.DataFrame
    overall: pd.DataFrame
    scaled: bool

    @property
    def unit(self) -> str:
        return SCALED if self.scaled else self.measure.unit

    @cached_property
    def in_parts(self) -> bool:
        """Whether a cell has two parts, which are drawn side by side."""
        return bool(self.parts.groupby("regime")["part"].nunique().max() > 1) if len(self.parts) else False

    def ranked(self, explainers: Sequence[str]) -> list[str]:
        """Those that have a value, the best first; then the others.

        Where some have values in fewer of the cells, the best over the cells that all of them have; if there is none, those
        with fewer cells come last.
        """
        if self.few.intersection(explainers) and len(good := self.good(explainers)):
            # Of those that are printed alike, who ran in more of the cells is drawn rather than who ran in few.
            number = self.cells.dropna(subset=["value"]).groupby("explainer").size()
            order = pd.DataFrame({"printed": good.round(2), "cells": number[good.index], "good": good})
            there = list(order.sort_values(list(order), ascending=False, kind="stable").index)
            return there + [key for key in in_order(list(explainers)) if key not in there]
        values = in_unit(self.overall, self.scaled).set_index("explainer")["at"]
        if self.measure.best == "zero":
            values = self.away
        places = values.sort_values(ascending=self.measure.best != "high", kind="stable")
        there = sorted((key for key in places.index if key in explainers), key=self.few.__contains__)
        return there + [key for key in in_order(list(explainers)) if key not in there]

    def good(self, explainers: Collection[str], regime: str = "") -> pd.Series:
        """By explainer, how good it is over the cells that all of these have, of one regime or of all; empty without any."""
        drawn = cells_in_unit(self.cells, self.scaled)
        own = drawn[drawn["explainer"].isin(list(explainers)) & (drawn["regime"].eq(regime) | (not regime))]
        found = shared(own.assign(value=own["at"], chance=own["at_chance"]))
        return goodness(found, self.measure.best).groupby(level="explainer").max() if len(found) else pd.Series(dtype=float)

    @cached_property
    def few(self) -> set[str]:
        """Explainers with values in fewer of the cells than others."""
        known = self.cells.dropna(subset=["value"]).groupby("explainer").size()
        return set(known.index[~comparable(known)])

    @cached_property
    def away(self) -> pd.Series:
        """Per explainer the mean distance from chance: biases of opposite sign do not add up to a small one."""
        known = self.cells.dropna(subset=["value"])
        return (known["value"] - known["chance"]).abs().groupby(known["explainer"]).mean()

    @cached_property
    def wrong_side(self) -> pd.DataFrame:
        """Per explainer: how many of its numbers there are, in how many cells, and of how many the interval lies wholly on
        the wrong side of chance."""
        known = self.cells.dropna(subset=["value"])
        wrong = known["above_low"] > 0 if self.measure.best == "low" else known["above_high"] < 0
        if self.measure.best == "zero":
            wrong = known["value"].isna()
        regimes = known["model"] + "\n" + known["dataset"] + "\n" + known["regime"]
        counted = known.assign(wrong=wrong, cell=regimes).groupby("explainer")
        return counted.agg(wrong=("wrong", "sum"), numbers=("wrong", "size"), cells=("cell", "nunique"))


def in_unit(frame: pd.DataFrame, scaled: bool) -> pd.DataFrame:
    """Adds `at`, `at_low`, `at_high` and `at_chance` to means: what is drawn of them."""
    name = "normalised" if scaled else "value"
    low, high = ("normalised_low", "normalised_high") if scaled else ("low", "high")
    chance = frame["chance"] * 0 if scaled else frame["chance"]
    return frame.assign(at=frame[name], at_low=frame[low], at_high=frame[high], at_chance=chance)


def as_shown(means: pd.DataFrame, scaled: bool) -> pd.DataFrame:
    """Means whose value, interval and chance are those that are drawn."""
    drawn = in_unit(means, scaled)
    return drawn.assign(value=drawn["at"], low=drawn["at_low"], high=drawn["at_high"], chance=drawn["at_chance"])


def cells_in_unit(cells: pd.DataFrame, scaled: bool) -> pd.DataFrame:
    """The same for cells."""
    turned = as_normalised(cells) if scaled else cells
    drawn = {f"at{end}": turned[name] for end, name in (("", "value"), ("_low", "low"), ("_high", "high"))}
    return cells.assign(**drawn, at_chance=turned["chance"])


def row_of(key: str, names: Names) -> Row:
    return Row(key, names.explainer(key), key in names.controls, names.meaning("explainer", key))


def told(row: Mapping[Any, Any], measured: Measured) -> str:
    """`0.38 [0.37, 0.39] of the way from chance to the best possible`, or with its unit and chance."""
    words = f"{interval(row['at'], row['at_low'], row['at_high'])} {measured.unit}"
    return words if measured.scaled else f"{words} (chance {number(row['at_chance'])})"


def picked_html(explainer: str, title: str, said: str) -> str:
    """What the bar under the figure says of a mark."""
    return render("picked.html", colour=colour(explainer), title=title, said=said)


def panels_of(measured: Measured, drawn: Sequence[str], names: Names) -> tuple[list[Row], list[Panel], Axis]:
    """drawn: explainers, in the order of the rows; controls last."""
    rows = [row_of(key, names) for key in drawn]
    parts, cells = in_unit(measured.parts, measured.scaled), cells_in_unit(measured.cells, measured.scaled)
    regimes = in_unit(measured.regimes, measured.scaled)
    axis = _axis(measured, [frame[frame["explainer"].isin(drawn)] for frame in (parts, cells)], names)
    places = Places(*(by_place(frame) for frame in (parts, cells, regimes)))
    there = set(measured.cells["regime"])
    return rows, [_panel(measured, regime, rows, places, names) for regime in ordered_regimes(there, REGIMES)], axis


Record = dict[Any, Any]


class Places(NamedTuple):
    """By regime and explainer: the means of a panel's row, its cells, and its mean over both parts. Plain records: a
    figure has hundreds, and frames of one row each would take most of a page's time."""

    parts: dict[tuple[str, str], list[Record]]
    cells: dict[tuple[str, str], list[Record]]
    regimes: dict[tuple[str, str], list[Record]]


def by_place(frame: pd.DataFrame, panel: str = "regime") -> dict[tuple[str, str], list[Record]]:
    """Rows of a table by panel and explainer. panel: the column that is a panel's."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in frame.drop(columns=["details", "group_sizes"], errors="ignore").to_dict("records"):
        found.setdefault((record[panel], record["explainer"]), []).append(record)
    return found


def _axis(measured: Measured, frames: Sequence[pd.DataFrame], names: Names) -> Axis:
    methods = [frame[~frame["explainer"].isin(names.controls)] for frame in frames]
    if all(frame["at"].isna().all() for frame in methods):
        methods = list(frames)
    means, cells = methods
    values = [*means["at"], *means["at_low"], *means["at_high"], *cells["at"].dropna(), *means["at_chance"]]
    words = ((0.0, "chance"), (1.0, "best possible")) if measured.scaled else ()
    return axis_over([float(value) for value in values], measured.measure.best, measured.scaled, words)


def _panel(measured: Measured, regime: str, rows: Sequence[Row], places: Places, names: Names) -> Panel:
    means = {key: own[0] for (place, key), own in places.regimes.items() if place == regime}
    dots = [own for (place, _), of_row in places.parts.items() if place == regime for own in of_row]
    chance = sum(own["at_chance"] for own in dots) / len(dots) if dots else 0.0
    best = winner(measured, pd.DataFrame(means).T, names, regime)
    slots = tuple(_slot(measured, regime, row, places, names, chance, row.key == best) for row in rows)
    count = max((own["n"] for own in means.values()), default=0)
    cells = max((own["cells"] for own in means.values()), default=0)
    note = f"n = {count:,} in {cells} cell{'s' if cells != 1 else ''}"
    return Panel(regime_title(regime), note, regime_meaning(regime), chance, slots)


def _slot(measured: Measured, regime: str, row: Row, places: Places, names: Names, chance: float, best: bool) -> Slot:
    at = (regime, row.key)
    cells, means = places.cells.get(at, []), places.regimes.get(at, [])
    dots = tuple(_dot(mean, measured, names) for mean in places.parts.get(at, []))
    marks = () if row.control else tuple(_cell(cell, measured, names) for cell in cells if not pd.isna(cell["at"]))
    value = float(means[0]["at"]) if means else None
    return Slot(dots, marks, value, best, None if dots else _missing(row, regime, cells, chance))


def winner(measured: Measured, means: pd.DataFrame, names: Names, regime: str = "") -> str:
    """The method with the best value, over the cells that all methods have where their numbers of cells differ; none for a
    bias, of which a mean near chance may hide two of opposite sign. means: index explainer; at, cells."""
    if means.empty or measured.measure.best == "zero":
        return ""
    own = means[~means.index.isin(list(names.controls))].dropna(subset=["at"])
    good = own["at"].astype(float) * (1 if measured.measure.best == "high" else -1)
    if own["cells"].nunique() > 1:
        good = measured.good(list(own.index), regime)
    return str(good.idxmax()) if len(good) else ""


def _dot(mean: Record, measured: Measured, names: Names) -> Mark:
    id = (mean["explainer"], ALL, ALL, mean["regime"], mean["part"])
    second = measured.in_parts and mean["part"] != measured.measure.parts[0]
    sign = str(1 + measured.measure.parts.index(mean["part"])) if measured.in_parts else ""
    about = (
        f"{names.explainer(mean['explainer'])} · {names.place(*id[1:])}",
        told(mean, measured),
        f"mean over {mean['cells']} cells, {mean['n']:,} instances",
    )
    return Mark(mean["at"], about, id, mean["at_low"], mean["at_high"], hollow=second, sign=sign)


def _cell(cell: Record, measured: Measured, names: Names) -> Mark:
    id = tuple(cell[name] for name in ("explainer", "model", "dataset", "regime", "part"))
    about = (f"{names.explainer(id[0])} · {names.place(*id[1:])}", told(cell, measured), f"{int(cell['n']):,} instances")
    hollow = measured.in_parts and cell["part"] != measured.measure.parts[0]
    return Mark(cell["at"], about, id, hollow=hollow)


def _missing(row: Row, regime: str, cells: Sequence[Record], chance: float) -> Mark:
    reasons = dict.fromkeys(str(cell["unavailable"]) for cell in cells if not pd.isna(cell["unavailable"]))
    about = (f"{row.title} · {regime_title(regime)}", "not available", *(reasons or ["it was not measured here"]))
    return Mark(chance, about, (row.key, ALL, ALL, regime, ALL))
