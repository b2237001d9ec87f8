"""Patterns of failure as stacked bars: what each explainer's best token is."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.palette import escape, in_order

# Blue for what is right; warm and grey hues, and a texture each, for what is not.
HUES = {
    "answer": ("#0072B2", ""),
    "wrong_document": ("#D55E00", ""),
    "question": ("#E69F00", "/"),
    "function_word": ("#F0C75E", "."),
    "near_entity": ("#CC79A7", "x"),
    "other": ("#9A9A9A", ""),
    "tied": ("#C9C9C9", "-"),
}


def pattern_bars(counts: pd.DataFrame, titles: dict[str, str]) -> go.Figure:
    """One bar per explainer, shares of its instances. counts: explainer, pattern, instances, share."""
    figure = go.Figure()
    explainers = in_order(list(counts["explainer"].unique()))
    for pattern, (hue, texture) in HUES.items():
        own = counts[counts["pattern"] == pattern].set_index("explainer")
        if own.empty:
            continue
        figure.add_bar(
            y=[escape(titles.get(key, key)) for key in explainers],
            x=[float(own["share"].get(key, 0)) for key in explainers],
            orientation="h", name=pattern.replace("_", " "), marker_color=hue, marker_pattern_shape=texture,
            customdata=[[key, pattern, int(own["instances"].get(key, 0))] for key in explainers],
            hovertemplate="%{y}: %{fullData.name}<br>%{customdata[2]:,} instances (%{x:.1%})<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        barmode="stack", bargap=0.3, height=110 + 34 * len(explainers), margin={"l": 10, "r": 90, "t": 40, "b": 40},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "traceorder": "normal"},
        xaxis={"tickformat": ".0%", "range": [0, 1], "title": "share of the instances answered from a document"},
        yaxis={"autorange": "reversed", "automargin": True}, clickmode="event+select",
    )  # fmt: skip
    return figure
