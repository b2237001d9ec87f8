"""The Overview: what each explainer says about one prompt, as cards that are read at a glance, and the ways on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heval_core.figures.highlights import Scored
from heval_core.figures.palette import colour
from heval_core.html import render, visible
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.present.numbers import ordinal
from heval_core.statistics.scores import average_ranks
from heval_core.stored import StoredInstance
from heval_core.words import token_name

# A part of a longer prompt shows only what is near an answer or the explainer's first choice.
_LONG, _NEAR = 40, 6
# Characters of a token in a sentence.
_LONGEST = 24
# Below this share of the strongest score a token has no tint.
_FAINT = 0.05
RIGHT, NEAR, WRONG, UNKNOWN = "right", "near", "wrong", "unknown"
_SIGNS = {RIGHT: "✓ ", NEAR: "≈ ", WRONG: "✗ ", UNKNOWN: ""}


@dataclass(frozen=True)
class Piece:
    """A stretch of text. share: of the strongest score, 0 where it has no tint. first: the explainer's first choice.

    answer: part of a document's answer; used: of the document's that was used.
    """

    text: str
    share: float = 0.0
    first: bool = False
    answer: bool = False
    used: bool = False


@dataclass(frozen=True)
class Part:
    """A document with its number, or the question without one."""

    number: int | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Card:
    """verdict: RIGHT, NEAR, WRONG, or UNKNOWN where no document was used. place: where the used answer stands."""

    title: str
    colour: str
    verdict: str
    points_at: str
    place: str
    parts: tuple[Part, ...]


def card(instance: StoredInstance, row: Scored) -> Card:
    """What one explainer says about a prompt."""
    raw = np.nan_to_num(np.asarray(row.scores, dtype=np.float64))
    ranked = np.isin(np.arange(len(raw)), instance.ranked)
    ranks = average_ranks(raw[None], ranked[None])[0]
    first = np.flatnonzero(ranked & (raw == raw[ranked].max(initial=-np.inf)))
    used = instance.used_document
    gold = set() if used is None else set(instance.documents[used].answer_tokens)
    best = min((float(ranks[token]) for token in gold), default=float("nan"))
    verdict = UNKNOWN if used is None else _verdict(best, set(first.tolist()) <= gold)
    place = "" if verdict in (RIGHT, UNKNOWN) or not np.isfinite(best) else f"answer {ordinal(best)} of {int(ranked.sum())}"
    strongest = float(raw[ranked].max(initial=0.0))
    shares = np.clip(raw / strongest, 0, 1) * ranked if strongest > 0 else np.zeros_like(raw)
    parts = tuple(
        _part(instance, *span, shares, set(first.tolist()) if len(first) == 1 else set()) for span in _spans(instance)
    )
    points_at = "points at the answer" if verdict == RIGHT else _pointed(instance, first, verdict == NEAR)
    return Card(row.title, colour(row.explainer), verdict, points_at, place, parts)


def _verdict(best: float, first_is_gold: bool) -> str:
    if first_is_gold:
        return RIGHT
    return NEAR if best <= DEFAULT_K else WRONG


def _pointed(instance: StoredInstance, first: np.ndarray, nearly: bool) -> str:
    """What an explainer ranks first: `points at a full stop`, `nearly: points at “census”`."""
    if len(first) != 1:
        what = f"{len(first)} tokens at once"
    else:
        token = int(first[0])
        used = instance.used_document
        others = {t for index, document in enumerate(instance.documents) if index != used for t in document.answer_tokens}
        what = token_name(visible(instance.tokens[token])[:_LONGEST])
        if used is not None and token in others:
            what = f"the other document’s answer, {what}"
    return f"{'nearly: ' if nearly else ''}points at {what}"


def _spans(instance: StoredInstance) -> Iterator[tuple[int | None, int, int]]:
    """(number of a document or None, start, end) of the parts of what is ranked, without gaps.

    What stands before a document belongs to it, unless it is the question.
    """
    end, asked = instance.ranked.start, instance.question_span
    for number, document in sorted(enumerate(instance.documents, start=1), key=lambda own: own[1].start):
        if end <= asked.start < asked.end <= document.start:
            yield None, end, document.start
            end = document.start
        yield number, end, document.end
        end = document.end
    if end < instance.ranked.stop:
        yield None, end, instance.ranked.stop


def _part(instance: StoredInstance, number: int | None, start: int, end: int, shares: np.ndarray, first: set[int]) -> Part:
    answers, used = instance.answer_tokens, instance.used_document
    gold = set() if used is None else set(instance.documents[used].answer_tokens)
    pieces: list[Piece] = []
    last = start - 1
    for token in _shown(start, end, answers | first):
        if token != last + 1:
            pieces.append(Piece(" … "))
        last = token
        text = instance.tokens[token]
        word = text.strip(" ")
        before, after = text[: len(text) - len(text.lstrip(" "))], text[len(text.rstrip(" ")) :] if word else ""
        share = float(shares[token]) if shares[token] >= _FAINT else 0.0
        marked = Piece(word, round(share, 2), token in first, token in answers, token in gold)
        pieces += [Piece(before[:1]), marked, Piece(after[:1])]
    if last < end - 1:
        pieces.append(Piece(" …"))
    return Part(number, tuple(_joined(pieces)))


def _shown(start: int, end: int, telling: set[int]) -> list[int]:
    """The tokens of a part that are shown: all, or of a long one its beginning and what is near a telling token."""
    if end - start <= _LONG:
        return list(range(start, end))
    near = {token for own in telling for token in range(own - _NEAR, own + _NEAR + 1)}
    return [token for token in range(start, end) if token in near or token < start + _NEAR]


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The same, with neighbours that have no mark as one."""
    text = ""
    for piece in pieces:
        if piece == Piece(piece.text):
            text += piece.text
            continue
        if text:
            yield Piece(text)
        text = ""
        yield piece
    if text:
        yield Piece(text)


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
