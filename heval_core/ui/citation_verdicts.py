"""What the data on the page Citations say, in a sentence or two. Titles are data: none is read as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from heval_core.figures.citation_dots import with_interval
from heval_core.present.names import Names
from heval_core.present.numbers import number, percent
from heval_core.ui.text import plain


def of_citations(cells: pd.DataFrame, measure: str, masking: str, writers: Sequence[str], names: Names) -> str:
    """Whether the best reader tells what sentences rest on better than chance, for the best writer and for the worst.

    cells: rows of `cell_recovery` of one source of claims and selector. measure, masking: those of the figure.
    """
    own = cells[(cells["masking"] == masking) & cells["writer"].isin(writers) & (cells["annotator"] != "")]
    known = own[own["measure"] == measure].dropna(subset=["value"])
    known = known[[not names.control(key) for key in known["annotator"]]]
    if known.empty:
        return "No annotator has answered here yet, so nothing can be said."
    reads = known[[names.family(key) != "explainer" for key in known["annotator"]]]
    asked = reads if len(reads) else known
    means = asked.groupby("annotator", sort=False)["value"].mean()
    best = str(means.idxmax())
    rows = asked[asked["annotator"] == best].sort_values("value", ascending=False, kind="stable").to_dict("records")
    transparent = own[(own["measure"] == "transparent") & (own["annotator"] == best)].dropna(subset=["value"])
    shares = {str(row["writer"]): float(row["value"]) for row in transparent.to_dict("records")}
    name = {"f1": "F1", "f1_of_claims": "F1", "precision": "precision", "recall": "recall"}.get(measure, "a share of")
    who, title = "reader" if len(reads) else "explainer", f"**{plain(names.annotator(best))}**"
    if not any(map(_above_chance, rows)):
        number = _number(rows[0], shares, said=True)
        return f"No {who} {_verb(measure)} better than chance: the best, {title}, has {name} {number}."
    said = f"The best {who}, {title}, {_verb(measure)} with {name} {_number(rows[0], shares)}"
    if len(rows) == 1:
        return f"{said}."
    return f"{said}; worst for **{plain(rows[-1]['writer'])}** with {_number(rows[-1], shares, False)}."


def _above_chance(row: dict[str, Any]) -> bool:
    """Whether the whole interval is; of what has no chance level or no interval it is not denied."""
    return bool(pd.isna(row["chance"]) or pd.isna(row["low"]) or row["low"] > row["chance"])


def _verb(measure: str) -> str:
    if measure == "correct_rejection":
        return "leaves passages unmarked that no sentence cites"
    return "finds which sentences a masked citation belongs to"


def _number(row: dict[str, Any], shares: dict[str, float], name: bool = True, said: bool = False) -> str:
    """`0.79 [0.75, 0.83] (chance 0.22) for **careful**, where 62 % of explanations are transparent`.

    said: whether it is said already that nobody beats chance.
    """
    value = with_interval(row).replace("[", r"\[").replace("]", r"\]")
    chance = "" if pd.isna(row["chance"]) else f" (chance {number(row['chance'])})"
    if not said and not _above_chance(row):
        chance += ", no better than chance"
    where = f" for **{plain(row['writer'])}**" if name else ""
    share = shares.get(str(row["writer"]))
    clear = "" if share is None else f", where {percent(share)} of explanations are transparent"
    return f"{value}{chance}{where}{clear}"
