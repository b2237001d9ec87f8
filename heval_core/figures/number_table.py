"""The table under the figure: explainers by regimes, a value with its interval in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from heval_core.figures.comparable import comparable
from heval_core.figures.measured_panels import Measured, Names, in_unit, winner
from heval_core.html import render
from heval_core.present.names import regime_meaning, regime_title
from heval_core.present.numbers import number
from heval_core.records import REGIMES
from heval_core.regime_keys import ordered_regimes

_WRONG = "Numbers whose whole interval lies on the wrong side of chance"


def numbers_html(measured: Measured, explainers: Sequence[str], names: Names) -> str:
    """The table as HTML."""
    return render("numbers.html", **number_rows(measured, explainers, names))


def number_rows(measured: Measured, explainers: Sequence[str], names: Names) -> dict[str, Any]:
    """What the template `numbers.html` fills in. explainers: the rows, in order; controls last."""
    regimes, overall = in_unit(measured.regimes, measured.scaled), in_unit(measured.overall, measured.scaled)
    there = ordered_regimes(set(regimes["regime"]), REGIMES)
    columns = [regimes[regimes["regime"] == regime].set_index("explainer") for regime in there]
    columns += [overall.set_index("explainer")] if len(there) > 1 else []
    heads = [{"title": regime_title(regime), "hint": regime_meaning(regime)} for regime in there]
    heads += [{"title": f"mean of the {len(there)}", "hint": "Mean over all cells"}] if len(there) > 1 else []
    one_sided = measured.measure.best != "zero"
    side = "above" if measured.measure.best == "low" else "below"
    heads += [{"title": f"{side} chance", "hint": _WRONG}] if one_sided else []
    wrong = measured.wrong_side
    best = [winner(measured, column, names, regime) for column, regime in zip(columns, [*there, ""], strict=False)]
    reasons = measured.cells.dropna(subset=["unavailable"]).groupby("explainer")["unavailable"].first()
    overall_cells = measured.overall.set_index("explainer")["cells"].astype(float)
    # Those without a number say so in each column.
    whole = {*overall_cells.index[comparable(overall_cells)], *(key for key in explainers if key not in overall_cells)}
    rows = []
    for key in explainers:
        why = str(reasons.get(key, "not measured here"))
        cells = [_cell(column, key, key == winner, why) for column, winner in zip(columns, best, strict=True)]
        if one_sided:
            counted = wrong.loc[key] if key in wrong.index else None
            cells.append({"value": "–" if counted is None else f"{counted['wrong']} of {counted['numbers']}"})
        control = key in names.controls
        ran = "" if key in whole else f"in {int(overall_cells.get(key, 0))} of {int(overall_cells.max())} cells"
        note = ", ".join(filter(None, ["control" if control else "", ran]))
        rows.append({"title": names.explainer(key), "control": control, "note": note, "cells": cells})
    return {
        "first": "Explainer",
        "caption": "The numbers, explainers by regimes",
        "heads": heads,
        "rows": [_whole(row) for row in rows],
    }


def _cell(column: pd.DataFrame, key: str, best: bool, why: str) -> dict[str, Any]:
    if key not in column.index or pd.isna(column.loc[key, "at"]):
        return {"value": "–", "why": why}
    value, low, high = (float(column.loc[key, name]) for name in ("at", "at_low", "at_high"))
    return {"value": number(value), "interval": f"[{number(low)}, {number(high)}]", "best": best}


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """With everything that the template asks of a cell."""
    return row | {"cells": [{"interval": "", "best": False, "why": "", **cell} for cell in row["cells"]]}
