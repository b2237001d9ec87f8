"""What figures that can be zoomed share: layout, chance, intervals, texts, and the ids of what can be clicked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

CHANCE_LINE = {"color": "#808080", "dash": "dash", "width": 1.5}


def lay_out(figure: go.Figure, height: int, x_title: str, y_title: str = "", left: int = 60, **more: Any) -> None:
    """Lay out a figure with its legend above it. height, left: of the figure and its left margin, in pixels."""
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"}
    figure.update_layout(xaxis_title=x_title, yaxis_title=y_title, height=height, clickmode="event+select", legend=legend)
    figure.update_layout(margin={"l": left, "r": 20, "t": 50, "b": 40}, **more)


def whiskers(points: pd.DataFrame, axis: str) -> dict[str, Any]:
    """From `x_low` to `x_high` round `x`, for either axis."""
    ends = {"array": points[f"{axis}_high"] - points[axis], "arrayminus": points[axis] - points[f"{axis}_low"]}
    return {"type": "data", **ends, "thickness": 1, "width": 0}


def clickable(ids: Sequence[Sequence[str]], about: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Of a trace: what a click is of, and the lines that are shown where the pointer rests."""
    texts = ["<br>".join(map(escape, lines)) for lines in about]
    return {"customdata": [list(id) for id in ids], "hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def ids_of(figure: go.Figure) -> set[tuple[str, ...]]:
    """Of all that can be clicked."""
    return {tuple(id) for trace in figure.data for id in (() if trace.customdata is None else trace.customdata)}


def escape(label: str) -> str:
    """Text as Plotly is to show it: it reads a little HTML in labels, and would swallow a token like <s>."""
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def legible(figure: go.Figure, dark: bool) -> None:
    """Texts of axes and legend with a contrast of 4.5 or more: Streamlit's own are paler."""
    ink = "#B0B5BC" if dark else "#555C65"
    axes = {"tickfont": {"color": ink}, "title": {"font": {"color": ink}}}
    figure.update_layout(xaxis=axes, yaxis=axes, legend={"font": {"color": ink}})
