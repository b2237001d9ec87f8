"""What figures share: how chance, whiskers, legends and stacked shares are drawn."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

CHANCE_COLOUR = "#808080"
CHANCE_LINE = {"color": CHANCE_COLOUR, "dash": "dash", "width": 1.5}


def whiskers(value: Any, low: Any, high: Any, thickness: float, width: int, **more: Any) -> dict[str, Any]:
    """From low to high, each of the shape of value."""
    ends = {"array": high - value, "arrayminus": value - low}
    return {"type": "data", **ends, "thickness": thickness, "width": width, **more}


def lay_out(figure: go.Figure, height: int, x_title: str, y_title: str = "", left: int = 60, **more: Any) -> None:
    """Lay out a figure with its legend above it. height, left: of the figure and its left margin, in pixels."""
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"}
    figure.update_layout(xaxis_title=x_title, yaxis_title=y_title, height=height, clickmode="event+select", legend=legend)
    figure.update_layout(margin={"l": left, "r": 20, "t": 50, "b": 40}, **more)


def legible(drawn: object, dark: bool) -> None:
    """Texts of axes and legend with a contrast of 4.5 or more: Streamlit's own are paler."""
    if isinstance(drawn, go.Figure):
        ink = "#B0B5BC" if dark else "#555C65"
        axes = {"tickfont": {"color": ink}, "title": {"font": {"color": ink}}}
        drawn.update_layout(xaxis=axes, yaxis=axes, legend={"font": {"color": ink}})
