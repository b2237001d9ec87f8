"""What a report draws of its tables: each with its numbers' intervals and chance levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from heval_core.figures.dots import PER_FIGURE, Dot, DotFigure, Panel, Row, Slot, on_one_axis
from heval_core.figures.dots_drawn import as_drawing
from heval_core.figures.measured_panels import row_of
from heval_core.figures.palette import GROUPS, in_order
from heval_core.figures.pattern_panels import pattern_figure
from heval_core.figures.shares import Share, SharePanel, share_panels
from heval_core.metrics.shared.measure import Measure
from heval_core.present.drawing import Drawing
from heval_core.present.names import Names, regime_title
from heval_core.present.numbers import interval, number
from heval_core.regime_keys import ordered_regimes
from heval_core.store.reader import Reader
from heval_core.words import DROP_REASONS
from heval_core.words import GROUPS as GROUP_WORDS

Figure = tuple[str, Drawing]
# Sandy, so that no reason is taken for the grey of a group.
_DROPPED = ("#E9DCC9", "#D3BD9F", "#B99C78", "#F4EDE2", "#9C7F5C", "#E0CDB4", "#C7AC8A", "#84694A")
_NUMBERS = ("value", "low", "high", "chance")


def names_of(results: Reader) -> Names:
    """What these results call what they hold."""
    return Names.of(results.catalogue(), results.annotators())


def _lanes(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Models and datasets, in the order of the lines that they have in every row."""
    return sorted(set(zip(frame["model"], frame["dataset"], strict=True)))


def lanes_in_words(table: pd.DataFrame) -> str:
    """How to read a figure of cells."""
    lanes = "; ".join(f"{model} on {dataset}" for model, dataset in _lanes(table))
    return (
        f"In the figures every dot is a model on a dataset, from top to bottom: {lanes}. Lines are 95 % intervals, the "
        "upright bar behind a dot is its chance level, diamonds are controls; one beyond the axis has an arrow."
    )


def of_cells(caption: str, cells: pd.DataFrame, measure: Measure, names: Names) -> list[Figure]:
    """A panel for each regime and part, a few to a figure. cells: as `labelled` gives them, without the dataset."""
    if cells.empty:
        return []
    lanes = {place: lane for lane, place in enumerate(_lanes(cells))}
    tips = [
        f"{row.title}, {row.model} on {row.dataset}: {interval(row.value, row.low, row.high)}, "
        f"chance {number(row.chance)}, n = {row.n:,}"
        for row in cells.itertuples()
    ]
    lane = [lanes[place] for place in zip(cells["model"], cells["dataset"], strict=True)]
    dots = cells[["label", "explainer", *_NUMBERS]].astype(dict.fromkeys(_NUMBERS, float)).assign(lane=lane, tip=tips)
    panels = [(str(label), own) for label, own in dots.groupby("label", sort=False)]
    return dot_figures(
        caption, panels, [row_of(key, names) for key in in_order(list(cells["explainer"].unique()))], measure.unit
    )


def dot_figures(caption: str, panels: Sequence[tuple[str, pd.DataFrame]], rows: Sequence[Row], unit: str) -> list[Figure]:
    """A few panels to a figure, on one axis. panels: (title, dots), these as `of_cells` makes them."""
    parts = [panels[start : start + PER_FIGURE] for start in range(0, len(panels), PER_FIGURE)]
    found = []
    for name, part in zip(numbered(caption, len(parts)), parts, strict=True):
        there = {key for _, dots in part for key in dots["explainer"]}
        drawn = [row for row in rows if row.key in there]
        made = on_one_axis(drawn, [Panel(title, _slots(dots, drawn)) for title, dots in part], "")
        least = made[0].axis.scale.least
        figure = DotFigure(name, drawn, [replace(made[0], words=((least, unit),)), *made[1:]])
        found.append((name, as_drawing(figure)))
    return found


def _slots(dots: pd.DataFrame, rows: Sequence[Row]) -> tuple[Slot, ...]:
    """A line of a row for each of its cells."""
    of_rows: dict[str, list[Dot]] = {}
    for own in dots.dropna(subset=["value"]).itertuples():
        dot = Dot(own.value, (own.tip,), (), own.low, own.high, own.chance, lane=own.lane)
        of_rows.setdefault(own.explainer, []).append(dot)
    missing = Slot(missing=Dot(math.nan))
    return tuple(Slot(tuple(of_rows[row.key])) if row.key in of_rows else missing for row in rows)


def numbered(caption: str, count: int) -> list[str]:
    """The captions of so many figures of the same thing."""
    return [caption] if count == 1 else [f"{caption} ({place} of {count})" for place in range(1, count + 1)]


def of_outcomes(outcomes: pd.DataFrame) -> tuple[Figure, ...]:
    """Shares of the questions asked, by group and by the reason why an instance was dropped: a panel for each model."""
    if outcomes.empty:
        return ()
    present = set(outcomes["outcome"])
    hues = {group: hue for group, hue in GROUPS.items() if group in present}
    reasons = [*(key for key in DROP_REASONS if key in present), *sorted(present - set(DROP_REASONS) - set(hues))]
    hues |= {reason: _DROPPED[place % len(_DROPPED)] for place, reason in enumerate(reasons)}
    legend = {key: GROUP_WORDS[key].title if key in GROUP_WORDS else f"dropped: {key}" for key in hues}
    counts = outcomes.groupby(["model", "technique", "dataset", "regime", "outcome"])["instances"].sum().to_dict()
    asked = outcomes.groupby(["model", "technique", "dataset", "regime"])["instances"].sum().to_dict()
    several = outcomes["technique"].nunique() > 1
    places = [(d, r) for d in sorted(outcomes["dataset"].unique()) for r in ordered_regimes(set(outcomes["regime"]))]
    panels = []
    for model, technique in sorted(set(zip(outcomes["model"], outcomes["technique"], strict=True))):
        bars = []
        for dataset, regime in places:
            own = (model, technique, dataset, regime)
            total = asked.get(own, 0)
            found = [(key, counts.get((*own, key), 0)) for key in hues] if total else []
            pieces = [Share(key, count / total, f"{legend[key]}: {count:,} of {total:,}") for key, count in found]
            bars.append((f"{dataset} · {regime_title(regime)}", pieces))
        panels.append(SharePanel(f"{model} · {technique}" if several else model, bars))
    parts = [panels[start : start + 3] for start in range(0, len(panels), 3)]
    captions = numbered("Outcomes of the questions asked, in %", len(parts))
    return tuple((name, share_panels(name, part, hues, legend)) for name, part in zip(captions, parts, strict=True))


def of_patterns(counts: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """What each explainer's best token is, in shares of its instances: a figure for each dataset."""
    found = []
    for (dataset, technique), own in counts.groupby(["dataset", "technique"]):
        caption = f"What ranks first, {dataset}" + (f", {technique}" if counts["technique"].nunique() > 1 else "")
        found.append((caption, as_drawing(pattern_figure(own, in_order(list(own["explainer"].unique())), names))))
    return tuple(found)
