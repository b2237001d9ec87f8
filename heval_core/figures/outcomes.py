"""The outcomes of the questions, as stacked bars and as a table: the answers' groups, and what was dropped."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go

from heval_core.figures.dots_drawn import BETWEEN, WIDTH
from heval_core.figures.palette import DROPPED, GROUPS, HATCHES, RIM, luminance
from heval_core.figures.plots import clickable, escape, lay_out
from heval_core.present.drawing import Drawing, Mark, Scale, wrapped
from heval_core.present.names import regime_title
from heval_core.present.numbers import percent
from heval_core.records import CELL
from heval_core.records.regime_keys import ordered_regimes
from heval_core.records.vocabulary import DROP_REASONS
from heval_core.records.vocabulary import GROUPS as GROUP_WORDS

# Panels of a figure; the height of a bar and its gap, and the width of its label, in pixels.
_ACROSS = 3
BAR, LABELS = 19.0, 290.0
# In place of the group in the id of a piece that was dropped.
LEFT_OUT = "dropped"


def outcome_shares(outcomes: pd.DataFrame) -> tuple[tuple[str, Drawing], ...]:
    """Draw (caption, drawing) for each model, a few to a figure. outcomes: of one technique."""
    bars = outcomes["dataset"] + " · " + outcomes["regime"].map(regime_title)
    labelled = in_regime_order(outcomes.assign(panel=outcomes["model"], label=bars))
    models = sorted(set(labelled["panel"]))
    starts, figures = range(0, len(models), _ACROSS), []
    for number, start in enumerate(starts, start=1):
        caption = "Outcomes of the questions asked, in %" + (f" ({number} of {len(starts)})" if len(starts) > 1 else "")
        figures.append((caption, share_figure(labelled, caption, models[start : start + _ACROSS])))
    return tuple(figures)


def share_figure(outcomes: pd.DataFrame, title: str, panels: Sequence[str]) -> Drawing:
    """Draw shares of all that was asked: the groups, then each reason for dropping; a bar for each label, in each of the
    panels. outcomes: columns `panel`, `label`, `outcome`, `instances`. A piece of 7 % or more has its number.
    """
    looks = _looks(outcomes)
    counts = outcomes.pivot_table("instances", ["panel", "label"], "outcome", "sum", fill_value=0)
    bars = list(dict.fromkeys(outcomes["label"]))
    width = min(420.0, (WIDTH - LABELS) / len(panels) - BETWEEN)
    drawing = Drawing(LABELS + len(panels) * (width + BETWEEN), 0, title)
    signs = ((Mark("box", "piece", -3, -6, 11, 11, hue=look.hue), look.title) for look in looks.values())
    top = drawing.legend(signs, 10) + 34
    foot = top + BAR * len(bars)
    for number, panel in enumerate(panels):
        left = LABELS + number * (width + BETWEEN)
        scale = Scale(0, 1, left, left + width)
        for heading in wrapped(panel, int(width / 7.5), 1):
            drawing.words("title", (left, top - 7), heading)
        for line, label in enumerate(bars):
            pieces = counts.loc[panel, label] if (panel, label) in counts.index else counts.iloc[0] * 0
            start, total = 0, int(pieces.sum())
            for key in (key for key in looks if pieces[key]):
                about = f"{looks[key].title}: {pieces[key]:,} of {total:,}"
                ends = scale.at(start / total), scale.at((start + pieces[key]) / total)
                _piece(drawing, ends, top + BAR * line, pieces[key] / total, looks[key].hue, about)
                start += pieces[key]
        for tick, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            drawing.words("faint", (scale.at(tick), foot + 12), f"{100 * tick:.0f} %", anchor)
    for line, label in enumerate(bars):
        drawing.words("plain", (0, top + BAR * line + 13), wrapped(label, 44, 1)[0])
    drawing.height = foot + 20
    return drawing


def _piece(drawing: Drawing, ends: tuple[float, float], top: float, share: float, hue: str, about: str) -> None:
    half, middle = (ends[1] - ends[0]) / 2, BAR / 2 - 2
    marks = [Mark("box", "piece", -half, -middle, max(2 * half - 0.6, 0.3), 2 * middle, hue=hue)]
    if share >= 0.07:
        ink = "#000000" if luminance(hue) > 0.18 else "#FFFFFF"
        marks.append(Mark("text", "inside", 0, 4, text=f"{100 * share:.0f}", anchor="middle", hue=ink))
    drawing.spot((ends[0] + half, top + middle), marks, (about,))


def outcome_bars(outcomes: pd.DataFrame) -> go.Figure:
    """Draw the same with all models in one bar, to be zoomed; what was dropped is hatched.

    outcomes: columns `label`, `dataset`, `regime`, `outcome`, `instances`. Ids of pieces: dataset, regime, and the group or
    LEFT_OUT.
    """
    figure = go.Figure()
    counts = outcomes.pivot_table("instances", ["label", "dataset", "regime"], "outcome", "sum", fill_value=0, sort=False)
    totals = counts.sum(axis=1)
    labels, bar_keys = [label for label, *_ in counts.index], [bar_key for _, *bar_key in counts.index]
    for key, look in _looks(outcomes).items():
        shares = counts[key] / totals
        pieces = zip(labels, counts[key], shares, strict=True)
        about = [(label, f"{look.title}: {count:,} ({percent(share)})") for label, count, share in pieces]
        figure.add_bar(
            x=shares,
            y=[escape(label) for label in labels],
            orientation="h",
            name=escape(look.title),
            marker={
                "color": look.hue,
                "line": {"width": 0.5, "color": RIM},
                # The hue lies under the hatch in both themes; by default the page would.
                "pattern": {"shape": look.hatch, "fgcolor": RIM, "bgcolor": look.hue, "size": 6},
            },
            **clickable([(*bar_key, LEFT_OUT if look.hatch else key) for bar_key in bar_keys], about),
        )
    lay_out(figure, 90 + 30 * len(labels), "share of the questions asked", left=10, barmode="stack", bargap=0.3)
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


class _Look(NamedTuple):
    """hatch: in Plotly's words; empty for a group."""

    hue: str
    hatch: str
    title: str


