"""Answers that people wrote, read by a model: what each explainer and control says that their parts are from.

A *sentence* is from the documents of which it has a copied span; every document competes. A copied *span* is from those
sentences of its document that have its whole words; all sentences of all documents compete. A *claim*, an answer as a whole,
is from any one of the sets of sentences that people found to support it. What is from everything, or from nothing that can be
found, is left out.
The model reads the answer after its prompt (teacher forcing). A score of several
tokens is the sum of theirs, that of a document the sum over its sentences; an explainer that knows documents alone gives a
document's score to each of its sentences. Controls are annotators, which see the texts and no model.
Departure: `minilm` is asked where its package is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from heval_core.citations.records import CitedSentence, Claim, Explained, Passage, Question
from heval_core.explainers.shared.left_out import units
from heval_core.explaining.answer_steps import columns_of, matrix_of, tokenised
from heval_core.explaining.greedy_answer import GreedyAnswer, given
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import with_foils
from heval_core.lm.clean_pass import CleanPass
from heval_core.plugins import catalogue
from heval_core.prompting.units import Unit, indices_in
from heval_core.records import TEXT_CONTROLS, HEvalError, Target
from heval_core.statistics.scores import round_keeping_ranks

if TYPE_CHECKING:
    from heval_core.datasets._quoted import Quoted
    from heval_core.lm.model import LanguageModel
    from heval_core.plugins.protocols import Annotator, Method


@dataclass(frozen=True)
class QuotedPart:
    """kind: sentence, span or claim. place: its number among these. columns: its tokens. gold: where it is from, of documents
    or of their sentences. copied: the share of its words that stand in its documents."""

    kind: str
    place: int
    columns: range
    gold: tuple[int, ...]
    copied: float


@dataclass(frozen=True, eq=False)
class Reading:
    """An answer after its prompt. sentences: of the documents. parts: those that are from somewhere, and not from all."""

    clean: CleanPass
    target: Target
    written: GreedyAnswer
    sentences: tuple[Unit, ...]
    parts: tuple[QuotedPart, ...]

    def text(self, columns: range) -> str:
        return "".join(self.written.tokens[columns.start : columns.stop]).strip()


def read(lm: LanguageModel, quoted: Quoted) -> Reading:
    """Read an answer. Raises HEvalError for a prompt, or an answer, that is too long for the model."""
    first = CleanPass(lm, [tokenised(lm, Request(quoted.documents, quoted.question))])
    written = given(first, quoted.answer)
    clean = written.after(first)
    sentences = units(clean.prompts[0], "sentence", written.target)
    parts = [*_sentences(quoted, written), *_spans(quoted, written, sentences), *_claims(quoted, written, sentences)]
    return Reading(clean, with_foils(clean, written.target), written, sentences, tuple(parts))


def _starts(written: GreedyAnswer) -> list[int]:
    """Return where each token begins in the answer, and the last one ends, in letters; white space before it does not
    count.
    """
    before = len(written.text) - len(written.text.lstrip())
    return [start - before for start in written.starts]


def _sentences(quoted: Quoted, written: GreedyAnswer) -> Iterator[QuotedPart]:
    starts = _starts(written)
    for number, unit in enumerate(written.sentences):
        start, end = starts[unit.start], starts[unit.end]
        gold = {document for first, last, document in quoted.spans if first < end and last > start}
        if 0 < len(gold) < len(quoted.documents):
            words, stated = _words(quoted.answer[max(0, start) : end]), {w for d in gold for w in _words(quoted.documents[d])}
            copied = sum(word in stated for word in words) / max(1, len(words))
            yield QuotedPart("sentence", number, unit.indices, tuple(sorted(gold)), copied)


def _spans(quoted: Quoted, written: GreedyAnswer, sentences: Sequence[Unit]) -> Iterator[QuotedPart]:
    starts, tokens = _starts(written), written.prompt.tokens
    for index, (start, end, document) in enumerate(quoted.spans):
        first, last = np.searchsorted(starts, (start, end - 1), "right") - 1
        span = written.prompt.documents[document]
        letters = [0, *accumulate(map(len, tokens[span.start : span.end]))]
        words = r"\s+".join(map(re.escape, quoted.answer[start:end].strip(" .,;:!?").split()))
        gold = {
            number
            for match in re.finditer(rf"(?!\B\w){words}(?<!\w\B)", span.text(tokens), re.IGNORECASE)
            if words
            for number, unit in enumerate(sentences)
            if span.start <= unit.start < span.end
            and letters[unit.start - span.start] < match.end()
            and letters[unit.end - span.start] > match.start()
        }
        if 0 < len(gold) < len(sentences):
            yield QuotedPart("span", index, range(int(first), int(last) + 1), tuple(sorted(gold)), 1.0)


def _claims(quoted: Quoted, written: GreedyAnswer, sentences: Sequence[Unit]) -> Iterator[QuotedPart]:
    """Yield the whole answer once for each set of sentences that supports it."""
    tokens = written.prompt.tokens
    stated = {word for document in quoted.documents for word in _words(document)}
    words = _words(quoted.answer)
    copied = sum(word in stated for word in words) / max(1, len(words))
    for number, support in enumerate(getattr(quoted, "support", ())):
        gold = set[int]()
        for document, first, last in support:
            span = written.prompt.documents[document]
            text = span.text(tokens)
            before = len(text) - len(text.lstrip())
            ends = [0, *accumulate(map(len, tokens[span.start : span.end]))]
            for index, unit in enumerate(sentences):
                inside = span.start <= unit.start < span.end
                if inside and ends[unit.start - span.start] < last + before and ends[unit.end - span.start] > first + before:
                    gold.add(index)
        if 0 < len(gold) < len(sentences):
            yield QuotedPart("claim", number, range(len(written.ids)), tuple(sorted(gold)), copied)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def by_explainer(reading: Reading, explainer: Method) -> list[np.ndarray]:
    """Return the scores of each part: of all documents for a sentence, of all their sentences for a span.

    Raises HEvalError where the explainer has none.
    """
    parts, documents = reading.parts, reading.written.prompt.documents
    whole = columns_of(explainer) == "sentence"
    separate = list(dict.fromkeys(part.columns for part in parts))
    ranges = separate if whole else [sentence.indices for sentence in reading.written.sentences]
    if not parts:
        return []
    work = partial(matrix_of, explainer, reading.clean, reading.target, ranges)
    matrix = reading.clean.lm.budget.within(reading.clean.length, work)
    of_documents = matrix.within(documents, "document").values
    if matrix.level == "document":
        of_sentences = of_documents[indices_in(reading.sentences, documents)]
    else:
        of_sentences = matrix.within(reading.sentences, "sentence").values
    scores = []
    for part in parts:
        columns = [separate.index(part.columns)] if whole else part.columns
        scores.append((of_documents if part.kind == "sentence" else of_sentences)[:, columns].sum(1))
    return scores


def by_annotator(reading: Reading, annotator: Annotator, quoted: Quoted) -> list[np.ndarray]:
    """Score as `by_explainer`. Raises HEvalError where the annotator has no scores."""
    tokens = reading.written.prompt.tokens
    inside = [unit.text(tokens).strip() for unit in reading.sentences]
    spans = [part for part in reading.parts if part.kind != "sentence"]
    sentences = [reading.text(unit.indices) for unit in reading.written.sentences]
    of_documents = _annotated(annotator, quoted, quoted.documents, sentences)
    of_sentences = _annotated(annotator, quoted, inside, [reading.text(span.columns) for span in spans])
    by_span = {part: of_sentences[:, number] for number, part in enumerate(spans)}
    return [by_span[part] if part in by_span else of_documents[:, part.place] for part in reading.parts]


def _annotated(annotator: Annotator, quoted: Quoted, passages: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """Compute an annotator's scores of each text for each passage, (K, S)."""
    numbered = tuple(Passage(number, text) for number, text in enumerate(passages, start=1))
    sentences = tuple(CitedSentence(text, text, ()) for text in texts)
    claim = Claim(quoted.id, quoted.question, "", numbered)
    explained = Explained(claim, "people", "all", tuple(range(1, len(numbered) + 1)), sentences)
    choices = annotator.annotate([Question(explained, source.number, tuple(texts), frozenset()) for source in numbered], None)
    if problem := next((choice.problem for choice in choices if choice.scores is None), ""):
        raise HEvalError(problem)
    return np.array([choice.scores for choice in choices], dtype=np.float32).reshape(len(numbered), len(texts))


def rows(reading: Reading, key: str, quoted: Quoted) -> list[dict[str, Any]]:
    """Return rows of the table `quoted`.

    key: of an explainer, or of one of TEXT_CONTROLS. Raises HEvalError without scores.
    """
    if key in TEXT_CONTROLS:
        scores = by_annotator(reading, catalogue.find("annotator", key), quoted)
    else:
        scores = by_explainer(reading, catalogue.method(key))
    return [
        {"part": part.kind, "place": part.place, "gold": part.gold, "copied": part.copied, "scores": round_keeping_ranks(row)}
        for part, row in zip(reading.parts, scores, strict=True)
    ]


def explains(explainer: Method) -> bool:
    """Return whether it explains whole answers."""
    try:
        columns_of(explainer)
    except HEvalError:
        return False
    return True
