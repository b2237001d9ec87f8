"""Figures with two axes: curves, and faithfulness beside accuracy, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.layout import CHANCE_LINE, clickable, escape, lay_out, whiskers
from heval_core.figures.palette import RIM, in_order, look
from heval_core.present.names import Names
from heval_core.present.numbers import interval, number


def quarter_lines(points: pd.DataFrame, names: Names, axis_title: str, along: str) -> go.Figure:
    """A line per explainer against what instances are binned by, and chance.

    points: columns explainer and bin (a point's id), mean, value, low, high, chance. along: title of the horizontal axis.
    """
    placed = points.sort_values("bin").rename(columns={"value": "y", "low": "y_low", "high": "y_high"})
    about = [(f"{interval(row.y, row.y_low, row.y_high)} at {row.mean:,.0f}",) for row in placed.itertuples()]
    placed = placed.assign(x=placed["mean"], x_low=placed["mean"], x_high=placed["mean"], about=about)
    figure = _by_explainer(placed, names, "lines+markers", ("explainer", "bin"))
    chance = points.groupby("bin")[["mean", "chance"]].mean()
    figure.add_scatter(x=chance["mean"], y=chance["chance"], mode="lines", name="chance", line=CHANCE_LINE, hoverinfo="skip")
    lay_out(figure, 420, along, axis_title)
    return figure


def scatter(points: pd.DataFrame, names: Names, x_title: str, y_title: str) -> go.Figure:
    """A dot per cell and explainer, with intervals both ways; dashed lines: chance.

    points: label, x, x_low, x_high, y, y_low, y_high, n, and model, dataset, regime, part, explainer, which are a dot's id.
    """
    about = [(row.label, f"{number(row.x)}, {number(row.y)}", f"n = {row.n:,}") for row in points.itertuples()]
    figure = _by_explainer(points.assign(about=about), names, "markers", ("model", "dataset", "regime", "part", "explainer"))
    figure.add_hline(y=0, line=CHANCE_LINE)
    figure.add_vline(x=0, line=CHANCE_LINE)
    lay_out(figure, 460, x_title, y_title)
    return figure


def _by_explainer(points: pd.DataFrame, names: Names, mode: str, id: Sequence[str]) -> go.Figure:
    """points: also `about`, the lines below the explainer's name that are shown of a point. id: columns."""
    figure = go.Figure()
    for key in in_order(list(points["explainer"].unique())):
        own, shown, name = points[points["explainer"] == key], look(key), names.explainer(key)
        figure.add_scatter(
            x=own["x"],
            y=own["y"],
            mode=mode,
            name=escape(name),
            line={"width": 2, "color": shown.colour, "dash": shown.dash},
            marker={"size": 9, "color": shown.colour, "symbol": shown.symbol, "line": {"width": 1, "color": RIM}},
            error_x=whiskers(own, "x"),
            error_y=whiskers(own, "y"),
            **clickable(own[list(id)].astype(str).to_numpy().tolist(), [(name, *lines) for lines in own["about"]]),
        )
    return figure
