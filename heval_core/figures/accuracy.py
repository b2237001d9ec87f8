"""Faithfulness beside accuracy, with 95 % intervals both ways."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.layout import CHANCE_LINE, clickable, escape, lay_out, whiskers
from heval_core.figures.palette import RIM, in_order, look
from heval_core.present.names import Names
from heval_core.present.numbers import number


def scatter(points: pd.DataFrame, names: Names, x_title: str, y_title: str) -> go.Figure:
    """A dot per cell and explainer; dashed lines: chance.

    points: label, x, x_low, x_high, y, y_low, y_high, n, and model, dataset, regime, part, explainer, which are a dot's id.
    """
    figure = go.Figure()
    for key in in_order(list(points["explainer"].unique())):
        own, shown, name = points[points["explainer"] == key], look(key), names.explainer(key)
        about = [(name, row.label, f"{number(row.x)}, {number(row.y)}", f"n = {row.n:,}") for row in own.itertuples()]
        ids = own[["model", "dataset", "regime", "part", "explainer"]].astype(str).to_numpy().tolist()
        figure.add_scatter(
            x=own["x"],
            y=own["y"],
            mode="markers",
            name=escape(name),
            marker={"size": 9, "color": shown.colour, "symbol": shown.symbol, "line": {"width": 1, "color": RIM}},
            error_x=whiskers(own, "x"),
            error_y=whiskers(own, "y"),
            **clickable(ids, about),
        )
    figure.add_hline(y=0, line=CHANCE_LINE)
    figure.add_vline(x=0, line=CHANCE_LINE)
    lay_out(figure, 460, x_title, y_title)
    return figure
