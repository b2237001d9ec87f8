"""What the data on the page Citations say, in a sentence or two. Titles are data: none is read as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import clauses, sentences
from heval_core.figures.citation_tables import rankings
from heval_core.present.names import Names
from heval_core.present.numbers import interval, number, percent
from heval_core.ui.text import plain


def of_citations(cells: pd.DataFrame, measure: str, masking: str, writers: Sequence[str], names: Names) -> str:
    """Which readers tell best what sentences rest on, by writer; with the numbers of the best and of the worst writer.

    cells: rows of `cell_recovery` of one source of claims and selector. measure, masking: those of the figure.
    """
    own = cells[(cells["masking"] == masking) & cells["writer"].isin(writers) & (cells["annotator"] != "")]
    known = own[own["measure"] == measure].dropna(subset=["value"])
    ranked = {writer: one._replace(controls=(), below=()) for writer, one in rankings(known, names).items() if one.methods}
    if not ranked:
        return "No annotator has answered here yet, so nothing can be said."
    best = {writer: one.best[0] for writer, one in ranked.items()}
    who = "explainer" if names.family(next(iter(best.values()))) == "explainer" else "reader"
    rows = known[known["annotator"] == known["writer"].map(best)].sort_values("value", ascending=False, kind="stable")
    ends = rows.to_dict("records")[:: max(len(rows) - 1, 1)]
    clear = own[own["measure"] == "transparent"].set_index(["writer", "annotator"])["value"].dropna().to_dict()
    if not any(_above_chance(row) for row in rows.to_dict("records")):
        said = [f"no {who} is better than guessing at {_task(measure)}"]
    else:
        places = {f"**{plain(writer)}**": one for writer, one in ranked.items()}
        said = clauses(places, lambda key: f"**{plain(names.annotator(key))}**", f"at {_task(measure)} by", who)
    name = {"f1": "F1", "f1_of_claims": "F1", "precision": "precision", "recall": "recall"}.get(measure, "share")
    return sentences([*said, *(f"by **{plain(row['writer'])}**: {name} {_number(row, clear)}" for row in ends)])


def _above_chance(row: dict[str, Any]) -> bool:
    """Whether the whole interval is; of what has no chance level or no interval it is not denied."""
    return bool(pd.isna(row["chance"]) or pd.isna(row["low"]) or row["low"] > row["chance"])


def _task(measure: str) -> str:
    if measure == "correct_rejection":
        return "leaving passages unmarked that no sentence cites"
    return "putting back a masked citation"


def _number(row: dict[str, Any], clear: dict[tuple[str, str], float]) -> str:
    """`0.79 [0.75, 0.83] (guessing 0.22), and 62 % of explanations are transparent`."""
    value = interval(row["value"], row["low"], row["high"]).replace("[", r"\[").replace("]", r"\]")
    chance = "" if pd.isna(row["chance"]) else f" (guessing {number(row['chance'])})"
    chance += "" if _above_chance(row) else ", no better than guessing"
    share = clear.get((row["writer"], row["annotator"]))
    return f"{value}{chance}" + ("" if share is None else f", and {percent(share)} of explanations are transparent")
