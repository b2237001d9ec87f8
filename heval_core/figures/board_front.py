"""Quality against time: every method as a point, with the front of those that none beats in both.

Further right is faster, so that better is up and right, as in the figure of techniques. The axis of time is logarithmic.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from heval_core.evaluation.board.records import Board
from heval_core.figures.palette import RIM, colour
from heval_core.figures.panels import interval, ticks

# Stands for the three questions together in the id of a point.
ALL_QUESTIONS = "quality"
_ROOM = 0.12


def front_drawing(board: Board, picked: str = "") -> dict[str, Any] | None:
    """What the browser draws; None where fewer than two methods have a quality and a time. picked: a point's id, as JSON."""
    own = board.quality[board.quality["explainer"].isin(list(board.methods)) & board.quality["milliseconds"].notna()]
    if len(own) < 2:
        return None
    fastest, slowest = (math.log10(end) for end in (own["milliseconds"].min(), own["milliseconds"].max()))
    room = max(_ROOM * (slowest - fastest), 0.15)
    time = _Time(slowest + room, fastest - room)
    controls = board.quality[board.quality["explainer"].isin(list(board.controls))]
    level = controls.loc[controls["value"].idxmax()] if len(controls) else None
    values = [*own["value"], *own["low"].dropna(), *own["high"].dropna(), *([] if level is None else [level["value"]])]
    low, high = min(0.0, *values), min(1.0, max(values) * 1.12 + 0.02)
    front = own[own["on_front"].astype(bool)].sort_values("milliseconds", ascending=False)
    return {
        "points": [_point(row, board, time) for row in own.to_dict("records")],
        "front": [[time.at(row.milliseconds), round(100 * row.value, 2)] for row in front.itertuples()],
        "levels": [] if level is None else [_level(level, board)],
        "blind": [],
        "region": None,
        "region_text": "",
        "x": {"low": 0, "high": 100, "ticks": time.ticks(), "title": "Time of an instance, faster →"},
        "y": {"low": 100 * float(low), "high": 100 * float(high), "ticks": _ticks(low, high), "title": _axis_of(board)},
        "legend": [],
        "about": summary(own, board),
        "picked": picked,
    }


class _Time:
    """The axis of time, in percent from slow to fast."""

    def __init__(self, slow: float, fast: float):
        self.slow, self.fast = slow, fast

    def at(self, milliseconds: float) -> float:
        return round(100 * (self.slow - math.log10(milliseconds)) / (self.slow - self.fast), 2)

    def ticks(self) -> list[dict[str, Any]]:
        """At whole powers of ten; where there is only one of them, also at 2 and 5 times these."""
        powers = range(math.floor(self.fast) - 1, math.ceil(self.slow) + 1)
        for factors in ((1,), (1, 2, 5)):
            values = [factor * 10.0**power for power in powers for factor in factors]
            inside = [value for value in values if self.fast <= math.log10(value) <= self.slow]
            if len(inside) > 1:
                break
        return [{"at": self.at(value), "text": time_of(value)} for value in inside]


def time_of(milliseconds: float) -> str:
    """`0.1 ms`, `20 ms`, `2 s`; two significant digits."""
    if milliseconds >= 1000:
        return f"{_two(milliseconds / 1000)} s"
    return f"{_two(milliseconds)} ms"


def _two(value: float) -> str:
    if value <= 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(value)))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _ticks(low: float, high: float) -> list[dict[str, Any]]:
    return [{"at": 100 * value, "text": f"{value:g}".replace("-", "−")} for value in ticks(low, high)]


def _axis_of(board: Board) -> str:
    number = len(board.questions)
    return "Quality: mean of the three questions →" if number == 3 else f"Quality: mean of {number} of the three questions →"


def _level(row: pd.Series, board: Board) -> dict[str, Any]:
    return {"y": round(100 * float(row["value"]), 2), "text": f"control: {board.titles[row['explainer']]}"}


def _point(row: dict[str, Any], board: Board, time: _Time) -> dict[str, Any]:
    key = str(row["explainer"])
    x, y = time.at(row["milliseconds"]), round(100 * row["value"], 2)
    low, high = (y if pd.isna(row[end]) else round(100 * row[end], 2) for end in ("low", "high"))
    about = [
        board.titles[key],
        f"quality {interval(row['value'], row['low'], row['high'])}",
        f"{time_of(row['milliseconds'])} an instance",
    ]
    about += ["on the front: no other method is as good and as fast"] if row["on_front"] else []
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
        f"{board.titles[row.explainer]} {row.value:.2f} in {time_of(row.milliseconds)}"
        + (", on the front" if row.on_front else "")
        for row in own.itertuples()
    ]
    return f"Quality of the three questions, from chance (0) to best (1), against the time of an instance. {'; '.join(told)}."
