"""What a reader model's trace says of one row of a log: each sentence's sources, markers, and which passages nobody used.

A sentence *rests on* the passages that it cites by computation: those without which it loses more than by a text about
something else, and on which a word of it rests (`explaining.word_origins`). Without one it rests on *memory* (or the question)
where more than half of its words do, else it is *unclear*. Without a random level (`quick`) the passages on which a
word rests stand for them.
Its marker is *right* where it names what the sentence rests on, and nothing else; *wrong* where it names other passages
only, or one that is not there; *needless* where it names more than that, or where the sentence rests on no passage; *missing*
where the sentence rests on one, has no marker, and other sentences of the answer have; *not read* where it names one that the
reader did not see. Of two equal passages one is read, and stands for both. Numbers and names are sought in all passages.
All this is about the reader, which may not be who wrote the answer: what it does not need, the writer may have used.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from heval_core.figures.answer import SENTENCE, sentences_of, spelt
from heval_core.logs.rows import LogRow
from heval_core.records import Span
from heval_core.records.whole_answers import MEMORY, UNCLEAR, AnswerSentence, WholeAnswer
from heval_core.statistics.correlation import spearman
from heval_core.texts.markers import read as read_markers
from heval_core.texts.numbers_and_names import instead, nowhere, of_tokens

RIGHT, WRONG, NEEDLESS, MISSING, NOT_READ = "right", "wrong", "needless", "missing", "not read"
# A letter with the marks that belong to it.
_WITH_MARKS = re.compile(r"(?s).[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\ufe20-\ufe2f]*")
# A reader to whom the answer's tokens are less likely than this on average, in nats, is no judge of it: SmolLM2 gives less to
# 3 % of people's answers, and to 99 % of the same in random order. See docs/trace.md.
IMPLAUSIBLE = -4.0


@dataclass(frozen=True)
class PassageUse:
    """A passage on which a sentence rests. number: the log's, from 1. level: of chance, in nats; None where it was not asked.
    sentence: of the passage, from 1, that the words lose most without, and its text; None where none was left out."""

    number: int
    id: str
    nats: float
    level: float | None
    sentence: int | None = None
    text: str = ""


@dataclass(frozen=True)
class TracedSentence:
    """A sentence of the answer. start, end: its letters. source: `passage 2`, `memory` or `unclear`. shares: of its words, by
    what they rest on. written: the passages that its markers name. marker: how right they are, or "". nowhere: its numbers and
    names that stand in no passage."""

    number: int
    start: int
    end: int
    text: str
    source: str
    passages: tuple[PassageUse, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    written: tuple[int, ...] = ()
    marker: str = ""
    nowhere: tuple[str, ...] = ()

    @property
    def rests(self) -> bool:
        """Whether it rests on a passage."""
        return self.source not in (MEMORY, UNCLEAR)


@dataclass(frozen=True)
class TracedRow:
    """A row of a log and what was found. reader: who read it. unread: passage ▶ why the reader did not see it. problem: why
    there is no trace. with_passages, without: the mean log-probability of the answer's tokens for the reader, in nats."""

    row: LogRow
    reader: str
    sentences: tuple[TracedSentence, ...] = ()
    effects: Mapping[int, float] = field(default_factory=dict)
    unread: Mapping[int, str] = field(default_factory=dict)
    problem: str = ""
    with_passages: float | None = None
    without: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def assessed(self) -> bool:
        return bool(self.sentences) and not self.problem

    @property
    def share(self) -> float | None:
        """The share of sentences that rest on a passage."""
        return sum(one.rests for one in self.sentences) / len(self.sentences) if self.assessed else None

    @property
    def weakest(self) -> TracedSentence | None:
        """The first sentence without a source, else the one that loses least without its passages."""
        nats = [
            max((use.nats for use in one.passages), default=-math.inf) if one.rests else -math.inf for one in self.sentences
        ]
        return self.sentences[int(np.argmin(nats))] if self.assessed else None

    @property
    def not_used(self) -> list[int]:
        """The passages that were read and on which no sentence rests."""
        used = {use.number for one in self.sentences for use in one.passages}
        return [number for number in self.effects if number not in used]

    @property
    def order(self) -> float | None:
        """Spearman's correlation of the passages' order with their effects: 1 where the first has most. None for fewer than
        three, or equal ones."""
        rho = spearman(-np.array([*self.effects]), np.array([*self.effects.values()]))
        return None if math.isnan(rho) else rho

    @property
    def implausible(self) -> bool:
        return self.with_passages is not None and self.with_passages < IMPLAUSIBLE


