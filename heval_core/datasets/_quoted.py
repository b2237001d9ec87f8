"""Answers that people wrote, with what each part of them is from: what data sets of such answers share."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from heval_core.records import Fact

# Where results name a regime: of documents that people answered from.
PEOPLE = "people"
# A part of a document: (document, first letter, last + 1), documents counted from 0.
DocumentSpan = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Quoted(Fact):
    """An answer that a person wrote, as `answer`. documents: the texts it was written from. spans: (start, end, document) of
    the answer's letters that were copied; documents are counted from 0."""

    documents: tuple[str, ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Supported(Quoted):
    """A claim as `answer`, and its page as the one document. support: sets of sentences, any one of which supports it."""

    support: tuple[tuple[DocumentSpan, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Stated(Quoted):
    """An answer of several statements. statements: (start, end) of its letters, and all sentences that support it; `spans`
    says which documents these are in."""

    statements: tuple[tuple[int, int, tuple[DocumentSpan, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Worded(Quoted):
    """A claim as `answer`, of which some words are unsupported. words: (start, end, whether nothing supports it)."""

    words: tuple[tuple[int, int, bool], ...] = ()


def window(sentences: Sequence[str], gold: Collection[int], letters: int) -> tuple[str, dict[int, int]]:
    """Return a part of a page, a line for each sentence, and where each sentence that is in it begins.

    Rule: sentences are taken by their distance to the nearest one of `gold`, the earlier first of two, while all of them have
    at most `letters` letters; those of `gold` are never left out. They stand in the page's order. Without gold it is the
    page's beginning, a sentence at least.

    >>> window(["One.", "Two.", "Three.", "Four."], {2}, 15)
    ('Two.\\nThree.', {1: 0, 2: 5})
    """
    nearest = sorted(gold) or [0]
    by_distance = sorted(range(len(sentences)), key=lambda number: (min(abs(number - one) for one in nearest), number))
    taken, length = set[int](), 0
    for number in by_distance:
        length += len(sentences[number].strip()) + 1
        if number not in gold and length > letters and taken:
            break
        taken |= {number} if sentences[number].strip() else set()
    text, starts = "", dict[int, int]()
    for number in sorted(taken):
        text += "\n" if text else ""
        starts[number] = len(text)
        text += sentences[number].strip()
    return text, starts


def sentence_spans(
    document: int, sentences: Sequence[str], starts: dict[int, int], numbers: Collection[int]
) -> tuple[DocumentSpan, ...]:
    """Return where some sentences stand in a part of a page. starts: of `window`."""
    return tuple((document, starts[n], starts[n] + len(sentences[n].strip())) for n in sorted(numbers) if n in starts)
