"""What scores belong to: single tokens, words, sentences, or whole documents of a prompt.

An explainer scores tokens. A larger unit's score is the sum of its tokens' scores, so that sums stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from unicodedata import category

import numpy as np

from heval_core.records import Span, TokenisedPrompt

LEVELS = ("token", "word", "sentence", "document")


@dataclass(frozen=True, slots=True)
class Unit(Span):
    """Tokens of a prompt that are scored as one. part: the part of the prompt that they belong to."""

    part: str


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """What each of U units of a prompt gives each of m tokens of an answer, or each of its sentences.

    level: one of LEVELS. columns: `token` or `sentence`. values: (U, columns) float32. changed: (U, m) bool, whether the model
    would write another token without the unit; None where nothing was left out. said_before: (columns,) the share of the
    answer's earlier tokens, sizes of scores among those of the ranked tokens too; None where an explainer scores none.
    """

    level: str
    units: tuple[Unit, ...]
    values: np.ndarray
    changed: np.ndarray | None = None
    said_before: np.ndarray | None = None
    columns: str = "token"

    @classmethod
    def of_tokens(cls, prompt: TokenisedPrompt, scores: np.ndarray, answer: int | None = None) -> Matrix:
        """scores: (n, columns), of a prompt that an answer follows. answer: where it begins, if its scores mean anything."""
        ranked = prompt.ranked
        units = tuple(Unit(index, index + 1, "") for index in ranked)
        scored, earlier = scores[ranked.start : ranked.stop].astype(np.float32), np.abs(scores[answer:]).sum(0)
        share = earlier / np.fmax(earlier + np.abs(scored).sum(0), np.finfo(float).tiny)
        return cls("token", units, scored, said_before=None if answer is None else share)

    def within(self, larger: Sequence[Span], level: str) -> Matrix:
        """The same of larger units, in the order of the text: the sums of those that begin in them."""
        places = places_in(self.units, larger)
        values = np.zeros((len(larger), self.values.shape[1]))
        np.add.at(values, places[places >= 0], self.values[places >= 0])
        units = tuple(Unit(span.start, span.end, getattr(span, "part", "")) for span in larger)
        return replace(self, level=level, units=units, values=values.astype(np.float32), changed=None)


def places_in(units: Sequence[Span], spans: Sequence[Span]) -> np.ndarray:
    """(U,) the number of the span in which each unit begins, -1 for none. spans: in the order of the text."""
    starts = np.array([unit.start for unit in units], dtype=int)
    numbers = np.searchsorted([span.start for span in spans], starts, "right") - 1
    ends = np.array([*(span.end for span in spans), 0])
    return np.where(starts < ends[numbers], numbers, -1)


def units_of(tokens: Sequence[str], parts: Sequence[str], level: str = "token") -> tuple[Unit, ...]:
    """The units of a prompt, in order, without gaps; none reaches from one part into the next.

    tokens: (n,) the text of each token. parts: (n,) what each token belongs to: a document, the question, … level: one of
    LEVELS. A word begins at a token that begins with white space, and where letters and digits meet something else; a sentence
    ends with a token that ends in `.`, `!` or `?` before white space, or a line break; `document` keeps every part whole.
    """
    units = []
    for part, numbered in groupby(range(len(tokens)), parts.__getitem__):
        indices = list(numbered)
        # A later part of a character has no text: no unit begins there, and it does not part the letters around it.
        spelt = [index for index in indices if tokens[index] or level == "token"]
        begins = [indices[0], *(i for last, i in pairwise(spelt) if _begins(tokens[last], tokens[i], level))]
        units += [Unit(start, end, part) for start, end in zip(begins, [*begins[1:], indices[-1] + 1], strict=True)]
    return tuple(units)


def _begins(before: str, token: str, level: str) -> bool:
    """Whether a unit begins at a token that follows another of the same part."""
    if level == "word":
        return token[:1].isspace() or before[-1:].isspace() or _spells(token[:1]) != _spells(before[-1:])
    if level == "sentence":  # none within `3.5` and `U.S.`
        return before.rstrip(" ").endswith((".", "!", "?", "\n")) and (token[:1].isspace() or before[-1:].isspace())
    return level == "token"


def _spells(char: str) -> bool:
    """Whether it is a letter or a digit, or a mark that combines with one."""
    return char.isalnum() or category(char or " ")[0] == "M"


def passages_of(prompt: TokenisedPrompt) -> list[Span]:
    """Documents and padding in the order of the text. Explainers are told no more: not which of them are the documents."""
    return sorted((*prompt.documents, *prompt.padding), key=lambda span: (span.start, span.end))


def summed(scores: np.ndarray | Sequence[float], units: Sequence[Unit]) -> np.ndarray:
    """(n,) scores of tokens ▶ (U,) scores of units."""
    return np.array([float(np.sum(scores[unit.start : unit.end])) for unit in units])
