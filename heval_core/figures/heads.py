"""How often each head was chosen, layers down and heads across."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.layout import clickable, lay_out
from heval_core.present.numbers import percent
from heval_core.records import head_name

_SIDE = 28  # of a square and its gap, in pixels


def counts_by_head(counts: pd.DataFrame, layers: int, heads: int) -> np.ndarray:
    """(layers, heads) instances in which each head was chosen. counts: columns layer, head and instances."""
    table = np.zeros((layers, heads))
    for row in counts.itertuples():
        table[row.layer, row.head] = row.instances
    return table


def head_counts(table: np.ndarray) -> go.Figure:
    """table: (layers, heads) instances in which each was chosen. A square's id is its head's name."""
    layers, heads = table.shape
    shares = table / max(1.0, float(table.sum()))
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    about = [(head_name(*at), f"{int(table[at]):,} instances ({percent(shares[at])})") for at in places]
    # Squares, not a heatmap: nothing in a heatmap can be clicked.
    figure = go.Figure(
        go.Scatter(
            x=[f"H{head}" for _, head in places],
            y=[f"L{layer}" for layer, _ in places],
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
            **clickable([(head_name(*at),) for at in places], about),
        )
    )
    lay_out(figure, 90 + _SIDE * layers, "", left=40, width=220 + _SIDE * heads)
    figure.update_xaxes(range=[-0.5, heads - 0.5], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[layers - 0.5, -0.5], showgrid=False, zeroline=False)
    return figure
