"""What a report draws of its tables: each with its numbers' intervals and chance levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from heval_core.figures.palette import GROUPS, PATTERN_COLOURS, in_order
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS, Measure
from heval_core.present.names import Names, regime_title
from heval_core.present.numbers import interval, number
from heval_core.regime_keys import ordered_regimes
from heval_core.report.charts import PER_FIGURE, DotPanel, Share, SharePanel, dot_panels, share_panels
from heval_core.report.drawing import Drawing
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
    panels = [DotPanel(str(label), own, measure.unit) for label, own in dots.groupby("label", sort=False)]
    parts = [panels[start : start + PER_FIGURE] for start in range(0, len(panels), PER_FIGURE)]
    return [
        (name, dot_panels(name, part, names.explainers, set(names.controls), shared=True))
        for name, part in zip(numbered(caption, len(parts)), parts, strict=True)
    ]


def numbered(caption: str, count: int) -> list[str]:
    """The captions of so many figures of the same thing."""
    return [caption] if count == 1 else [f"{caption} ({place} of {count})" for place in range(1, count + 1)]


def of_headline(table: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """A panel for each question, each on its own axis; techniques are lines of a row."""
    lanes = {technique: lane for lane, technique in enumerate(sorted(table["technique"].unique()))}
    panels = []
    for question, measure in headlines().items():
        own = table[table["question"] == question]
        tips = [
            f"{names.explainer(row.explainer)}: {interval(row.value, row.low, row.high)}, "
            f"chance {number(row.chance)}, {row.cells} cells, n = {row.n:,}"
            for row in own.itertuples()
        ]
        if len(own):
            dots = own.assign(lane=own["technique"].map(lanes), tip=tips)
            panels.append(DotPanel(QUESTIONS[question].title, dots, measure.unit))
    if not panels:
        return ()
    caption = "Means over all cells, by question" + (f"; from top to bottom: {', '.join(lanes)}" if len(lanes) > 1 else "")
    return ((caption, dot_panels(caption, panels, names.explainers, set(names.controls), shared=False)),)


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
    caption = "Outcomes of the questions asked, in %"
    return _few(caption, panels, hues, legend)


def of_patterns(counts: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """What each explainer's best token is, in shares of its instances, and the same by chance: a panel for each dataset."""
    if counts.empty:
        return ()
    present = [pattern for pattern in PATTERN_COLOURS if pattern in set(counts["pattern"])]
    legend = {pattern: pattern.replace("_", " ") for pattern in present}
    explainers = in_order(list(counts["explainer"].unique()))
    several = counts["technique"].nunique() > 1
    panels = []
    for (dataset, technique), own in counts.groupby(["dataset", "technique"]):
        of_pattern = {pattern: own[own["pattern"] == pattern] for pattern in present}
        bars = [(names.explainer(key), _pieces(of_pattern, key)) for key in explainers]
        chance = [
            Share(pattern, float(np.average(part["chance"], weights=part["n"])), f"{legend[pattern]}, by chance")
            for pattern, part in of_pattern.items()
            if len(part)
        ]
        panels.append(SharePanel(f"{dataset} · {technique}" if several else str(dataset), [*bars, ("chance", chance)]))
    caption = "What ranks first, in % of the instances answered from a document"
    return _few(caption, panels, {pattern: PATTERN_COLOURS[pattern] for pattern in present}, legend)


def _pieces(of_pattern: dict[str, pd.DataFrame], explainer: str) -> list[Share]:
    pieces = []
    for pattern, part in of_pattern.items():
        for row in part[part["explainer"] == explainer].itertuples():
            ends = f"[{100 * row.low:.1f}, {100 * row.high:.1f}] %"
            tip = f"{pattern.replace('_', ' ')}: {row.instances:,} of {row.n:,}, {ends}"
            pieces.append(Share(pattern, float(row.share), tip, (float(row.low), float(row.high))))
    return pieces


def _few(caption: str, panels: Sequence[SharePanel], hues: dict[str, str], legend: dict[str, str]) -> tuple[Figure, ...]:
    """Three panels to a figure."""
    parts = [panels[start : start + 3] for start in range(0, len(panels), 3)]
    names = numbered(caption, len(parts))
    return tuple((name, share_panels(name, part, hues, legend)) for name, part in zip(names, parts, strict=True))
