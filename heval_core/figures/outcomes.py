"""What became of the questions, as stacked bars: groups of the answers, and what was dropped."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.palette import GROUPS, escape

DROPPED = "#CFCFCF"


def outcome_bars(outcomes: pd.DataFrame, titles: dict[str, str]) -> go.Figure:
    """One bar per label: shares of all that was asked, groups first, then the dropped, hatched.

    outcomes: columns `label`, `outcome`, `dropped`, `instances`. titles: what an outcome is called in the legend.
    """
    figure = go.Figure()
    labels = list(dict.fromkeys(outcomes["label"]))
    counts = outcomes.groupby(["label", "outcome"])["instances"].sum()
    asked = outcomes.groupby("label")["instances"].sum()
    present = set(outcomes["outcome"])
    dropped = list(dict.fromkeys(outcomes[outcomes["dropped"]]["outcome"]))
    for outcome in [*(group for group in GROUPS if group in present), *sorted(dropped)]:
        own = [int(counts.get((label, outcome), 0)) for label in labels]
        figure.add_bar(
            y=[escape(label) for label in labels],
            x=[count / asked[label] for count, label in zip(own, labels, strict=True)],
            customdata=own,
            orientation="h",
            name=escape(titles.get(outcome, outcome)),
            marker_color=GROUPS.get(outcome, DROPPED),
            marker_pattern_shape="/" if outcome in dropped else "",
            hovertemplate="%{y}<br>%{fullData.name}: %{customdata:,} (%{x:.1%})<extra></extra>",
        )
    figure.update_layout(
        barmode="stack", bargap=0.3, height=90 + 30 * len(labels), margin={"l": 10, "r": 20, "t": 40, "b": 40},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0, "traceorder": "normal"},
        xaxis={"tickformat": ".0%", "range": [0, 1], "title": "share of the questions asked"},
        yaxis={"autorange": "reversed", "automargin": True},
    )  # fmt: skip
    return figure
