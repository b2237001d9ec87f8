"""The outcomes of the questions, as stacked bars and as a table: the answers' groups, and what was dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from heval_core.figures.palette import DROPPED, GROUPS
from heval_core.figures.shares import Share, SharePanel, share_panels
from heval_core.present.drawing import Drawing, numbered
from heval_core.present.names import regime_title
from heval_core.records import CELL
from heval_core.regime_keys import ordered_regimes
from heval_core.words import DROP_REASONS
from heval_core.words import GROUPS as GROUP_WORDS

# Panels of a figure.
_ACROSS = 3
# In place of the group in the id of a piece that was dropped.
LEFT_OUT = "dropped"


def outcome_shares(outcomes: pd.DataFrame) -> tuple[tuple[str, Drawing], ...]:
    """For each model and technique, a few to a figure: (caption, drawing)."""
    titles = outcomes["model"] + (" · " + outcomes["technique"] if outcomes["technique"].nunique() > 1 else "")
    bars = outcomes["dataset"] + " · " + outcomes["regime"].map(regime_title)
    own = in_regime_order(outcomes.assign(panel=titles, label=bars))
    panels = sorted(set(own["panel"]))
    parts = [panels[start : start + _ACROSS] for start in range(0, len(panels), _ACROSS)]
    captions = numbered("Outcomes of the questions asked, in %", len(parts))
    return tuple((name, share_figure(own, name, part)) for name, part in zip(captions, parts, strict=True))


def share_figure(outcomes: pd.DataFrame, title: str, panels: Sequence[str]) -> Drawing:
    """Shares of all that was asked: the groups, then each reason for dropping; a bar for each label, in each of the panels.

    outcomes: columns `panel`, `label`, `dataset`, `regime`, `outcome`, `instances`. Ids of pieces: dataset, regime, and
    the group or LEFT_OUT.
    """
    present = set(outcomes["outcome"])
    hues = {group: hue for group, hue in GROUPS.items() if group in present}
    reasons = [*(key for key in DROP_REASONS if key in present), *sorted(present - set(DROP_REASONS) - set(hues))]
    hues |= {reason: DROPPED[place % len(DROPPED)] for place, reason in enumerate(reasons)}
    legend = {key: GROUP_WORDS[key].title if key in GROUP_WORDS else f"dropped: {key}" for key in hues}
    counts = outcomes.groupby(["panel", "label", "outcome"])["instances"].sum().to_dict()
    asked = outcomes.groupby(["panel", "label"])["instances"].sum().to_dict()
    bars = outcomes.drop_duplicates("label")[["label", "dataset", "regime"]].to_records(index=False).tolist()

    def pieces(panel: str, label: str, place: Sequence[str]) -> list[Share]:
        total = asked.get((panel, label), 0)
        found = [(key, counts.get((panel, label, key), 0)) for key in hues] if total else []
        return [
            Share(key, count / total, f"{legend[key]}: {count:,} of {total:,}", (*place, LEFT_OUT if key in reasons else key))
            for key, count in found
        ]

    drawn = [SharePanel(panel, [(label, pieces(panel, label, place)) for label, *place in bars]) for panel in panels]
    return share_panels(title, drawn, hues, legend)


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
