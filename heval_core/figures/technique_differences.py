"""The difference to Regular by kind of context: a row for each technique, a column for each kind, one axis for all."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import pandas as pd

from heval_core.figures.dots import Axis, Dot, DotFigure, Panel, Row, Slot
from heval_core.figures.palette import SHAPES
from heval_core.present.drawing import Scale
from heval_core.present.names import SIGNED, Names, change_unit, regime_meaning, regime_title, value_unit
from heval_core.present.numbers import MINUS, brackets, change, with_unit
from heval_core.records import CONTEXT_KINDS, TECHNIQUE

TOTAL = "total"


def differences_figure(cells: pd.DataFrame, measure: str, names: Names, front: Collection[str] = ()) -> DotFigure | None:
    """cells: rows of `cell_behaviour` of one model and dataset. front: techniques in bold. None without any technique."""
    own = cells[cells["measure"] == measure]
    kinds = [kind for kind in CONTEXT_KINDS if kind in set(own["regime"])]
    found = {(row["technique"], row["regime"]): row for row in own.to_dict("records")}
    rows = [
        Row(
            key,
            names.label(key),
            False,
            names.cost_in_words(key),
            "",
            SHAPES[names.technique_family(key)],
            key in front,
            names.cost(key),
        )
        for key in ranked(own, names)
        if key != TECHNIQUE
    ]
    slots = {kind: tuple(_slot(found.get((row.key, kind)), row.key, kind, measure, names) for row in rows) for kind in kinds}
    dots = [dot for of_kind in slots.values() for slot in of_kind for dot in slot.dots]
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if not pd.isna(end)]
    unit = _scaled(0.05, measure)
    axis = Axis(Scale.around([*ends, -unit, unit]), text=_signed, ticks=4)
    panels = [
        Panel(regime_title(kind), slots[kind], axis, _note(found.get((TECHNIQUE, kind)), measure), regime_meaning(kind), 0.0)
        for kind in kinds
    ]
    title = "Differences to Regular by kind of context, best total first"
    return DotFigure(title, rows, panels, bars=True, above=True, zero="zero") if rows else None


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", MINUS) if value else "0"


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


def _note(regular: dict[str, Any] | None, measure: str) -> str:
    value = math.nan if regular is None else regular["value"]
    return "" if pd.isna(value) else f"Regular {with_unit(value, value_unit(measure))}"


def _slot(row: dict[str, Any] | None, key: str, kind: str, measure: str, names: Names) -> Slot:
    head = f"{names.technique(key)}, {regime_title(kind).lower()}"
    if row is None or pd.isna(row["delta"]):
        why = row.get("unavailable") if row is not None else None
        reason = "not measured here" if why is None or pd.isna(why) else str(why)
        return Slot(missing=Dot(0.0, (head, "not available", reason), (key, kind)))
    value, low, high = row["delta"], row["delta_low"], row["delta_high"]
    points = change_unit(measure).sign
    about = (
        head,
        f"{change(value, change_unit(measure))}{points} {brackets(low, high, change_unit(measure))} against Regular",
        f"{with_unit(row['value'], value_unit(measure))} {brackets(row['low'], row['high'], value_unit(measure))}",
        *([] if pd.isna(row["n"]) else [f"{int(row['n']):,} questions; click for the instances"]),
    )
    at, left, right = (_scaled(one, measure) for one in (value, low, high))
    sure, text = differs(row), change(value, change_unit(measure))
    return Slot((Dot(at, about, (key, kind), left, right, hollow=not sure, text=text, strong=sure),))


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