def _looks(outcomes: pd.DataFrame) -> dict[str, _Look]:
    """Return the looks of the outcomes that are there: the groups, then each reason for dropping."""
    present = set(outcomes["outcome"])
    looks = {key: _Look(hue, "", GROUP_WORDS[key].title) for key, hue in GROUPS.items() if key in present}
    reasons = [*(key for key in DROP_REASONS if key in present), *sorted(present - set(DROP_REASONS) - set(looks))]
    for index, key in enumerate(reasons):
        hue, hatch = (those[index % len(those)] for those in (DROPPED, HATCHES))
        looks[key] = _Look(hue, hatch, f"dropped: {key}")
    return looks


def in_regime_order(frame: pd.DataFrame, by: Sequence[str] = ("dataset", "regime", "model")) -> pd.DataFrame:
    order = {regime: index for index, regime in enumerate(ordered_regimes(set(frame["regime"])))}
    return frame.sort_values(list(by), kind="stable", key=lambda c: c.map(order) if c.name == "regime" else c)


def statistics(outcomes: pd.DataFrame, contexts: pd.DataFrame) -> pd.DataFrame:
    """Make a row per model, dataset, regime and technique: asked, kept, by group, lengths of the context, dropped by reason.

    outcomes, contexts: what `Reader.outcomes` and `Reader.rows` of `context` give.
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
    """Make a table of what was read of each dataset's file. datasets: what `Reader.datasets` gives."""
    counts = map(json.loads, datasets["unusable"])
    left = [", ".join(f"{count:,} {reason}" for reason, count in reasons.items()) or "none" for reasons in counts]
    named = {"records": "records read", "usable": "usable questions"}
    columns = ["dataset", "records", "malformed", "left out", "usable", "asked", "relations"]
    return datasets.assign(**{"left out": left})[columns].rename(columns=named)
