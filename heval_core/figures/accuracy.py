"""Figures with two axes: curves, faithfulness beside accuracy, and differences of two explainers, with 95 % whiskers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.dots import Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.layout import CHANCE_COLOUR, CHANCE_LINE, lay_out, whiskers
from heval_core.figures.palette import RIM, colour, escape, in_order, look
from heval_core.present.numbers import interval, p_value

RIMMED = {"width": 1, "color": RIM}


def _by_explainer(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each explainer's rows, in the explainers' order."""
    by_explainer = dict(iter(frame.groupby("explainer", sort=False)))
    return ((explainer, by_explainer[explainer]) for explainer in in_order(list(by_explainer)))


def quarter_lines(points: pd.DataFrame, titles: dict[str, str], axis_title: str, along: str) -> go.Figure:
    """A line per explainer against what instances are binned by, and chance.

    points: columns explainer and bin (the custom data), mean, value, low, high, chance. along: title of the horizontal axis.
    """
    figure = go.Figure()
    for explainer, line in _by_explainer(points):
        figure.add_scatter(
            x=line["mean"],
            y=line["value"],
            mode="lines+markers",
            name=escape(titles.get(explainer, explainer)),
            line={"color": colour(explainer), "width": 2, "dash": look(explainer).dash},
            marker={"size": 9, "symbol": look(explainer).symbol, "line": RIMMED},
            error_y=whiskers(line["value"], line["low"], line["high"], 1, 3),
            customdata=line[["explainer", "bin"]],
            hovertemplate="%{fullData.name}: %{y:.3f} at %{x:.0f}<extra></extra>",
        )
    chance = points.groupby("bin")[["mean", "chance"]].mean()
    figure.add_scatter(x=chance["mean"], y=chance["chance"], mode="lines", name="chance", line=CHANCE_LINE, hoverinfo="skip")
    lay_out(figure, 420, along, axis_title)
    return figure


def scatter(points: pd.DataFrame, titles: dict[str, str], x_title: str, y_title: str) -> go.Figure:
    """A dot per cell and explainer, whiskers both ways.

    points: explainer, label, x, x_low, x_high, y, y_low, y_high, n, and the cell's model, dataset, regime, part (custom data).
    """
    figure = go.Figure()
    for explainer, dots in _by_explainer(points):
        figure.add_scatter(
            x=dots["x"],
            y=dots["y"],
            mode="markers",
            name=escape(titles.get(explainer, explainer)),
            marker={"color": colour(explainer), "symbol": look(explainer).symbol, "size": 9, "line": RIMMED},
            error_x=whiskers(dots["x"], dots["x_low"], dots["x_high"], 0.7, 0),
            error_y=whiskers(dots["y"], dots["y_low"], dots["y_high"], 0.7, 0),
            customdata=dots[["model", "dataset", "regime", "part", "label", "n"]],
            hovertemplate="%{fullData.name}<br>%{customdata[4]}<br>%{x:.3f}, %{y:.3f} · n = %{customdata[5]}<extra></extra>",
        )
    lay_out(figure, 460, x_title, y_title)
    figure.add_hline(y=0, line=CHANCE_LINE, annotation_text="chance")
    figure.add_vline(x=0, line=CHANCE_LINE)
    return figure


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
        hue = CHANCE_COLOUR if best == "zero" else colour(_ahead(row, best == "low"))
        about = (row.label, f"{interval(row.difference, row.low, row.high)}, p (Holm) {p_value(row.p_holm)}", f"n = {row.n:,}")
        id = (row.model, row.dataset, row.regime, row.part)
        rows.append(Row(row.label, row.label, hue=hue))
        slots.append(Slot((Dot(row.difference, about, id, row.low, row.high, 0.0, not row.better),)))
    panels = on_one_axis(rows, [Panel(title, tuple(slots), chance=0.0)], "", ((0.0, "no difference"),))
    return DotFigure(title, rows, panels, hint="click a dot for its instances")
