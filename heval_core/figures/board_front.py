"""Quality against cost: every method as a point, with the front of those that none beats in both.

Cost: forward passes over the whole prompt. Further right is cheaper, so that better is up and right, as in the figure of
techniques. The axis of cost is logarithmic.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board
from heval_core.figures.front import Front, Point, Ticks, ends
from heval_core.figures.palette import colour
from heval_core.figures.questions import ALL_QUESTIONS
from heval_core.present.drawing import Scale
from heval_core.present.numbers import COST, interval, number, passes

_ROOM = 0.12
_TICKS = 6


def front_figure(board: Board) -> Front | None:
    """None where fewer than two methods have a quality and a cost."""
    own = board.quality[board.quality["explainer"].isin(list(board.methods)) & board.quality["whole_passes"].notna()]
    if len(own) < 2:
        return None
    cheap, dear = (math.log10(end) for end in (own["whole_passes"].min(), own["whole_passes"].max()))
    room = max(_ROOM * (dear - cheap), 0.15)
    controls = board.quality[board.quality["explainer"].isin(list(board.controls))]
    level = controls.loc[controls["value"].idxmax()] if len(controls) else None
    values = [*own["value"], *own["low"].dropna(), *own["high"].dropna(), *([] if level is None else [level["value"]])]
    least = min(values)
    quality = Scale(least - 0.08 * (1 - least), 1 + 0.04 * (1 - least))
    front = own[own["on_front"].astype(bool)].sort_values("whole_passes", ascending=False)
    return Front(
        summary(own, board),
        [_point(row, board) for row in own.to_dict("records")],
        _costs(cheap - room, dear + room),
        Ticks.over("", quality),
        [(-math.log10(row.whole_passes), row.value) for row in front.itertuples()],
        levels=[] if level is None else [(float(level["value"]), f"{board.titles[level['explainer']]}, control")],
        column=True,
    )


def _costs(cheap: float, dear: float) -> Ticks:
    """From dear to cheap, both logarithms. At powers of ten, and at 2 and 5 times these where these are few."""
    powers = range(math.floor(cheap) - 1, math.ceil(dear) + 1)
    for factors in ((1, 2, 5), (1,)):
        values = [factor * 10.0**power for power in powers for factor in factors]
        inside = [value for value in values if cheap <= math.log10(value) <= dear]
        if len(inside) <= _TICKS:
            break
    ticks = [(-math.log10(value), number(value, COST)) for value in inside]
    return Ticks("forward passes, cheaper →", -dear, -cheap, ticks)


def _point(row: dict[str, Any], board: Board) -> Point:
    key, value, x = str(row["explainer"]), float(row["value"]), -math.log10(row["whole_passes"])
    about = [
        board.titles[key],
        f"quality {interval(value, row['low'], row['high'])}",
        f"{passes(row['whole_passes'])} over the prompt",
    ]
    about += ["on the front: no other method is as good and as cheap"] if row["on_front"] else []
    id, around = (key, ALL_QUESTIONS, "*"), ends(value, row["low"], row["high"])
    return Point(id, board.titles[key], tuple(about), x, value, (x, x), around, colour(key), bool(row["on_front"]))


def summary(own: pd.DataFrame, board: Board) -> str:
    """The figure in words, for those who do not see it."""
    told = [
        f"{board.titles[row.explainer]} {row.value:.2f} with {passes(row.whole_passes)}"
        + (", on the front" if row.on_front else "")
        for row in own.itertuples()
    ]
    return (
        f"Quality of the questions, from guessing (0) to best (1), against forward passes over the prompt. {'; '.join(told)}."
    )
