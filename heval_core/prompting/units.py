"""What scores belong to: single tokens, words, sentences, or whole documents of a prompt.

An explainer scores tokens. A larger unit's score is the sum of its tokens' scores, so that sums stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise

import numpy as np

from heval_core.records import Span, TokenisedPrompt
from heval_core.texts.splitting import sentences, words

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
        """Build a matrix of tokens.

        scores: (n, columns), of a prompt that an answer follows. answer: where it begins, if its scores mean anything.
        """
        ranked = prompt.ranked
        units = tuple(Unit(index, index + 1, "") for index in ranked)
        scored, earlier = scores[ranked.start : ranked.stop].astype(np.float32), np.abs(scores[answer:]).sum(0)
        share = earlier / np.fmax(earlier + np.abs(scored).sum(0), np.finfo(float).tiny)
        return cls("token", units, scored, said_before=None if answer is None else share)

    def within(self, larger: Sequence[Span], level: str) -> Matrix:
        """Sum the values of units that begin in each of some larger ones, in the order of the text."""
        indices = indices_in(self.units, larger)
        values = np.zeros((len(larger), self.values.shape[1]))
        np.add.at(values, indices[indices >= 0], self.values[indices >= 0])
        units = tuple(Unit(span.start, span.end, getattr(span, "part", "")) for span in larger)
        return replace(self, level=level, units=units, values=values.astype(np.float32), changed=None)

    def joined(self, other: Matrix) -> Matrix:
        """Return a matrix of the units of both, whose columns are the same tokens, of which each says what changes."""
        order = np.argsort([unit.start for unit in (*self.units, *other.units)], kind="stable")
        units = tuple((*self.units, *other.units)[index] for index in order)
        values = np.concatenate([self.values, other.values])[order]
        changed = np.concatenate([self.changed, other.changed])[order]
        return replace(self, units=units, values=values, changed=changed)


def indices_in(units: Sequence[Span], spans: Sequence[Span]) -> np.ndarray:
    """Return the index of the span in which each unit begins, (U,), -1 for none. spans: in the order of the text."""
    starts = np.array([unit.start for unit in units], dtype=int)
    numbers = np.searchsorted([span.start for span in spans], starts, "right") - 1
    ends = np.array([*(span.end for span in spans), 0])
    return np.where(starts < ends[numbers], numbers, -1)


def units_of(tokens: Sequence[str], parts: Sequence[str], level: str = "token") -> tuple[Unit, ...]:
    """Divide a prompt into units, in order, without gaps; none reaches from one part into the next.

    tokens: (n,) the text of each token. parts: (n,) what each token belongs to: a document, the question, … level: one of
    LEVELS; `document` keeps every part whole. Words and sentences are those of `splitting`, and a token belongs to that in
    which its first letter stands. White space in tokens of its own is a unit between words, except for a single space, which
    belongs to the word behind it, as in most tokens; white space within a word's token cannot be parted from it.
    """
    units = []
    for part, numbered in groupby(range(len(tokens)), parts.__getitem__):
        indices = list(numbered)
        begins = [indices[0] + first for first in _firsts(tokens[indices[0] : indices[-1] + 1], level)]
        units += [Unit(start, end, part) for start, end in zip(begins, [*begins[1:], indices[-1] + 1], strict=True)]
    return tuple(units)


def _firsts(tokens: Sequence[str], level: str) -> list[int]:
    """Return the tokens of a part that begin a unit."""
    if level in ("token", "document"):
        return [*range(len(tokens))] if level == "token" else [0]
    text, starts = "".join(tokens), [0, *accumulate(map(len, tokens))]
    letters = [
        start + (0 if token.isspace() else len(token) - len(token.lstrip()))
        for start, token in zip(starts, tokens, strict=False)
    ]
    begins = [span.start for span in (words if level == "word" else sentences)(text)]
    numbers = np.searchsorted(begins, letters, "right")
    spelt = [index for index, token in enumerate(tokens) if token]  # a later part of a character has no text
    firsts = [0, *(index for before, index in pairwise(spelt) if numbers[index] > numbers[before])]
    if level == "word":
        firsts = [0, *(index for before, index in pairwise(firsts) if "".join(tokens[before:index]) != " ")]
    return firsts


def passages_of(prompt: TokenisedPrompt) -> list[Span]:
    """Return documents and padding in the order of the text. Explainers are not told which of them are the documents."""
    return sorted((*prompt.documents, *prompt.padding), key=lambda span: (span.start, span.end))


def summed(scores: np.ndarray | Sequence[float], units: Sequence[Unit]) -> np.ndarray:
    """Sum (n,) scores of tokens ▶ (U,) scores of units."""
    return np.array([float(np.sum(scores[unit.start : unit.end])) for unit in units])
