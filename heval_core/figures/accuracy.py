"""Figures with two axes: curves, faithfulness beside accuracy, and differences of two explainers, with 95 % intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heval_core.figures.dots import Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.front import Front, Point, Ticks, as_drawing, ends
from heval_core.figures.palette import colour, in_order
from heval_core.present.drawing import Drawing, Scale
from heval_core.present.names import Names
from heval_core.present.numbers import interval, number, p_value

_SIZE = (680.0, 420.0)
_GREY = "#808080"


def quarter_lines(points: pd.DataFrame, names: Names, axis_title: str, along: str) -> Drawing:
    """A line per explainer against what instances are binned by, and chance.

    points: columns explainer and bin (a point's id), mean, value, low, high, chance. along: title of the horizontal axis.
    """
    lines, dots = [], list[Point]()
    for key in in_order(list(points["explainer"].unique())):
        own = points[points["explainer"] == key].sort_values("bin")
        lines.append(("curve", colour(key), list(zip(own["mean"], own["value"], strict=True))))
        last = own["bin"].max()
        for row in own.itertuples():
            title = names.explainer(key) if row.bin == last else ""
            about = (names.explainer(key), f"{interval(row.value, row.low, row.high)} at {row.mean:,.0f}")
            across, upright = (row.mean, row.mean), ends(row.value, row.low, row.high)
            dots.append(Point((key, str(row.bin)), title, about, row.mean, row.value, across, upright, colour(key)))
    chance = points.groupby("bin")[["mean", "chance"]].mean()
    lines.append(("chance", "", list(zip(chance["mean"], chance["chance"], strict=True))))
    values = points[["value", "low", "high", "chance"]].to_numpy(dtype=float).ravel()
    least, most = points["mean"].min(), points["mean"].max()
    # With room for the names behind the last points.
    x, y = Scale.around([least, most + 0.2 * (most - least)]), Scale.around(values)
    axes = Ticks.over(along, x), Ticks.over(axis_title, y)
    return as_drawing(Front(f"{axis_title} by {along}; dashed: chance", dots, *axes, lines=lines), *_SIZE)


def scatter(points: pd.DataFrame, names: Names, x_title: str, y_title: str) -> Drawing:
    """A dot per cell and explainer, with intervals both ways; dashed lines: chance.

    points: label, x, x_low, x_high, y, y_low, y_high, n, and model, dataset, regime, part, explainer, which are a dot's id.
    """
    keys = in_order(list(points["explainer"].unique()))
    dots = [
        Point(
            (row.model, row.dataset, row.regime, row.part, row.explainer),
            "",
            (names.explainer(row.explainer), row.label, f"{number(row.x)}, {number(row.y)}", f"n = {row.n:,}"),
            row.x,
            row.y,
            ends(row.x, row.x_low, row.x_high),
            ends(row.y, row.y_low, row.y_high),
            colour(row.explainer),
        )
        for row in points.itertuples()
    ]
    x, y = (Scale.around([0.0, *points[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float).ravel()]) for name in "xy")
    lines = [("chance", "", [(x.least, 0.0), (x.most, 0.0)]), ("chance", "", [(0.0, y.least), (0.0, y.most)])]
    legend = [(colour(key), names.explainer(key)) for key in keys]
    axes = Ticks.over(x_title, x), Ticks.over(y_title, y)
    return as_drawing(Front(f"{y_title} by {x_title}", dots, *axes, lines=lines, legend=legend), *_SIZE)


def _ahead(row: Any, lower: bool) -> str:
    """The explainer that is ahead, even where the difference does not hold."""
    return str(row.better or (row.first if (row.difference > 0) != lower else row.second))


def difference_figure(pairs: pd.DataFrame, title: str, best: str = "high") -> DotFigure:
    """A row for each cell, in the colour of the one that is ahead; hollow where the difference does not hold.

    best: `high`, `low`, or `zero` where neither is ahead, and all dots are grey. pairs: label, difference, low, high, better,
    first, second, n, p_holm, and the cell's model, dataset, regime, part, which are a dot's id.
    """
    rows, slots = [], []
    for row in pairs.itertuples():
        hue = _GREY if best == "zero" else colour(_ahead(row, best == "low"))
        about = (row.label, f"{interval(row.difference, row.low, row.high)}, p (Holm) {p_value(row.p_holm)}", f"n = {row.n:,}")
        id = (row.model, row.dataset, row.regime, row.part)
        rows.append(Row(row.label, row.label, hue=hue))
        slots.append(Slot((Dot(row.difference, about, id, row.low, row.high, 0.0, not row.better),)))
    panels = on_one_axis(rows, [Panel(title, tuple(slots), chance=0.0)], "", ((0.0, "no difference"),))
    return DotFigure(title, rows, panels, hint="click a dot for its instances")
