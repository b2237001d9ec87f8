"""The difference to Regular by kind of context: a row for each technique, a column for each kind, one axis for all."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import pandas as pd

from heval_core.present.names import SIGNED, Names, change_unit, regime_meaning, regime_title, value_unit
from heval_core.present.numbers import MINUS, brackets, change, with_unit
from heval_core.records import CONTEXT_KINDS, TECHNIQUE

_STEPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 50.0, 100.0)
TOTAL = "total"


def differences_drawing(
    cells: pd.DataFrame, measure: str, names: Names, front: Collection[str] = (), picked: str = ""
) -> dict[str, Any]:
    """What the browser draws. cells: rows of `cell_behaviour` of one model and dataset. front: techniques in bold."""
    own = cells[cells["measure"] == measure]
    kinds = [kind for kind in CONTEXT_KINDS if kind in set(own["regime"])]
    rows = [key for key in ranked(own, names) if key != TECHNIQUE]
    known = own[own["technique"].isin(rows) & own["regime"].isin(kinds)]
    axis = _axis(known, measure)
    by_place = {(row["technique"], row["regime"]): row for row in own.to_dict("records")}
    regular = {kind: by_place.get((TECHNIQUE, kind)) for kind in kinds}
    return {
        "columns": [_column(kind, regular[kind], measure) for kind in kinds],
        "axis": {"zero": _at(0, axis), "ticks": _ticks(axis)},
        "rows": [
            {
                "title": names.label(key),
                "note": names.cost(key),
                "hint": names.cost_in_words(key),
                "shape": names.technique_family(key),
                "front": key in front,
                "marks": [_mark(by_place.get((key, kind)), key, kind, measure, axis, names) for kind in kinds],
            }
            for key in rows
        ],
        "about": "Differences to Regular by kind of context, best total first",
        "picked": picked,
    }


def ranked(cells: pd.DataFrame, names: Names) -> list[str]:
    """The techniques that have a value somewhere, those with the highest total first. cells: of one measure."""
    there = cells.dropna(subset=["value"])
    totals = there[there["regime"] == TOTAL].set_index("technique")["value"]
    if totals.empty:
        totals = there.groupby("technique")["value"].mean()
    keys = names.techniques_in_order(there["technique"])
    return sorted(keys, key=lambda key: -totals.get(key, -math.inf))


def differs(row: dict[str, Any]) -> bool:
    """Whether the interval of the difference leaves out 0."""
    low, high = row["delta_low"], row["delta_high"]
    return not pd.isna(low) and not pd.isna(high) and (low > 0 or high < 0)


def _column(kind: str, regular: dict[str, Any] | None, measure: str) -> dict[str, str]:
    value = math.nan if regular is None else regular["value"]
    return {
        "title": regime_title(kind),
        "note": "" if pd.isna(value) else f"Regular {with_unit(value, value_unit(measure))}",
        "hint": regime_meaning(kind),
    }


def _mark(
    row: dict[str, Any] | None, key: str, kind: str, measure: str, axis: tuple[float, float, float], names: Names
) -> dict[str, Any] | None:
    if row is None or pd.isna(row["delta"]):
        why = row.get("unavailable") if row is not None else None
        return {"id": [key, kind], "why": "not measured here" if why is None or pd.isna(why) else str(why)}
    value, low, high = row["delta"], row["delta_low"], row["delta_high"]
    ends = [end if not pd.isna(end) else value for end in (low, high)]
    points = change_unit(measure).sign
    about = [
        f"{names.technique(key)}, {regime_title(kind).lower()}",
        f"{change(value, change_unit(measure))}{points} {brackets(low, high, change_unit(measure))} against Regular",
        f"{with_unit(row['value'], value_unit(measure))} {brackets(row['low'], row['high'], value_unit(measure))}",
        *([] if pd.isna(row["n"]) else [f"{int(row['n']):,} questions; click for the instances"]),
    ]
    return {
        "id": [key, kind],
        "at": _at(_scaled(value, measure), axis),
        "low": _at(_scaled(ends[0], measure), axis),
        "high": _at(_scaled(ends[1], measure), axis),
        "text": change(value, change_unit(measure)),
        "filled": differs(row),
        "about": about,
    }


def _axis(known: pd.DataFrame, measure: str) -> tuple[float, float, float]:
    """(low, high, step): wide enough for every interval, 0 inside, in round steps of which there are few."""
    ends = known[["delta", "delta_low", "delta_high"]].to_numpy().ravel()
    scaled = [_scaled(float(end), measure) for end in ends if not pd.isna(end)]
    unit = _scaled(0.05, measure)
    low, high = min([*scaled, -unit]), max([*scaled, unit])
    step = next((step for step in _STEPS if (high - low) / step <= 3.6), 100.0)
    room = 0.08 * (high - low)
    return low - room, high + room, step


def _at(value: float, axis: tuple[float, float, float]) -> float:
    return round(100 * (value - axis[0]) / (axis[1] - axis[0]), 2)


def _ticks(axis: tuple[float, float, float]) -> list[dict[str, Any]]:
    low, high, step = axis
    places = [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [{"at": _at(value, axis), "text": f"{value:+g}".replace("-", MINUS) if value else "0"} for value in places]


def told(row: dict[str, Any], measure: str) -> str:
    """A cell in words: `72 % [66, 78], +22 points [14, 30] against Regular`."""
    value = f"{with_unit(row['value'], value_unit(measure))} {brackets(row['low'], row['high'], value_unit(measure))}"
    if row["technique"] == TECHNIQUE or pd.isna(row["delta"]):
        return value
    points = change_unit(measure).sign
    ends = brackets(row["delta_low"], row["delta_high"], change_unit(measure))
    delta = f"{change(row['delta'], change_unit(measure))}{points} {ends}"
    return f"{value}, {delta} against Regular"


def _scaled(value: float, measure: str) -> float:
    """On the axis: shares in points, others as they are."""
    return value if measure in SIGNED else 100 * value
