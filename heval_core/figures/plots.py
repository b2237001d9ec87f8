"""Figures that can be zoomed: faithfulness beside accuracy, and how often each head was chosen; and what all such share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.palette import RIM, in_order, look
from heval_core.present.names import Names
from heval_core.present.numbers import number, percent
from heval_core.records import head_name

CHANCE_LINE = {"color": "#808080", "dash": "dash", "width": 1.5}
_SIDE = 28  # of a head's square and its gap, in pixels


def lay_out(figure: go.Figure, height: int, x_title: str, y_title: str = "", left: int = 60, **more: Any) -> None:
    """Lay out a figure with its legend above it. height, left: of the figure and its left margin, in pixels."""
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"}
    figure.update_layout(xaxis_title=x_title, yaxis_title=y_title, height=height, clickmode="event+select", legend=legend)
    figure.update_layout(margin={"l": left, "r": 20, "t": 50, "b": 40}, **more)


def clickable(ids: Sequence[Sequence[str]], about: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return for a trace what a click is of, and the lines that are shown where the pointer rests."""
    texts = ["<br>".join(map(escape, lines)) for lines in about]
    return {"customdata": [list(id) for id in ids], "hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def ids_of(figure: go.Figure) -> set[tuple[str, ...]]:
    """Return the ids of all that can be clicked."""
    return {tuple(id) for trace in figure.data for id in (() if trace.customdata is None else trace.customdata)}


def escape(label: str) -> str:
    """Escape text for Plotly: it reads a little HTML in labels, and would swallow a token like <s>."""
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def legible(figure: go.Figure, dark: bool) -> None:
    """Give texts of axes and legend a contrast of 4.5 or more: Streamlit's own are paler."""
    ink = "#B0B5BC" if dark else "#555C65"
    axes = {"tickfont": {"color": ink}, "title": {"font": {"color": ink}}}
    figure.update_layout(xaxis=axes, yaxis=axes, legend={"font": {"color": ink}})


def scatter(points: pd.DataFrame, names: Names, x_title: str, y_title: str) -> go.Figure:
    """Draw a dot per cell and explainer, with 95 % intervals both ways; dashed lines: chance.

    points: label, x, x_low, x_high, y, y_low, y_high, n, and model, dataset, regime, part, explainer, which are a dot's id.
    """
    figure, id = go.Figure(), ["model", "dataset", "regime", "part", "explainer"]
    for key in in_order(list(points["explainer"].unique())):
        dots, style, name = points[points["explainer"] == key], look(key), names.explainer(key)
        about = [(name, row.label, f"{number(row.x)}, {number(row.y)}", f"n = {row.n:,}") for row in dots.itertuples()]
        figure.add_scatter(
            x=dots["x"],
            y=dots["y"],
            mode="markers",
            name=escape(name),
            marker={"size": 9, "color": style.colour, "symbol": style.symbol, "line": {"width": 1, "color": RIM}},
            error_x=_whiskers(dots, "x"),
            error_y=_whiskers(dots, "y"),
            **clickable(dots[id].astype(str).to_numpy().tolist(), about),
        )
    figure.add_hline(y=0, line=CHANCE_LINE)
    figure.add_vline(x=0, line=CHANCE_LINE)
    lay_out(figure, 460, x_title, y_title)
    return figure


def _whiskers(points: pd.DataFrame, axis: str) -> dict[str, Any]:
    ends = {"array": points[f"{axis}_high"] - points[axis], "arrayminus": points[axis] - points[f"{axis}_low"]}
    return {"type": "data", **ends, "thickness": 1, "width": 0}


def head_counts(table: np.ndarray) -> go.Figure:
    """Draw a square for each head. table: (layers, heads) instances in which each was chosen, layers down.

    A square's id is its head's name.
    """
    layers, heads = table.shape
    shares = table / max(1.0, float(table.sum()))
    indices = [(layer, head) for layer in range(layers) for head in range(heads)]
    about = [(head_name(*at), f"{int(table[at]):,} instances ({percent(shares[at])})") for at in indices]
    # Squares, not a heatmap: nothing in a heatmap can be clicked.
    figure = go.Figure(
        go.Scatter(
            x=[f"H{head}" for _, head in indices],
            y=[f"L{layer}" for layer, _ in indices],
            mode="markers",
            marker={
                "symbol": "square",
                "size": _SIDE - 3,
                "color": shares.ravel(),
                "cmin": 0,
                "cmax": float(shares.max()) or 1,
                "colorscale": [[0, "rgba(204,121,167,0.06)"], [1, "#CC79A7"]],
                "line": {"width": 0},
                "opacity": 1,
                "colorbar": {"tickformat": ".0%", "title": {"text": "share of instances"}, "thickness": 14},
            },
            **clickable([(head_name(*at),) for at in indices], about),
        )
    )
    lay_out(figure, 90 + _SIDE * layers, "", left=40, width=220 + _SIDE * heads)
    figure.update_xaxes(range=[-0.5, heads - 0.5], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[layers - 0.5, -0.5], showgrid=False, zeroline=False)
    return figure
