"""A measure as the question tabs draw it: its means by regime with intervals, each model and dataset, in either unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import Ranking, ranking
from heval_core.figures.dots import Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.palette import colour, in_order
from heval_core.html import render
from heval_core.metrics.shared.measure import Measure
from heval_core.present.names import ALL, Names, part_words, regime_meaning, regime_title
from heval_core.present.numbers import interval, number, of_cells
from heval_core.records import REGIMES
from heval_core.regime_keys import ordered_regimes
from heval_core.statistics.values import normalised

_AT = ("at", "at_low", "at_high")
SCALED = "of 1 (0 = guessing)"


@dataclass(frozen=True)
class Measured:
    """A measure under a filter. cells: of its parts, those too that are not available. parts, regimes, overall: means over the
    cells that count (`means_of`), by regime and part, by regime, and over everything. scaled: whether it is shown from chance,
    0, to best, 1.
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

    @property
    def can_be_scaled(self) -> bool:
        """Whether there is a best possible value, so that it can be shown from chance to best."""
        return self.measure.best != "zero" and bool(pd.notna(self.overall["normalised"]).any())

    def ranking(self, means: pd.DataFrame, controls: Collection[str]) -> Ranking:
        """Of those means that are over all cells that count. In whatever unit they are shown, it is that from chance to best,
        where there is one, as on the board."""
        own = in_unit(means[means["whole"].astype(bool)], self.can_be_scaled)
        return ranking(own, controls, "high" if self.can_be_scaled else self.measure.best, _AT, chance="at_chance")

    def ranked(self, explainers: Sequence[str]) -> list[str]:
        """Those with a mean over all cells that count, the best first, and of those that are printed alike who ran in most
        cells; then those that lack some; then the others."""
        means = in_unit(self.overall, self.can_be_scaled).set_index("explainer")
        good = -self.away if self.measure.best == "zero" else means["at"]
        good = -good if self.measure.best == "low" and not self.can_be_scaled else good
        ran = self.cells.dropna(subset=["value"])["explainer"].value_counts()
        there = sorted(means.index, key=lambda key: (key in self.few, -round(good[key], 2), -ran[key], -good[key]))
        return [key for key in dict.fromkeys([*there, *in_order(list(explainers))]) if key in explainers]

    @cached_property
    def few(self) -> set[str]:
        """Explainers with values that lack some of the cells that count."""
        whole = self.overall[self.overall["whole"].astype(bool)]["explainer"]
        return set(self.cells.dropna(subset=["value"])["explainer"]) - set(whole)

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


