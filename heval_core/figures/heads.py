"""How often each head was chosen, layers down and heads across."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go


def head_counts(table: np.ndarray) -> go.Figure:
    """table: (layers, heads) instances in which each was chosen."""
    layers, heads = table.shape
    shares = table / max(1.0, float(table.sum()))
    figure = go.Figure(
        go.Heatmap(
            z=shares, x=[f"H{head}" for head in range(heads)], y=[f"L{layer}" for layer in range(layers)], customdata=table,
            colorscale=[[0, "rgba(204,121,167,0.06)"], [1, "#CC79A7"]], xgap=2, ygap=2, zmin=0,
            colorbar={"tickformat": ".0%", "title": {"text": "share of instances"}},
            hovertemplate="%{y}%{x}: %{customdata:,} instances (%{z:.1%})<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        height=90 + 26 * layers, width=220 + 30 * heads, margin={"l": 40, "r": 20, "t": 10, "b": 40},
        yaxis={"autorange": "reversed"},
    )  # fmt: skip
    return figure