def traced(row: LogRow, answer: WholeAnswer, read: Sequence[int], unread: Mapping[int, str]) -> TracedRow:
    """Say what was found of a row.

    Args:
        row: of the log.
        answer: what is known of it; its documents are the passages that were read.
        read: their numbers, from 1, in the order of the documents.
        unread: the others, and why.
    """
    with_passages, without = _plausibility(answer)
    return TracedRow(
        row,
        answer.model,
        tuple(_sentences(row, answer, read)),
        effects=dict(zip(read, _effects(answer), strict=True)),
        unread=dict(unread),
        with_passages=with_passages,
        without=without,
        notes=answer.generated.notes,
    )


def _sentences(row: LogRow, answer: WholeAnswer, read: Sequence[int]) -> Iterator[TracedSentence]:
    """Yield what is said of each sentence that has a letter or a digit."""
    generated = answer.generated
    texts = [passage.text for passage in row.passages]
    missing = nowhere(of_tokens(generated.tokens, texts, answer.question.text(answer.tokens)))
    first = dict[str, int]()
    same = {number: first.setdefault(" ".join(one.text.split()), number) for number, one in enumerate(row.passages, start=1)}
    parts = [one for one in generated.sentences if any(map(str.isalnum, one.text))]
    written = [tuple(dict.fromkeys(read_markers(one.text)[1])) for one in parts]
    spans = _spans_in(row.answer, [one.text.strip() for one in parts])
    for number, (one, marks, span) in enumerate(zip(parts, written, spans, strict=True), start=1):
        uses, shares = tuple(_uses(one, answer, read, row)), _shares(one, answer, read)
        named = [same.get(mark, 0) for mark in marks]  # 0: not there
        yield TracedSentence(
            number=number,
            start=span.start,
            end=span.end,
            text=one.text.strip(),
            source=_source(uses, shares),
            passages=uses,
            shares=shares,
            written=marks,
            marker=_marker(named, [use.number for use in uses], read, any(written)),
            nowhere=tuple(instead(mention) for mention in missing if one.holds(mention)),
        )


def _spans_in(answer: str, texts: Sequence[str]) -> list[Span]:
    """Return where each of some texts stands in an answer, one behind the other. A tokenizer may have composed its letters
    (NFC), or parted its words anew: then by the letters alone."""
    composed, origins = "", list[int]()
    for match in _WITH_MARKS.finditer(answer):
        piece = unicodedata.normalize("NFC", match[0])
        origins += [match.start()] * len(piece)
        composed += piece
    bare = [(index, letter) for index, letter in enumerate(composed) if not letter.isspace()]
    letters, origins = "".join(letter for _, letter in bare), [*(origins[index] for index, _ in bare), len(answer)]
    spans, begin = list[Span](), 0
    for text in texts:
        wanted = "".join(unicodedata.normalize("NFC", text).split())
        start = max(begin, letters.find(wanted, begin))
        begin = min(start + len(wanted), len(letters))
        last = origins[begin - 1] if begin else 0
        end = next((origin for origin in origins[begin:] if origin > last), len(answer))
        spans.append(Span(origins[min(start, len(letters))], max(last + 1, len(answer[:end].rstrip()))))
    return spans


