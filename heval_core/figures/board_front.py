"""Quality against cost: every method as a point, with the front of those that none beats in both.

Cost: forward passes over the whole prompt. Further right is cheaper, so that better is up and right, as in the figure of
techniques. The axis of cost is logarithmic.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board
from heval_core.figures.palette import RIM, colour
from heval_core.figures.panels import ticks
from heval_core.present.numbers import COST, interval, number, passes

# Stands for the three questions together in the id of a point.
ALL_QUESTIONS = "quality"
_ROOM = 0.12


def front_drawing(board: Board, picked: str = "") -> dict[str, Any] | None:
    """What the browser draws; None where fewer than two methods have a quality and a cost. picked: a point's id, as JSON."""
    own = board.quality[board.quality["explainer"].isin(list(board.methods)) & board.quality["whole_passes"].notna()]
    if len(own) < 2:
        return None
    least, most = (math.log10(end) for end in (own["whole_passes"].min(), own["whole_passes"].max()))
    room = max(_ROOM * (most - least), 0.15)
    cost = _Cost(most + room, least - room)
    controls = board.quality[board.quality["explainer"].isin(list(board.controls))]
    level = controls.loc[controls["value"].idxmax()] if len(controls) else None
    values = [*own["value"], *own["low"].dropna(), *own["high"].dropna(), *([] if level is None else [level["value"]])]
    low, high = min(0.0, *values), min(1.0, max(values) * 1.12 + 0.02)
    front = own[own["on_front"].astype(bool)].sort_values("whole_passes", ascending=False)
    return {
        "points": [_point(row, board, cost) for row in own.to_dict("records")],
        "front": [[cost.at(row.whole_passes), round(100 * row.value, 2)] for row in front.itertuples()],
        "levels": [] if level is None else [_level(level, board)],
        "blind": [],
        "region": None,
        "region_text": "",
        "x": {"low": 0, "high": 100, "ticks": cost.ticks(), "title": "Forward passes over the prompt, fewer →"},
        "y": {"low": 100 * float(low), "high": 100 * float(high), "ticks": _ticks(low, high), "title": _axis_of(board)},
        "legend": [],
        "about": summary(own, board),
        "picked": picked,
    }


class _Cost:
    """The axis of cost, in percent from dear to cheap."""

    def __init__(self, dear: float, cheap: float):
        self.dear, self.cheap = dear, cheap

    def at(self, passes: float) -> float:
        return round(100 * (self.dear - math.log10(passes)) / (self.dear - self.cheap), 2)

    def ticks(self) -> list[dict[str, Any]]:
        """At whole powers of ten; where there is only one of them, also at 2 and 5 times these."""
        powers = range(math.floor(self.cheap) - 1, math.ceil(self.dear) + 1)
        for factors in ((1,), (1, 2, 5)):
            values = [factor * 10.0**power for power in powers for factor in factors]
            inside = [value for value in values if self.cheap <= math.log10(value) <= self.dear]
            if len(inside) > 1:
                break
        return [{"at": self.at(value), "text": number(value, COST)} for value in inside]


def _ticks(low: float, high: float) -> list[dict[str, Any]]:
    return [{"at": 100 * value, "text": f"{value:g}".replace("-", "−")} for value in ticks(low, high)]


def _axis_of(board: Board) -> str:
    count = len(board.questions)
    return "Quality: mean of the three questions →" if count == 3 else f"Quality: mean of {count} of the three questions →"


def _level(row: pd.Series, board: Board) -> dict[str, Any]:
    return {"y": round(100 * float(row["value"]), 2), "text": f"control: {board.titles[row['explainer']]}"}


def _point(row: dict[str, Any], board: Board, cost: _Cost) -> dict[str, Any]:
    key = str(row["explainer"])
    x, y = cost.at(row["whole_passes"]), round(100 * row["value"], 2)
    low, high = (y if pd.isna(row[end]) else round(100 * row[end], 2) for end in ("low", "high"))
    about = [
        board.titles[key],
        f"quality {interval(row['value'], row['low'], row['high'])}",
        f"{passes(row['whole_passes'])} over the prompt",
    ]
    about += ["on the front: no other method is as good and as cheap"] if row["on_front"] else []
    hue = {"shape": "method", "color": colour(key), "rim": RIM}
    ends = {"x": x, "y": y, "x_low": x, "x_high": x, "y_low": low, "y_high": high}
    return {
        "id": [key, ALL_QUESTIONS, "*"],
        "title": board.titles[key],
        "front": bool(row["on_front"]),
        "about": about,
        **hue,
        **ends,
    }


def summary(own: pd.DataFrame, board: Board) -> str:
    """The figure in words, for those who do not see it."""
    told = [
        f"{board.titles[row.explainer]} {row.value:.2f} with {passes(row.whole_passes)}"
        + (", on the front" if row.on_front else "")
        for row in own.itertuples()
    ]
    return f"Quality of the questions, from chance (0) to best (1), against forward passes over the prompt. {'; '.join(told)}."
