"""The three questions on one scale from guessing (0) to perfect (1): what the template `headline.html` draws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from heval_core.figures.comparable import comparable
from heval_core.figures.palette import colour, in_order
from heval_core.metrics import headlines
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.present.numbers import interval, number
from heval_core.words import short_name

# How far left of chance a mark is still drawn where it is; beyond, and right of 1, it stands at the edge with an arrow.
_LEAST = -0.06
# Right of this, a mark's number stands left of it.
_RIGHT = 0.8


@dataclass(frozen=True)
class Mark:
    """A mean on the scale. at, low, high: in percent of the way from 0 to 1, within the scale.

    label: the number beside it. told: everything about it, in a sentence. link: to its instances. beyond: `low` or `high`
    where it lies outside the scale. leads: whether it is the best method's.
    """

    at: float
    low: float
    high: float
    label: str
    told: str
    link: str
    beyond: str = ""
    leads: bool = False
    left: bool = False


@dataclass(frozen=True)
class Row:
    """An explainer's marks, one for each question; None where its measure is not available."""

    title: str
    colour: str
    marks: tuple[Mark | None, ...]


@dataclass(frozen=True)
class Scale:
    """questions: (title, link to its cells). methods, controls: best first."""

    questions: tuple[tuple[str, str], ...]
    methods: tuple[Row, ...]
    controls: tuple[Row, ...]


def side_by_side(headline: pd.DataFrame) -> pd.DataFrame:
    """The rows that are comparable at their question."""
    return headline[headline.groupby("question")["cells"].transform(comparable).astype(bool)]


def standings(headline: pd.DataFrame) -> pd.DataFrame:
    """Explainers x questions: normalised values, the best on average first, but after them those that lack a question that
    others have; a question without values is left out."""
    wide = headline.pivot_table(index="explainer", columns="question", values="normalised", dropna=True)
    wide = wide[[question for question in QUESTIONS if question in wide.columns]]
    order = {key: place for place, key in enumerate(in_order(list(wide.index)))}
    best_first = sorted(wide.index, key=lambda key: (wide.loc[key].isna().sum(), -wide.loc[key].mean(), order[key]))
    return wide.loc[best_first]


def scale(
    headline: pd.DataFrame,
    titles: Mapping[str, str],
    controls: Collection[str],
    cells: Callable[[str], str],
    instances: Callable[[str, str], str],
) -> Scale:
    """headline: of one technique. cells: question ▶ link to its cells. instances: explainer, question ▶ link to instances."""
    ranked = standings(headline)
    values = headline.set_index(["explainer", "question"])
    methods = ranked.loc[[key for key in ranked.index if key not in controls]]
    leaders = {question: methods[question].idxmax() for question in methods if methods[question].notna().any()}

    def row(key: str) -> Row:
        title = short_name(titles.get(key, key))
        marks = [
            _mark(title, question, values.loc[(key, question)], instances(key, question), leaders.get(question) == key)
            if (key, question) in values.index and np.isfinite(values.loc[(key, question), "normalised"])
            else None
            for question in headlines()
        ]
        return Row(title, colour(key), tuple(marks))

    keys = list(ranked.index)
    return Scale(
        tuple((QUESTIONS[question].title, cells(question)) for question in headlines()),
        tuple(row(key) for key in keys if key not in controls),
        tuple(row(key) for key in keys if key in controls),
    )


def _mark(title: str, question: str, row: pd.Series, link: str, leads: bool) -> Mark:
    value, low, high = (float(row[name]) for name in ("normalised", "normalised_low", "normalised_high"))
    native = f"{interval(row['value'], row['low'], row['high'])} {headlines()[question].unit}"
    told = (
        f"{title}, {QUESTIONS[question].title} {interval(value, low, high)} from chance (0) to best (1): "
        f"{native}, chance {number(row['chance'])}; mean over {int(row['cells'])} cells, {int(row['n']):,} instances"
    )
    at, left, right = (100 * min(max(end, _LEAST), 1.0) for end in (value, low, high))
    beyond = "low" if value < _LEAST else "high" if value > 1 else ""
    return Mark(at, left, right, _label(value), told, link, beyond, leads, value > _RIGHT)


def _label(value: float) -> str:
    """`.50`, `−.05`, `0`: two decimals without a leading zero; three next to 1, which only a perfect value is."""
    text = f"{abs(value):.2f}"
    if text == "1.00":
        text = f"{abs(value):.3f}".replace("1.000", "1")
    if text == "0.00":
        return "0"
    return ("−" if value < 0 else "") + text.removeprefix("0")
