"""Answers that people wrote, read by a model: what each explainer and control says that their parts are from.

A *sentence* is from the documents of which it has a copied span; every document competes. A copied *span* is from those
sentences of its document that have its whole words; all sentences of all documents compete. A *claim*, an answer as a whole,
is from any one of the sets of sentences that people found to support it, a *statement* from those that they marked for it.
What is from everything, or from nothing that can be found, is left out.
The model reads the answer after its prompt (teacher forcing). A score of several tokens is the sum of theirs, that of a
document the sum over its sentences; an explainer that knows documents alone gives a document's score to each of its
sentences. Controls are annotators, which see the texts and no model.
The *words* of a claim, of which people said which nothing supports, are scored by how little does: minus the highest score of
any sentence. WORD_VERDICTS say it too: `trace`, whether a word rests on no document (memory or unclear, as a log's trace says,
`word_origins`); `surprise`, how improbable it is; `nowhere`, whether it is a number or name that stands in no document.
Departure: `minilm` is asked where its package is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from heval_core.citations.records import CitedSentence, Claim, Explained, Passage, Question
from heval_core.datasets._quoted import DocumentSpan, Quoted, Stated, Supported, Worded
from heval_core.explainers.shared.left_out import units
from heval_core.explaining.answer_steps import NOW, answer_steps, columns_of, matrix_of, tokenised
from heval_core.explaining.greedy_answer import GreedyAnswer, given
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import Wanted, with_foils
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.targets import in_float64
from heval_core.plugins import catalogue
from heval_core.prompting.units import Unit, indices_in
from heval_core.records import TEXT_CONTROLS, WORD_VERDICTS, HEvalError, Span, Target
from heval_core.statistics.scores import round_keeping_ranks
from heval_core.texts.numbers_and_names import nowhere, of_tokens

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel
    from heval_core.plugins.protocols import Annotator, Method


@dataclass(frozen=True)
class QuotedPart:
    """kind: sentence, span, claim, statement or words. place: its number among these. columns: its tokens. gold: where it is
    from, of documents or of their sentences; of words the numbers of those that nothing supports. copied: the share of its
    words that stand in its documents. words: the tokens of each, and its text."""

    kind: str
    place: int
    columns: range
    gold: tuple[int, ...]
    copied: float
    words: tuple[tuple[range, str], ...] = ()

    @property
    def separate(self) -> list[range]:
        """The tokens that are scored by themselves."""
        return [columns for columns, _ in self.words] or [self.columns]


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
    parts = [*_sentences(quoted, written), *_spans(quoted, written, sentences)]
    parts += [*_supported(quoted, written, sentences), *_words_of(quoted, written)]
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
            copied = _shared(quoted.answer[max(0, start) : end], [quoted.documents[document] for document in gold])
            yield QuotedPart("sentence", number, unit.indices, tuple(sorted(gold)), copied)


def _spans(quoted: Quoted, written: GreedyAnswer, sentences: Sequence[Unit]) -> Iterator[QuotedPart]:
    starts, tokens = _starts(written), written.prompt.tokens
    for index, (start, end, document) in enumerate(() if isinstance(quoted, Stated) else quoted.spans):
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
            yield QuotedPart("span", index, _columns(starts, start, end), tuple(sorted(gold)), 1.0)


def _columns(starts: Sequence[int], start: int, end: int) -> range:
    """Return the tokens that have some letters. starts: of `_starts`."""
    first, last = np.searchsorted(starts, (start, end - 1), "right") - 1
    return range(int(first), int(last) + 1)


def _supported(quoted: Quoted, written: GreedyAnswer, sentences: Sequence[Unit]) -> Iterator[QuotedPart]:
    """Yield a claim once for each set of sentences that supports it, and each statement."""
    parts = [("claim", 0, len(quoted.answer), spans) for spans in quoted.support] if isinstance(quoted, Supported) else []
    parts += [("statement", *statement) for statement in quoted.statements] if isinstance(quoted, Stated) else []
    starts = _starts(written)
    for number, (kind, start, end, spans) in enumerate(parts):
        gold = {index for span in spans for index in _sentences_at(span, written, sentences)}
        if 0 < len(gold) < len(sentences):
            columns = range(len(written.ids)) if kind == "claim" else _columns(starts, start, end)
            copied = _shared(quoted.answer[start:end], quoted.documents)
            yield QuotedPart(kind, number, columns, tuple(sorted(gold)), copied)


def _sentences_at(part: DocumentSpan, written: GreedyAnswer, sentences: Sequence[Unit]) -> Iterator[int]:
    """Yield the numbers of the sentences that have letters of a part of a document."""
    document, first, last = part
    span, tokens = written.prompt.documents[document], written.prompt.tokens
    text = span.text(tokens)
    before = len(text) - len(text.lstrip())
    ends = [0, *accumulate(map(len, tokens[span.start : span.end]))]
    for index, unit in enumerate(sentences):
        inside = span.start <= unit.start < span.end
        if inside and ends[unit.start - span.start] < last + before and ends[unit.end - span.start] > first + before:
            yield index


def _words_of(quoted: Quoted, written: GreedyAnswer) -> Iterator[QuotedPart]:
    """Yield the words of a claim, where people said of each whether anything supports it."""
    if isinstance(quoted, Worded) and quoted.words:
        starts = _starts(written)
        words = tuple((_columns(starts, start, end), quoted.answer[start:end]) for start, end, _ in quoted.words)
        gold = tuple(number for number, (*_, alone) in enumerate(quoted.words) if alone)
        copied = _shared(quoted.answer, quoted.documents)
        yield QuotedPart("words", 0, range(len(written.ids)), gold, copied, words)


def _shared(text: str, documents: Sequence[str]) -> float:
    """Return the share of a text's words that stand in the documents."""
    stated, words = {word for document in documents for word in _words(document)}, _words(text)
    return sum(word in stated for word in words) / max(1, len(words))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def by_explainer(reading: Reading, explainer: Method) -> list[np.ndarray]:
    """Return the scores of each part: of all documents for a sentence, of each of the words, else of all sentences.

    Raises HEvalError where the explainer has none.
    """
    parts, documents = reading.parts, reading.written.prompt.documents
    whole = columns_of(explainer) == "sentence"
    separate = list(dict.fromkeys(columns for part in parts for columns in part.separate))
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
        competing = of_documents if part.kind == "sentence" else of_sentences
        each = [competing[:, [separate.index(columns)] if whole else columns].sum(1) for columns in part.separate]
        scores.append(_support(each) if part.words else each[0])
    return scores


