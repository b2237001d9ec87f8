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
from heval_core.present.numbers import change, interval, tick, with_unit
from heval_core.present.table import reason
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
    axis = Axis(Scale.around([*ends, -unit, unit]), text=tick, ticks=4)
    panels = [
        Panel(regime_title(kind), slots[kind], axis, _note(found.get((TECHNIQUE, kind)), measure), regime_meaning(kind), 0.0)
        for kind in kinds
    ]
    title = "Differences to Regular by kind of context, best total first"
    return DotFigure(title, rows, panels, bars=True, above=True, zero="zero") if rows else None


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
        return Slot(missing=Dot(0.0, (head, "not available", reason(row)), (key, kind)))
    counts = [] if pd.isna(row["n"]) else [f"{int(row['n']):,} questions; click for the instances"]
    about = (head, f"{_change(row, measure)} against Regular", _value(row, measure), *counts)
    at, low, high = (_scaled(row[name], measure) for name in ("delta", "delta_low", "delta_high"))
    sure, text = differs(row), change(row["delta"], change_unit(measure))
    return Slot((Dot(at, about, (key, kind), low, high, hollow=not sure, text=text, strong=sure),))


def told(row: dict[str, Any], measure: str) -> str:
    """A cell in words: `72 % [66, 78], +22 points [14, 30] against Regular`."""
    alone = row["technique"] == TECHNIQUE or pd.isna(row["delta"])
    return _value(row, measure) + ("" if alone else f", {_change(row, measure)} against Regular")


def _value(row: dict[str, Any], measure: str) -> str:
    return interval(row["value"], row["low"], row["high"], value_unit(measure))


def _change(row: dict[str, Any], measure: str) -> str:
    return interval(row["delta"], row["delta_low"], row["delta_high"], change_unit(measure), signed=True)


def _scaled(value: float, measure: str) -> float:
    """On the axis: shares in points, others as they are."""
    return value if measure in SIGNED else 100 * value
