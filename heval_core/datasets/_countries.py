"""The table of 195 sovereign states that both country datasets read: the members and observers of the United Nations.

`aliases.csv` has another name for most of their answers: what a capital is or was called in another language or at another
time, or its airport's code; a continent by its adjective; the code of a currency that is one state's (or the euro); a language
in another language.

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
def _other_names() -> dict[tuple[str, str], str]:
    text = files("heval_core.datasets").joinpath("aliases.csv").read_text(encoding="utf-8")
    return {(row["relation"], row["answer"]): row["alias"] for row in csv.DictReader(text.splitlines())}


def aliases(relation: str, *of: str) -> tuple[tuple[str, str], ...]:
    """(answer, another name) of those answers of a relation that have one."""
    known, named = _other_names(), []
    for answer in of:
        if (relation, answer) in known:
            named.append((answer, known[relation, answer]))
    return tuple(named)


@functools.cache
def answers(relation: str) -> tuple[str, ...]:
    """All distinct values of one relation, sorted."""
    return tuple(sorted({row[relation] for row in countries()}))