def _support(of_words: Sequence[np.ndarray]) -> np.ndarray:
    """Return how little supports each word: minus the highest of its (S,) scores."""
    return -np.array([scores.max() for scores in of_words])


def by_annotator(reading: Reading, annotator: Annotator, quoted: Quoted) -> list[np.ndarray]:
    """Score as `by_explainer`. Raises HEvalError where the annotator has no scores."""
    tokens = reading.written.prompt.tokens
    inside = [unit.text(tokens).strip() for unit in reading.sentences]
    spans = [part for part in reading.parts if part.kind != "sentence"]
    sentences = [reading.text(unit.indices) for unit in reading.written.sentences]
    of_documents = _annotated(annotator, quoted, quoted.documents, sentences)
    texts = [text for part in spans for text in ([word for _, word in part.words] or [reading.text(part.columns)])]
    each = iter(_annotated(annotator, quoted, inside, texts).T)
    by_span = {part: [next(each) for _ in part.separate] for part in spans}
    of_parts = {part: _support(scores) if part.words else scores[0] for part, scores in by_span.items()}
    return [of_parts[part] if part in of_parts else of_documents[:, part.place] for part in reading.parts]


def by_verdict(reading: Reading, key: str, quoted: Quoted) -> list[np.ndarray]:
    """Score words, by one of WORD_VERDICTS: 0 for one that rests on nothing, else -1; or in nats how improbable it is."""
    written, clean = reading.written, reading.clean
    words = [columns for part in reading.parts if part.words for columns in part.separate]
    if key == "trace":
        wanted = Wanted(answer=quoted.answer, thrifty=True, earlier=False)
        steps = answer_steps(clean.lm, written.prompt, quoted.question, (), wanted)
        (*_, generated) = (known for step, known in takewhile(lambda pair: pair[0] != f"{NOW}sentence", steps))
        sources = [generated.of(Span(columns.start, columns.stop)).source() for columns in words]
        values = np.array([-1.0 if source and source.source.startswith("document") else 0.0 for source in sources])
    elif key == "surprise":
        logprobs = in_float64(clean.logits_at(reading.target.positions)[0]).log_softmax(-1)
        logprobs_of = np.array([float(row[token]) for row, token in zip(logprobs, reading.target.ids, strict=True)])
        values = np.array([-logprobs_of[columns.start : columns.stop].sum() for columns in words])
    else:
        # The question is none that somebody asked: a name that stands in it alone stands in no document.
        mentions = of_tokens(written.tokens, quoted.documents)
        lost = [range(one.start, one.end) for one in nowhere(mentions)]
        values = np.array([0.0 if any(set(columns) & set(one) for one in lost) else -1.0 for columns in words])
    return [values] if words else []


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

    key: of an explainer, or one of TEXT_CONTROLS or WORD_VERDICTS. Raises HEvalError without scores.
    """
    if key in WORD_VERDICTS:
        scores = by_verdict(reading, key, quoted)
    elif key in TEXT_CONTROLS:
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
