"""The parts of the Overview as HTML, from their templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from heval_core.figures.cards import NEAR, RIGHT, UNKNOWN, WRONG, Card
from heval_core.html import render

_SIGNS = {RIGHT: "✓ ", NEAR: "≈ ", WRONG: "✗ ", UNKNOWN: ""}


class Told(NamedTuple):
    """The sentences above the cards: before the model's answer, the answer, after it, and what the marks mean."""

    before: str
    answer: str
    after: str
    key: str


class Door(NamedTuple):
    """link: an address relative to the Overview. about: one sentence."""

    title: str
    about: str
    link: str


def lead() -> str:
    return render("lead.html")


def prompt(title: str, told: Told, cards: Sequence[tuple[Card, str]]) -> str:
    """cards: each with its link, to the prompt's own page."""
    return render("cards.html", title=title, told=told, cards=cards, signs=_SIGNS)


def leaderboard() -> str:
    """The heading of the figure of all questions."""
    return render("headline.html")


def doors(ways: Sequence[Door]) -> str:
    return render("doors.html", doors=ways)
