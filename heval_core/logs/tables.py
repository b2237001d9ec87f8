"""What was found of a log: a record for each row and for each sentence, and a summary with intervals over rows.

Shares are means over sentences, answers or passages, with 95 % intervals over the rows that they stand in
(`statistics/bounded.py`: what rows agree on still has a width).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from heval_core.logs.traced import MISSING, NEEDLESS, NOT_READ, RIGHT, WRONG, TracedRow
from heval_core.statistics.values import Sums

MARKERS = (RIGHT, WRONG, NEEDLESS, MISSING, NOT_READ)


def row_record(traced: TracedRow) -> dict[str, Any]:
    """Return what a table says of a row; of one that was not assessed, why."""
    row, weakest, sentences = traced.row, traced.weakest, traced.sentences
    markers = Counter(one.marker for one in sentences)
    return {
        "row": row.number,
        "id": row.id,
        "question": row.question,
        "answer": row.answer,
        "reader": traced.reader,
        "passages": len(row.passages),
        "read": len(traced.effects),
        "sentences": len(sentences),
        "with_source": sum(one.rests for one in sentences),
        "share_with_source": traced.share,
        "weakest_sentence": weakest and weakest.number,
        "weakest_text": weakest and weakest.text,
        "not_used": " ".join(map(str, traced.not_used)),
        "unread": "; ".join(f"{number}: {why}" for number, why in traced.unread.items()),
        **{f"markers_{name.replace(' ', '_')}": markers[name] for name in MARKERS},
        "not_in_passages": sum(len(one.nowhere) for one in sentences),
        "order": traced.order,
        "logprob": traced.with_passages,
        "logprob_without": traced.without,
        "implausible": traced.implausible,
        "problem": traced.problem or None,
    }


def sentence_records(traced: TracedRow) -> Iterable[dict[str, Any]]:
    """Yield what a table says of each sentence of a row's answer."""
    for one in traced.sentences:
        first = one.passages[0] if one.passages else None
        passage = traced.row.passages[first.number - 1] if first else None
        yield {
            "row": traced.row.number,
            "id": traced.row.id,
            "sentence": one.number,
            "start": one.start,
            "end": one.end,
            "text": one.text,
            "source": one.source,
            "nats": first and first.nats,
            "level": first and first.level,
            **{f"passage_{name}": passage and getattr(passage, name) for name in ("id", "title", "url", "page", "score")},
            "passage_sentence": first and first.sentence,
            "passage_text": first and first.text,
            "passages": " ".join(str(use.number) for use in one.passages),
            "passage_ids": "; ".join(use.id for use in one.passages if use.id),
            **{f"words_{name}": one.shares.get(name, 0.0) for name in ("memory", "unclear")},
            "cites": " ".join(map(str, one.written)),
            "marker": one.marker or None,
            "not_in_passages": "; ".join(one.nowhere),
        }


class LogMeasure(NamedTuple):
    """A share over a log, with its interval. n: of how many; of: what, one of them."""

    title: str
    value: float
    low: float
    high: float
    n: int
    of: str


def _counts(title: str, of: str, count: Callable[[TracedRow], tuple[int, int]], rows: Sequence[TracedRow]) -> LogMeasure:
    """Return a share. count: of a row, how many it holds for, of how many."""
    pairs = np.array([count(row) for row in rows], dtype=float).reshape(-1, 2)
    share = Sums(pairs[:, 0], pairs[:, 1], ends=(0.0, 1.0)).bounded()
    low, high = share.interval()
    return LogMeasure(title, share.value, low, high, int(pairs[:, 1].sum()), of)


def summary(rows: Sequence[TracedRow]) -> list[LogMeasure]:
    """Return what is said of a log as a whole; nothing where no row was assessed."""
    assessed = [row for row in rows if row.assessed]
    if not assessed:
        return []
    measures = [
        _counts("Sentences that rest on a passage", "sentence", lambda row: (_resting(row), len(row.sentences)), assessed),
        _counts("Answers all of whose sentences do", "answer", lambda row: (int(row.share == 1), 1), assessed),
        _counts(
            "Passages read that no sentence needs", "passage", lambda row: (len(row.not_used), len(row.effects)), assessed
        ),
        _counts("Sentences with a number or name in no passage", "sentence", _with_nowhere, assessed),
    ]
    if any(one.written for row in assessed for one in row.sentences):
        for title, marker in _OF_MARKED.items():
            measures.append(_counts(title, "sentence", partial(_marked, marker), assessed))
    return measures


# Of sentences whose markers could be judged.
_OF_MARKED = {
    "Sentences with markers that name what they rest on": RIGHT,
    "Sentences with markers that name others": WRONG,
    "Sentences with markers that name more than is needed": NEEDLESS,
}


def _marked(marker: str, row: TracedRow) -> tuple[int, int]:
    judged = [one.marker for one in row.sentences if one.marker and one.marker not in (MISSING, NOT_READ)]
    return judged.count(marker), len(judged)


def _resting(row: TracedRow) -> int:
    return sum(one.rests for one in row.sentences)


def _with_nowhere(row: TracedRow) -> tuple[int, int]:
    return sum(bool(one.nowhere) for one in row.sentences), len(row.sentences)


def worst_first(rows: Sequence[TracedRow]) -> list[TracedRow]:
    """Order rows by the share of sentences with a source, then by the weakest one's nats; last those without a trace."""

    def key(row: TracedRow) -> tuple[float, ...]:
        weakest = row.weakest
        nats = weakest.passages[0].nats if weakest and weakest.passages else 0.0
        return (row.share if row.share is not None else 2.0, nats, row.row.number)

    return sorted(rows, key=key)
