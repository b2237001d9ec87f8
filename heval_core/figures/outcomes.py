"""The outcomes of the questions, as stacked bars: the answers' groups, and what was dropped."""

from __future__ import annotations

import json

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.layout import lay_out
from heval_core.figures.palette import DROPPED, GROUPS, RIM, escape
from heval_core.records import CELL
from heval_core.regime_keys import ordered_regimes
from heval_core.words import DROP_REASONS
from heval_core.words import GROUPS as GROUP_WORDS


def outcome_bars(outcomes: pd.DataFrame, titles: dict[str, str]) -> go.Figure:
    """One bar per label: shares of all that was asked: the groups, then each reason for dropping with a hatch of its own.

    outcomes: columns `label`, `dataset`, `regime`, `outcome`, `dropped`, `instances`. titles: what an outcome is called in the
    legend. Custom data: instances, dataset, regime, and the group; that is empty for what was dropped.
    """
    figure = go.Figure()
    labels = list(dict.fromkeys(outcomes["label"]))
    counts = outcomes.groupby(["label", "outcome"])["instances"].sum()
    asked = outcomes.groupby("label")["instances"].sum()
    places = outcomes.drop_duplicates("label").set_index("label")[["dataset", "regime"]]
    present = set(outcomes["outcome"])
    dropped = list(dict.fromkeys(outcomes[outcomes["dropped"]]["outcome"]))
    for outcome in [*(group for group in GROUP_WORDS if group in present), *sorted(dropped)]:
        shade, texture = DROPPED.get(outcome) or (GROUPS.get(outcome, "#BDBDBD"), "")
        of_labels = [int(counts.get((label, outcome), 0)) for label in labels]
        figure.add_bar(
            y=[escape(label) for label in labels],
            x=[count / asked[label] for count, label in zip(of_labels, labels, strict=True)],
            customdata=[
                [count, *places.loc[label], "" if outcome in dropped else outcome]
                for count, label in zip(of_labels, labels, strict=True)
            ],
            orientation="h",
            name=escape(titles.get(outcome, outcome)),
            marker={
                "color": shade,
                "line": {"width": 0.5, "color": RIM},
                # The shade lies under the hatch in both themes; by default the page would.
                "pattern": {"shape": texture, "fgcolor": RIM, "bgcolor": shade, "size": 6},
            },
            hovertemplate="%{y}<br>%{fullData.name}: %{customdata[0]:,} (%{x:.1%})<extra></extra>",
        )
    lay_out(figure, 90 + 30 * len(labels), "share of the questions asked", left=10, barmode="stack", bargap=0.3)
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def in_regime_order(frame: pd.DataFrame) -> pd.DataFrame:
    order = {regime: index for index, regime in enumerate(ordered_regimes(set(frame["regime"])))}
    return frame.sort_values(["dataset", "regime", "model"], key=lambda c: c.map(order) if c.name == "regime" else c)


def statistics(outcomes: pd.DataFrame, contexts: pd.DataFrame) -> pd.DataFrame:
    """A row per model, dataset, regime and technique: asked, kept, by group, lengths of the context, dropped by reason.

    outcomes, contexts: what `Reader.outcomes` and `Reader.contexts` give.
    """
    cell = list(CELL)
    counts = outcomes.pivot_table(index=cell, columns="outcome", values="instances", aggfunc="sum", fill_value=0)
    groups = [group for group in GROUP_WORDS if group in counts.columns]
    reasons = [reason for reason in DROP_REASONS if reason in counts.columns]
    table = counts[groups].reset_index()
    table.insert(len(cell), "asked", counts.sum(axis=1).to_numpy())
    table.insert(len(cell) + 1, "kept", counts[groups].sum(axis=1).to_numpy())
    lengths = contexts.assign(shipped=contexts["instances"] - contexts["substituted"]).drop(columns=["instances"])
    table = table.merge(lengths, on=cell, how="left").merge(counts[reasons].reset_index(), on=cell)
    return in_regime_order(table).reset_index(drop=True)


def sources(datasets: pd.DataFrame) -> pd.DataFrame:
    """What was read of each dataset's file, as readers see it. datasets: what `Reader.datasets` gives."""
    rows = []
    for row in datasets.to_dict("records"):
        reasons = json.loads(row["unusable"])
        rows.append(
            {
                "dataset": row["dataset"],
                "records read": row["records"],
                "malformed": row["malformed"],
                "left out": ", ".join(f"{count:,} {reason}" for reason, count in reasons.items()) or "none",
                "usable questions": row["usable"],
                "asked": row["asked"],
                "relations": row["relations"],
                "fingerprint": row["fingerprint"],
            }
        )
    return pd.DataFrame(rows)
