"""Following against ignoring: every technique as a point, with the Pareto front and the line of those blind to relevance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from heval_core.figures.front import Front, Point, Ticks, ends
from heval_core.figures.palette import SHAPES
from heval_core.present.names import Names
from heval_core.present.numbers import SHARE, interval, with_unit
from heval_core.protocols import TECHNIQUE_FAMILIES
from heval_core.records import TECHNIQUE
from heval_core.words import listed

# Stands for all kinds of context in the id of a point.
EVERY_KIND = "*"
_STEP = 10
_X = "Faithfulness: gold and conflicting contexts followed, % →"
_Y = "Robustness: irrelevant contexts ignored, % →"


def front_figure(points: pd.DataFrame, names: Names, knew: float = 0.0, every: pd.DataFrame | None = None) -> Front:
    """points: rows of the table `pareto` of one model and dataset. knew: see `blind_line`.

    every: the rows of all techniques, by which the front is drawn where `points` are some of them.
    """
    there = points.dropna(subset=["context_faithfulness", "robustness"])
    there = there.set_index("technique").loc[names.techniques_in_order(there["technique"])].reset_index()
    rows = there.to_dict("records")
    regular = next((row for row in rows if row["technique"] == TECHNIQUE), None)
    better = [] if regular is None else better_on_both(there)
    return Front(
        summary(there, names),
        [_point(row, names) for row in rows],
        _axis(_X, there[["context_faithfulness", "faithfulness_low"]].to_numpy().ravel()),
        _axis(_Y, there[["robustness", "robustness_low"]].to_numpy().ravel()),
        front_of(there if every is None else every),
        base=None if regular is None else (regular["context_faithfulness"], regular["robustness"]),
        better=f"better than Regular on both: {listed([names.technique(key) for key in better]) or 'nobody'}",
        blind=blind_line(knew),
        legend=legend([row["technique"] for row in rows], names),
    )


def better_on_both(points: pd.DataFrame) -> list[str]:
    """The techniques that are above Regular in both numbers, whatever their intervals."""
    own = points.set_index("technique")
    if TECHNIQUE not in own.index:
        return []
    x, y = own.loc[TECHNIQUE, "context_faithfulness"], own.loc[TECHNIQUE, "robustness"]
    above = own[(own["context_faithfulness"] > x) & (own["robustness"] > y)]
    return [str(key) for key in above.index]


def front_of(points: pd.DataFrame) -> list[tuple[float, float]]:
    """The points of the front, from left to right; those that coincide once."""
    on = points[points["on_front"].astype(bool)]
    return sorted({(float(row.context_faithfulness), float(row.robustness)) for row in on.itertuples()})


def blind_line(knew: float) -> list[tuple[float, float]]:
    """Both ends of the line on which a technique lies that treats all documents alike.

    It follows every document with some probability p, and answers from memory otherwise. Then conflicting documents are
    followed with p, irrelevant ones ignored with 1 - p, and gold answers right with p + (1 - p) knew; where memory never knew
    a gold answer the line runs from (0, 1) to (1, 0). knew: the share of gold questions whose answer memory knew anyway.
    """
    return [(knew / 2, 1.0), (1.0, 0.0)]


def share_known(cells: pd.DataFrame) -> float:
    """The share of gold questions whose answer Regular's memory knew: those that `bcu_unknown` leaves out. 0 if not told."""
    gold = cells[(cells["technique"] == TECHNIQUE) & (cells["regime"] == "gold")]
    counts = gold.groupby("measure")["n"].first()
    every = counts.get("bcu")
    unknown = counts.get("bcu_unknown")
    if every is None or unknown is None or pd.isna(every) or pd.isna(unknown) or every <= 0:
        return 0.0
    return float(1 - unknown / every)


def legend(keys: Sequence[str], names: Names) -> list[tuple[str, str]]:
    """(shape, family) of each family that is there."""
    there = {names.technique_family(key) for key in keys}
    return [(SHAPES[family], title) for family, title in TECHNIQUE_FAMILIES.items() if family in there]


def summary(points: pd.DataFrame, names: Names) -> str:
    """The figure in words, for those who do not see it."""
    told = [
        f"{names.technique(row.technique)} {with_unit(row.context_faithfulness, SHARE)} and {with_unit(row.robustness, SHARE)}"
        + (", on the front" if row.on_front else "")
        for row in points.itertuples()
    ]
    return f"Contexts followed and irrelevant contexts ignored. {'; '.join(told)}."


def _point(row: dict[str, Any], names: Names) -> Point:
    key = str(row["technique"])
    x, y = row["context_faithfulness"], row["robustness"]
    x_ends, y_ends = ((row[f"{name}_low"], row[f"{name}_high"]) for name in ("faithfulness", "robustness"))
    share = row["share_on_front"]
    about = [
        names.technique(key),
        f"follows {interval(x, *x_ends, SHARE)}, ignores {interval(y, *y_ends, SHARE)}",
        f"J {interval(*(row[f'discrimination{end}'] for end in ('', '_low', '_high')))}; 0 is blind to relevance",
        "" if pd.isna(share) else f"on the front in {with_unit(share, SHARE)} of the resamples",
        names.cost_in_words(key),
    ]
    return Point(
        (key, EVERY_KIND),
        names.label(key),
        tuple(filter(None, about)),
        x,
        y,
        ends(x, *x_ends),
        ends(y, *y_ends),
        SHAPES[names.technique_family(key)],
        bool(row["on_front"]),
    )


def _axis(title: str, values: Sequence[float]) -> Ticks:
    """In percent, from the ten below the least value, with some room, to 100; wide enough to be read."""
    least = min((float(value) for value in values if not pd.isna(value)), default=0.0)
    low = min(max(0, math.floor((100 * least - 3) / _STEP) * _STEP), 60)
    step = _STEP if low >= 40 else 2 * _STEP
    return Ticks(title, low / 100, 1.0, [(at / 100, str(at)) for at in range(math.ceil(low / step) * step, 101, step)])