def of_measure(cells: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """The rows of a metric that a measure reads: its parts, in its regimes."""
    cells = cells[cells["part"].isin(measure.parts)]
    return cells[cells["regime"].map(measure.asks).astype(bool)]  # a bare list would name columns where no cell is left


def as_normalised(cells: pd.DataFrame) -> pd.DataFrame:
    """The same with 0 for chance and 1 for the best possible value; intervals are moved with their values."""
    numbers = {name: cells[name].astype(float).to_numpy() for name in ("value", "low", "high", "chance", "best")}
    ends = [normalised(numbers[name], numbers["chance"], numbers["best"]) for name in ("low", "high")]
    turned = numbers["best"] < numbers["chance"]
    low, high = (pd.Series(end, index=cells.index) for end in ends)
    return cells.assign(
        value=normalised(numbers["value"], numbers["chance"], numbers["best"]),
        low=low.where(~turned, high),
        high=high.where(~turned, low),
        chance=cells["chance"].astype(float) * 0,
    )


def in_unit(frame: pd.DataFrame, scaled: bool) -> pd.DataFrame:
    """Adds `at`, `at_low`, `at_high` and `at_chance` to means: what is drawn of them."""
    name = "normalised" if scaled else "value"
    low, high = ("normalised_low", "normalised_high") if scaled else ("low", "high")
    chance = frame["chance"] * 0 if scaled else frame["chance"]
    return frame.assign(at=frame[name], at_low=frame[low], at_high=frame[high], at_chance=chance)


def cells_in_unit(cells: pd.DataFrame, scaled: bool) -> pd.DataFrame:
    """The same for cells."""
    turned = as_normalised(cells) if scaled else cells
    drawn = {f"at{end}": turned[name] for end, name in (("", "value"), ("_low", "low"), ("_high", "high"))}
    return cells.assign(**drawn, at_chance=turned["chance"])


def row_of(key: str, names: Names) -> Row:
    return Row(key, names.explainer(key), key in names.controls, names.meaning("explainer", key), colour(key))


def told(row: Mapping[Any, Any], measured: Measured) -> str:
    """`0.38 [0.37, 0.39] of 1 (0 = guessing)`, or with its unit and chance."""
    words = f"{interval(row['at'], row['at_low'], row['at_high'])} {measured.unit}"
    return words if measured.scaled else f"{words} (chance {number(row['at_chance'])})"


def picked_html(explainer: str, title: str, said: str) -> str:
    """What the bar under the figure says of a mark."""
    return render("picked.html", colour=colour(explainer), title=title, said=said)


def figure_of(measured: Measured, drawn: Sequence[str], names: Names) -> DotFigure:
    """drawn: explainers, in the order of the rows; controls last."""
    rows = [row_of(key, names) for key in drawn]
    of_unit = (in_unit(measured.parts, measured.scaled), cells_in_unit(measured.cells, measured.scaled))
    # A single cell's tick would be the mean once more.
    several = len(measured.cells.drop_duplicates(["model", "dataset"])) > 1
    parts, cells, regimes = (by_place(frame) for frame in (*of_unit, in_unit(measured.regimes, measured.scaled)))
    panels = []
    for regime in ordered_regimes(set(measured.cells["regime"]), REGIMES):
        means = {key: own[0] for (place, key), own in regimes.items() if place == regime}
        chances = [own["at_chance"] for (place, _), of_row in parts.items() if place == regime for own in of_row]
        chance = sum(chances) / len(chances) if chances else 0.0
        own_means = measured.regimes[measured.regimes["regime"] == regime]
        best, slots = measured.ranking(own_means, names.controls).bold, []
        for row in rows:
            own, every = parts.get((regime, row.key), []), cells.get((regime, row.key), [])
            dots = tuple(_dot(mean, measured, names) for mean in own)
            single = [cell for cell in every if several and not pd.isna(cell["at"])]
            marks = () if row.control else tuple(_cell(cell, measured, names) for cell in single)
            text = number(float(means[row.key]["at"])) if row.key in means else ""
            slots.append(Slot(dots, marks, text, row.key in best, None if dots else _missing(row, regime, every, chance)))
        if not means:
            continue
        count, counted = (max((mean[name] for mean in means.values()), default=0) for name in ("n", "cells"))
        note = f"n = {count:,} in {of_cells(counted)}"
        title, hint = regime_title(regime), regime_meaning(regime)
        panels.append(Panel(title, tuple(slots), note=note, hint=hint, chance=chance))
    words = ((0.0, "guessing"), (1.0, "best")) if measured.scaled else ()
    made = on_one_axis(rows, panels, measured.measure.best, words, scaled=measured.scaled)
    legend = [("dot", "mean with its 95 % interval")]
    if measured.in_parts:
        first, second = (part_words(part) for part in measured.measure.parts[:2])
        legend = [("pair", f"{first}, {second.removeprefix('used document ')}, with 95 % intervals; number: mean")]
    legend += [("cell", "one cell: a model on a dataset")] if several else []
    side = {"high": "below chance", "low": "above chance, worse than it"}.get(measured.measure.best)
    legend += [("below", side)] if side else []
    return DotFigure(measured.measure.title, rows, made, legend)


Record = dict[Any, Any]


def by_place(frame: pd.DataFrame, panel: str = "regime") -> dict[tuple[str, str], list[Record]]:
    """Rows of a table by panel and explainer. panel: the column that is a panel's.

    Plain records: a figure has hundreds, and frames of one row each would take most of a page's time.
    """
    found: dict[tuple[str, str], list[Record]] = {}
    for record in frame.drop(columns=["details", "group_sizes"], errors="ignore").to_dict("records"):
        found.setdefault((record[panel], record["explainer"]), []).append(record)
    return found


def _dot(mean: Record, measured: Measured, names: Names) -> Dot:
    id = (mean["explainer"], ALL, ALL, mean["regime"], mean["part"])
    second = measured.in_parts and mean["part"] != measured.measure.parts[0]
    sign = str(1 + measured.measure.parts.index(mean["part"])) if measured.in_parts else ""
    about = (
        f"{names.explainer(mean['explainer'])} · {names.place(*id[1:])}",
        told(mean, measured),
        f"mean over {mean['cells']} cells, {mean['n']:,} instances",
    )
    return Dot(mean["at"], about, id, mean["at_low"], mean["at_high"], mean["at_chance"], second, sign)


def _cell(cell: Record, measured: Measured, names: Names) -> Dot:
    id = tuple(cell[name] for name in ("explainer", "model", "dataset", "regime", "part"))
    about = (f"{names.explainer(id[0])} · {names.place(*id[1:])}", told(cell, measured), f"{int(cell['n']):,} instances")
    hollow = measured.in_parts and cell["part"] != measured.measure.parts[0]
    return Dot(cell["at"], about, id, hollow=hollow)


def _missing(row: Row, regime: str, cells: Sequence[Record], chance: float) -> Dot:
    reasons = dict.fromkeys(str(cell["unavailable"]) for cell in cells if not pd.isna(cell["unavailable"]))
    about = (f"{row.title} · {regime_title(regime)}", "not available", *(reasons or ["it was not measured here"]))
    return Dot(chance, about, (row.key, ALL, ALL, regime, ALL))
