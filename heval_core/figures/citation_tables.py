"""The tables of citations: a measure by annotator and writer, what explanations cite, and where annotators agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.figures.citation_dots import reason
from heval_core.figures.citation_names import PEOPLE, CitationNames
from heval_core.html import render
from heval_core.present.numbers import number
from heval_core.words import CITATION_MEASURES, OF_EXPLANATIONS


def recovery_html(cells: pd.DataFrame, measure: str, masking: str, writers: Sequence[str], names: CitationNames) -> str:
    """One measure: annotators by writer, each number with its interval and its chance."""
    own = cells[(cells["measure"] == measure) & (cells["masking"] == masking) & (cells["annotator"] != "")]
    found = {(row["annotator"], row["writer"]): row for row in own.to_dict("records")}
    best = own[own["writer"].isin(writers)].groupby("writer")["value"].max()
    rows = [
        {
            "title": names.annotator(key),
            "note": "control" if names.control(key) else "",
            "control": names.control(key),
            "cells": [_cell(found.get((key, writer)), best.get(writer)) for writer in writers],
        }
        for key in names.in_order(own["annotator"])
    ]
    heads = [{"title": writer, "hint": f"explanations written by {writer}"} for writer in writers]
    return render(
        "numbers.html",
        first="Annotator",
        caption=f"{CITATION_MEASURES[measure].title}, annotators by writer",
        heads=heads,
        rows=rows,
    )


def explanations_html(cells: pd.DataFrame, writers: Sequence[str]) -> str:
    """What explanations cite: a row for each writer, a column for each measure that has a row."""
    own = cells[(cells["annotator"] == "") & cells["measure"].isin(OF_EXPLANATIONS)]
    found: dict[tuple[str, str], Mapping[Any, Any]] = {}
    for row in own.to_dict("records"):
        found.setdefault((row["measure"], row["writer"]), row)
    there = [measure for measure in OF_EXPLANATIONS if any(key[0] == measure for key in found)]
    rows = [
        {
            "title": writer,
            "note": "",
            "control": False,
            "cells": [_cell(found.get((measure, writer)), None) for measure in there],
        }
        for writer in writers
    ]
    heads = [{"title": CITATION_MEASURES[measure].title, "hint": CITATION_MEASURES[measure].meaning} for measure in there]
    return render("numbers.html", first="Writer", caption="What explanations cite", heads=heads, rows=rows)


def alphas_html(agreements: pd.DataFrame, writer: str, names: CitationNames) -> str:
    """Krippendorff's alpha of any two annotators of one writer's explanations, as a triangle."""
    own = agreements[agreements["writer"] == writer]
    found: dict[frozenset[str], Mapping[Any, Any]] = {}
    for row in own.to_dict("records"):
        found[frozenset((str(row["first"]), str(row["second"])))] = row
    keys = names.in_order([*own["first"], *own["second"]])
    rows = [
        {
            "title": names.annotator(key),
            "control": names.control(key),
            "cells": [_alpha(found, key, other, names) for other in keys[: place + 1]] + [None] * (len(keys) - place - 1),
        }
        for place, key in enumerate(keys)
    ]
    heads = [{"title": names.annotator(key), "colour": names.colour(key)} for key in keys]
    return render("alphas.html", caption=f"Agreement between annotators of explanations by {writer}", heads=heads, rows=rows)


def _cell(row: Mapping[Any, Any] | None, best: float | None) -> dict[str, Any]:
    if row is None or pd.isna(row["value"]):
        return {"value": "○", "interval": "", "best": False, "why": reason(row)}
    parts = [] if pd.isna(row["low"]) else [f"[{number(row['low'])}, {number(row['high'])}]"]
    parts += [] if pd.isna(row["chance"]) else [f"chance {number(row['chance'])}"]
    top = best is not None and row["value"] == best
    return {"value": number(row["value"]), "interval": " ".join(parts), "best": top, "why": ""}


def _alpha(found: Mapping[frozenset[str], Mapping[Any, Any]], key: str, other: str, names: CitationNames) -> dict[str, Any]:
    row = found.get(frozenset((key, other)))
    who = (
        f"{names.annotator(key)} and {names.annotator(other)}" if key != other else f"{names.annotator(key)} among themselves"
    )
    if key == other and key != PEOPLE and row is None:
        return {"value": "", "interval": "", "tint": 0, "why": "", "same": True}
    if row is None or pd.isna(row["alpha"]):
        return {"value": "○", "interval": "", "tint": 0, "why": f"{who}: {reason(row)}", "same": False}
    ends = "" if pd.isna(row["low"]) else f"[{number(row['low'])}, {number(row['high'])}]"
    tint = round(45 * min(max(float(row["alpha"]), 0.0), 1.0))
    count = "" if pd.isna(row["n"]) else f", n = {int(row['n']):,}"
    return {"value": number(row["alpha"]), "interval": ends, "tint": tint, "why": f"{who}{count}", "same": False}
