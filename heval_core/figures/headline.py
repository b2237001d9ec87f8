"""The three questions on one scale from guessing (0) to perfect (1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import Ranking, ranking
from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Row, Slot
from heval_core.figures.palette import colour, in_order
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.drawing import Scale
from heval_core.present.names import Names
from heval_core.present.numbers import interval, number

_AXIS = Axis(Scale(-0.06, 1.0), ticks=2)
# So many methods are above the fold.
DRAWN = 4


def standings(headline: pd.DataFrame) -> pd.DataFrame:
    """Explainers x questions: normalised values, the best on average first, but after them those that lack a question that
    others have; a question without values is left out."""
    wide = headline.pivot_table(index="explainer", columns="question", values="normalised", dropna=True)
    wide = wide[[question for question in QUESTIONS if question in wide.columns]]
    order = {key: place for place, key in enumerate(in_order(list(wide.index)))}
    best_first = sorted(wide.index, key=lambda key: (wide.loc[key].isna().sum(), -wide.loc[key].mean(), order[key]))
    return wide.loc[best_first]


def rankings(headline: pd.DataFrame, controls: Collection[str]) -> dict[str, Ranking]:
    """Who is best at each question."""
    scaled = headline.assign(chance=0.0)
    of = ("normalised", "normalised_low", "normalised_high")
    return {str(question): ranking(own, controls, of=of) for question, own in scaled.groupby("question")}


def headline_figure(
    headline: pd.DataFrame, names: Names, cells: Callable[[str], str], instances: Callable[[str, str], str]
) -> DotFigure:
    """headline: of one technique. cells: question ▶ link to its cells. instances: explainer, question ▶ link to instances.

    As rows the first methods and all controls, and as panels the questions of which something is known.
    """
    ranked = standings(headline)
    values = headline.dropna(subset=["normalised"]).set_index(["explainer", "question"]).to_dict("index")
    best = {question: own.bold for question, own in rankings(headline, names.controls).items()}
    methods = [key for key in ranked.index if key not in names.controls][:DRAWN]
    keys = [*methods, *(key for key in ranked.index if key in names.controls)]
    rows = [Row(key, names.explainer(key), key in names.controls, hue=colour(key)) for key in keys]
    panels: list[Panel] = []
    for question in ranked.columns:
        slots = tuple(
            _slot(row.title, question, values[row.key, question], instances(row.key, question), row.key in best[question])
            if (row.key, question) in values
            else Slot(
                missing=Dot(0.0, (row.title, "not available: no cell has enough instances in each group"), (row.key, question))
            )
            for row in rows
        )
        title, words = QUESTIONS[question].title, () if panels else ((0.0, "chance"), (1.0, "best"))
        panels.append(Panel(title, slots, _AXIS, "cell by cell →", "", 0.0, words, cells(question)))
    return DotFigure("Three questions; 0 is chance, 1 is best", rows, panels, bars=True)


def _slot(title: str, question: str, row: Mapping[Any, Any], link: str, leads: bool) -> Slot:
    value, low, high = (float(row[name]) for name in ("normalised", "normalised_low", "normalised_high"))
    native = f"{interval(row['value'], row['low'], row['high'])} {headlines()[question].unit}"
    about = (
        f"{title}, {QUESTIONS[question].title}",
        f"{interval(value, low, high)} from chance (0) to best (1): {native}, chance {number(row['chance'])}",
        f"mean over {int(row['cells'])} cells, {int(row['n']):,} instances",
    )
    return Slot((Dot(value, about, low=low, high=high, link=link),), text=_label(value), best=leads)


def _label(value: float) -> str:
    """`.50`, `−.05`, `0`: two decimals without a leading zero; three next to 1, which only a perfect value is."""
    text = f"{abs(value):.2f}"
    if text == "1.00":
        text = f"{abs(value):.3f}".replace("1.000", "1")
    if text == "0.00":
        return "0"
    return ("−" if value < 0 else "") + text.removeprefix("0")
