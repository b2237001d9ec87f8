"""The table of 195 sovereign states that both country datasets read: the members and observers of the United Nations.

Columns: country, capital, continent, currency (the unit's name), language (an official or national one).
If a capital is disputed, or the seat of government is elsewhere, the table has one of the two: these are facts to ask
small models about, not a gazetteer.
"""

from __future__ import annotations

import csv
import functools
from importlib.resources import files

RELATIONS = ("capital", "continent", "currency", "language")

QUESTIONS = {
    "capital": "What is the capital of {x}?",
    "continent": "Which continent is {x} in?",
    "currency": "What is the currency of {x}?",
    "language": "Which language is official in {x}?",
}


@functools.cache
def countries() -> tuple[dict[str, str], ...]:
    """One row per state, as column name ▶ value."""
    text = files("heval_core.datasets").joinpath("countries.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@functools.cache
def answers(relation: str) -> tuple[str, ...]:
    """All distinct values of one relation, sorted."""
    return tuple(sorted({row[relation] for row in countries()}))
