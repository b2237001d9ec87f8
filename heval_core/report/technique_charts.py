"""The figures about techniques, as drawings: following against ignoring, and differences to Regular by kind of context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from heval_core.figures.technique_front import blind_line, front_of, share_known
from heval_core.present.names import Names, change_unit, measure_name, value_unit
from heval_core.present.numbers import SHARE, brackets, change, number, short, with_unit
from heval_core.records import CONTEXT_KINDS, TECHNIQUE
from heval_core.report.charts import DotPanel, dot_panels
from heval_core.report.drawing import Drawing, Scale, legend, wrapped
from heval_core.report.figures import Figure, numbered
from heval_core.words import REGIMES

_SIDE, _LEFT, _GAP, _TOP, _BOTTOM = 270.0, 46.0, 58.0, 24.0, 44.0
_ACROSS = 3


def of_front(points: pd.DataFrame, cells: pd.DataFrame, names: Names) -> tuple[Figure, ...]:
    """A figure for each dataset, with a panel for each model. points: rows of `pareto`. cells: of `cell_behaviour`."""
    figures = []
    for dataset, own in points.groupby("dataset"):
        caption = f"Following against ignoring, {names.dataset(str(dataset))}"
        panels = [(str(model), rows) for model, rows in own.groupby("model")]
        parts = [panels[start : start + _ACROSS] for start in range(0, len(panels), _ACROSS)]
        known = cells[cells["dataset"] == dataset]
        for name, part in zip(numbered(caption, len(parts)), parts, strict=True):
            figures.append((name, _fronts(name, part, known, names)))
    return tuple(figures)


def _fronts(title: str, panels: Sequence[tuple[str, pd.DataFrame]], cells: pd.DataFrame, names: Names) -> Drawing:
    keys = names.techniques_in_order(key for _, rows in panels for key in rows["technique"])
    drawing = Drawing(len(panels) * (_LEFT + _SIDE + _GAP), 0, title)
    top = legend(drawing, [names.technique(key) for key in keys]) + _TOP
    numbers = {key: place for place, key in enumerate(keys, start=1)}
    for place, (model, rows) in enumerate(panels):
        left = _LEFT + place * (_LEFT + _SIDE + _GAP)
        drawing.words("head", (left, top - 8), wrapped(model, int(_SIDE / 6), 1)[0])
        x, y = Scale(-0.04, 1.04, left, left + _SIDE), Scale(-0.04, 1.04, top + _SIDE, top)
        _frame(drawing, x, y, first=place == 0)
        knew = share_known(cells[cells["model"] == model])
        for start, end in pairwise(blind_line(knew)):
            drawing.line("limit", (x.at(start[0]), y.at(start[1])), (x.at(end[0]), y.at(end[1])))
        for start, end in pairwise(front_of(rows)):
            drawing.line("axis", (x.at(start[0]), y.at(start[1])), (x.at(end[0]), y.at(end[1])))
        _points(drawing, x, y, rows, numbers, names)
    drawing.height = top + _SIDE + _BOTTOM
    return drawing


def _frame(drawing: Drawing, x: Scale, y: Scale, first: bool) -> None:
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.line("grid", (x.at(tick), y.left), (x.at(tick), y.right))
        drawing.line("grid", (x.left, y.at(tick)), (x.right, y.at(tick)))
        drawing.words("faint", (x.at(tick), y.left + 13), short(tick), "middle")
        drawing.words("faint", (x.left - 5, y.at(tick) + 4), short(tick), "end")
    drawing.line("axis", (x.left, y.left), (x.right, y.left))
    drawing.line("axis", (x.left, y.left), (x.left, y.right))
    if first:
        drawing.words("faint", (x.left, y.left + 27), "right: context faithfulness")
        drawing.words("faint", (x.left, y.left + 40), "up: robustness")


def _points(drawing: Drawing, x: Scale, y: Scale, rows: pd.DataFrame, numbers: Mapping[str, int], names: Names) -> None:
    """Every point with both whiskers and its number; numbers of one place stand in one text."""
    beside: dict[tuple[float, float], list[int]] = {}
    for row in sorted(rows.to_dict("records"), key=lambda row: (bool(row["on_front"]), numbers[row["technique"]])):
        at = x.at(row["context_faithfulness"]), y.at(row["robustness"])
        if not pd.isna(row["faithfulness_low"]) and not pd.isna(row["robustness_low"]):
            drawing.line("whisker", (x.at(row["faithfulness_low"]), at[1]), (x.at(row["faithfulness_high"]), at[1]))
            drawing.line("whisker", (at[0], y.at(row["robustness_low"])), (at[0], y.at(row["robustness_high"])))
        drawing.dot("dot" if row["on_front"] else "hollow", at, 4.2, "", _tip(row, names))
        near = next((place for place in beside if abs(place[0] - at[0]) < 13 and abs(place[1] - at[1]) < 11), at)
        beside.setdefault(near, []).append(numbers[row["technique"]])
    for (left, top), own in beside.items():
        right = left + 40 < x.right
        drawing.words(
            "name", (left + (6 if right else -6), top - 6), ", ".join(map(str, sorted(own))), "start" if right else "end"
        )


def _tip(row: Mapping[Any, Any], names: Names) -> str:
    share = row["share_on_front"]
    own = "" if pd.isna(share) else f"; on the front in {with_unit(share, SHARE)} of the resamples"
    return (
        f"{names.technique(row['technique'])}: follows {with_unit(row['context_faithfulness'], SHARE)} "
        f"{brackets(row['faithfulness_low'], row['faithfulness_high'], SHARE)}, ignores {with_unit(row['robustness'], SHARE)} "
        f"{brackets(row['robustness_low'], row['robustness_high'], SHARE)}{own}"
    )


def of_differences(cells: pd.DataFrame, measure: str, names: Names) -> tuple[Figure, ...]:
    """A panel for each kind of context; in a technique's row a dot for each model and dataset, with its interval."""
    own = cells[(cells["measure"] == measure) & cells["regime"].isin(CONTEXT_KINDS) & (cells["technique"] != TECHNIQUE)]
    own = own.dropna(subset=["delta"])
    if own.empty:
        return ()
    lanes = {place: lane for lane, place in enumerate(lanes_of(own))}
    dots = pd.DataFrame(
        {
            "regime": own["regime"],
            "explainer": own["technique"],
            "lane": [lanes[place] for place in zip(own["model"], own["dataset"], strict=True)],
            "value": own["delta"].astype(float),
            "low": own["delta_low"].astype(float),
            "high": own["delta_high"].astype(float),
            "chance": 0.0,
            "tip": [_told(row, measure, names) for row in own.to_dict("records")],
        }
    )
    unit = f"{measure_name(measure)}, technique less Regular"
    kinds = [kind for kind in CONTEXT_KINDS if kind in set(own["regime"])]
    panels = [DotPanel(REGIMES[kind].title, dots[dots["regime"] == kind], unit) for kind in kinds]
    order = names.techniques_in_order(own["technique"])
    titles = {key: names.technique(key) for key in order}
    caption = f"{measure_name(measure)}: difference to Regular by kind of context"
    return ((caption, dot_panels(caption, panels, titles, set(), shared=True, order=order)),)


def lanes_of(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """Models and datasets, in the order of the dots in a row."""
    return sorted(set(zip(cells["model"], cells["dataset"], strict=True)))


def _told(row: Mapping[Any, Any], measure: str, names: Names) -> str:
    delta, value = change_unit(measure), value_unit(measure)
    return (
        f"{names.technique(row['technique'])}, {row['model']} on {row['dataset']}: {change(row['delta'], delta)}{delta.sign} "
        f"{brackets(row['delta_low'], row['delta_high'], delta)}; {number(row['value'], value)}, n = {int(row['n']):,}"
    )