def _uses(sentence: AnswerSentence, answer: WholeAnswer, read: Sequence[int], row: LogRow) -> Iterator[PassageUse]:
    """Yield the passages on which a sentence rests, strongest first."""
    cited: list[tuple[int, float, float | None]]
    if sentence.citations is not None:
        cited = [(one.document, one.nats, one.level) for one in sentence.citations]
    else:  # no random level was asked for
        nats = sentence.by_document or ()
        words = {word.source for word in spelt([word for word in answer.generated.words if sentence.holds(word)])}
        losses = sorted((-value, number) for number, value in enumerate(nats, start=1) if f"document {number}" in words)
        cited = [(number, -value, None) for value, number in losses]
    for document, lost, level in cited:
        number = read[document - 1]
        best = _best(sentence, answer, document)
        yield PassageUse(number, row.passages[number - 1].id, lost, level, *(best or ()))


def _best(sentence: AnswerSentence, answer: WholeAnswer, document: int) -> tuple[int, str] | None:
    """Return the number, and the text, of the sentence of a document that a sentence of the answer loses most without."""
    left_out = answer.generated.matrix.get(SENTENCE)
    if left_out is None:
        return None
    losses = {
        unit.start: sum(row[sentence.start : sentence.end])
        for unit, row in zip(left_out.units, left_out.values, strict=True)
        if unit.document == document
    }
    if not losses or max(losses.values()) <= 0:
        return None
    spans = sentences_of(answer.tokens, answer.documents[document - 1])
    start = max(losses, key=losses.__getitem__)
    number = next((count for count, (first, end) in enumerate(spans, start=1) if first <= start < end), None)
    return None if number is None else (number, "".join(answer.tokens[slice(*spans[number - 1])]).strip())


def _shares(sentence: AnswerSentence, answer: WholeAnswer, read: Sequence[int]) -> dict[str, float]:
    """Return the shares of a sentence's words by what they rest on."""
    words = spelt([word for word in answer.generated.words if sentence.holds(word)])
    sources = [_passage(word.source, read) for word in words if word.source is not None]
    return {source: sources.count(source) / len(sources) for source in dict.fromkeys(sources)}


def _passage(source: str, read: Sequence[int]) -> str:
    """Return a word's source by the log's numbers."""
    kind, _, number = source.partition(" ")
    return f"passage {read[int(number) - 1]}" if number else kind


def _source(uses: Sequence[PassageUse], shares: Mapping[str, float]) -> str:
    if uses:
        return f"passage {uses[0].number}"
    return MEMORY if shares.get(MEMORY, 0) > 0.5 else UNCLEAR


def _marker(written: Sequence[int], used: Sequence[int], read: Sequence[int], marked: bool) -> str:
    """Judge a sentence's markers. written: what they name, 0 for what is not there. marked: whether the answer has any."""
    if not written:
        return MISSING if marked and used else ""
    if 0 in written:
        return WRONG
    if not set(written) <= set(read):
        return NOT_READ
    if not used:
        return NEEDLESS
    if not set(written) & set(used):
        return WRONG
    return RIGHT if set(written) <= set(used) else NEEDLESS


def _effects(answer: WholeAnswer) -> list[float]:
    """Return the nats that the whole answer loses without each document."""
    by_sentence = [one.by_document or (0.0,) * len(answer.documents) for one in answer.generated.sentences]
    return [float(sum(values)) for values in zip(*by_sentence, strict=True)] if answer.documents else []


def _plausibility(answer: WholeAnswer) -> tuple[float | None, float | None]:
    """Return the mean log-probability of the answer's tokens, with the documents and without any."""
    generated = answer.generated
    if not generated.probabilities:
        return None, None
    known = float(np.mean(np.log(np.maximum(generated.probabilities, 1e-30))))
    together = [word.together for word in generated.words if word.together is not None]
    if len(together) < len(generated.words):
        return known, None
    return known, known - sum(together) / len(generated.probabilities)
