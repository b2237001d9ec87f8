"""A whole answer as a notebook, the command line and the page get it: `api.explain_answer` makes an `Answer`.

`Answer.record` is what is known of it as frozen records (`records.whole_answers`): what the worker sends, a page draws, and
`to_json` gives.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core.explaining.answer_steps import answer_steps, finished, tokenised
from heval_core.explaining.greedy_answer import GreedyAnswer, write
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import COMPARES, Generated, Wanted, WordSelection, short
from heval_core.figures.answer import answer_page, resting, sentences_of, spelt
from heval_core.figures.answer_changes import Change, changed_words
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.present.html import render
from heval_core.prompting.units import Matrix, Unit, indices_in
from heval_core.records import HEvalError, Span, TokenisedPrompt
from heval_core.records.whole_answers import (
    AnswerSentence,
    AnswerWord,
    Contrast,
    ExplainerScores,
    GeneratedAnswer,
    NamedSpan,
    PartScores,
    ScoredUnit,
    WholeAnswer,
)
from heval_core.texts.numbers_and_names import of_tokens


def explained_answer(lm: LanguageModel, request: Request, explainers: Iterable[Method], wanted: Wanted) -> Answer:
    """Return a whole answer, with all steps of `answer_steps` done."""
    *_, (_, generated) = answer_steps(lm, tokenised(lm, request), request.question, explainers, wanted)
    return Answer(generated, lm.template, request.names)


class WrittenAgain(NamedTuple):
    """before, after: (word, whether it is only there). said_so: the share of the words that went which were said to rest
    on the document that was changed; None where none went."""

    text: str
    stopped: str
    before: list[tuple[str, bool]]
    after: list[tuple[str, bool]]
    said_so: float | None


@dataclass(frozen=True, eq=False)
class Answer:
    """A whole answer and what its words rest on. A notebook shows it as *Your prompt* does.

    generated: all that is known of it. template: in which the model was asked. names: of the documents, "" for one without.
    """

    generated: Generated
    template: str
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The answer, without white space around it."""
        return self.generated.written.text.strip()

    @property
    def words(self) -> tuple[AnswerWord, ...]:
        """Its words: text, source (`document 1` …, `memory` or `unclear`), nats, and more. Together they spell it."""
        return self.record.generated.words

    @property
    def sentences(self) -> tuple[AnswerSentence, ...]:
        """Its sentences: text, citations (document, nats, level, spread), and more."""
        return self.record.generated.sentences

    @functools.cached_property
    def record(self) -> WholeAnswer:
        """The prompt, and all that is known of the answer, as frozen records."""
        prompt = self.generated.written.prompt
        named = zip_longest(prompt.documents, self.names)
        return WholeAnswer(
            model=self.generated.clean.lm.key,
            prompt=prompt.text,
            tokens=prompt.tokens,
            token_ids=prompt.ids,
            first_ranked=prompt.first_ranked,
            ranked_end=prompt.ranked.stop,
            documents=tuple(NamedSpan(span.start, span.end, name or None) for span, name in named),
            question=prompt.question,
            generated=record_of(self.generated),
        )

    def __repr__(self) -> str:
        model = self.generated.clean.lm.key
        refused = f"; refused: {', '.join(self.generated.refused)}" if self.generated.refused else ""
        return f"<Answer: {model} answers {self.text!r}; {resting(self.words)}{refused}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a frame of its own, which makes no request."""
        return render("framed.html", page=answer_page(self.record, self.record.question.text(self.record.tokens).strip()))

    def select(self, words: str | int | tuple[int, int]) -> WordSelection:
        """Select some words of the answer.

        Args:
            words: as the answer says them; or one by its number, or from a number up to another, counted from 0. Capitals do
                not matter, and whole words come first: `is` stands in `Lisbon` too.

        Returns:
            These words, and what is known of them.

        Raises:
            HEvalError: with what there is, for words that the answer does not have.
        """
        written = self.generated.written
        if isinstance(words, str):
            escaped, starts = re.escape(words.strip()), written.starts
            whole = rf"(?:\b|(?=\W)){escaped}(?:\b|(?<=\W))"
            match = re.search(whole, written.text, re.IGNORECASE) or re.search(escaped, written.text, re.IGNORECASE)
            begin, end = match.span() if match else (0, 0)
            chosen = [word for word in written.words if max(begin, starts[word.start]) < min(end, starts[word.end])]
        else:
            start, end = (words, words + 1) if isinstance(words, int) else words
            chosen = list(written.words[start:end]) if start >= 0 else []
        if not chosen:
            raise HEvalError(
                f"The answer has no words {words!r}; it has {len(written.words)} words, from 0: {written.text.strip()}"
            )
        return self.generated.of(written.span(chosen))

    def without(self, document: int, sentence: int | None = None, instead: str = "") -> WrittenAgain:
        """Write the answer again, without a document or without one of its sentences.

        Args:
            document: which, counted from 1 as in verdicts.
            sentence: which of its sentences, from 1; None for the whole document.
            instead: what stands there then.

        Returns:
            What the model writes then, beside this answer, word by word.

        Raises:
            HEvalError: for a document or sentence that is not there, and for an answer that was given: the model may write
                another one with all documents too.
        """
        prompt = self.generated.written.prompt
        if self.generated.written.given:
            raise HEvalError("The model did not write this answer; ask with generate=60 to see what changes in its own.")
        texts = [span.text(prompt.tokens).strip() for span in prompt.documents]
        if not 1 <= document <= len(texts):
            raise HEvalError(f"There is no document {document}; there are {len(texts)}, from 1.")
        number = len(sentences_of(prompt.tokens, self.record.documents[document - 1]))
        if sentence is not None and not 1 <= sentence <= number:
            raise HEvalError(f"Document {document} has no sentence {sentence}; it has {number}, from 1.")
        rest = Change(document - 1, None if sentence is None else sentence - 1, instead).applied(self.record)
        documents = [*texts[: document - 1], *([rest] if rest else []), *texts[document:]]
        question = prompt.question.text(prompt.tokens).strip()
        old, lm = self.generated, self.generated.clean.lm
        with lm.asked_in(self.template):
            clean = CleanPass(lm, [tokenised(lm, Request(tuple(documents), question))])
            *_, written = write(clean, old.wanted.generate, question)
        words = [[word.text(answer.tokens) for word in answer.words] for answer in (old.written, written)]
        before, after = changed_words(*words)
        removed = [old.of(word).source() for word, (_, changed) in zip(old.written.words, before, strict=True) if changed]
        said_so = [source is not None and source.source == f"document {document}" for source in removed]
        return WrittenAgain(written.text, written.stopped, before, after, sum(said_so) / len(said_so) if said_so else None)

    def sources(self) -> pd.DataFrame:
        """Return a row per word: what it rests on, and the nats that it loses without each document."""
        columns = ["text", "source", "nats", *(f"document {number}" for number in range(1, len(self.record.documents) + 1))]
        rows = [(word.text, word.source, word.nats, *(word.by_document or ())) for word in self.words]
        return self._named(pd.DataFrame(rows, columns=columns), "source")

    def citations(self) -> pd.DataFrame:
        """Return a row per sentence and document that it cites, strongest first, beside the random level and its spread."""
        rows = [
            {"sentence": number, "text": sentence.text.strip(), **asdict(cited)}
            for number, sentence in enumerate(self.sentences)
            for cited in sentence.citations or ()
        ]
        return self._named(pd.DataFrame(rows, columns=["sentence", "text", "document", "nats", "level", "spread"]), "document")

    def _named(self, frame: pd.DataFrame, column: str) -> pd.DataFrame:
        """Return a table with the names of the documents that a column gives by number, where documents have names."""
        names = {str(number): name for number, name in enumerate(self.names, start=1)}
        numbers = (str(value).rpartition(" ")[2] for value in frame[column])
        return frame.assign(name=[names.get(number, "") for number in numbers]) if any(self.names) else frame

    def not_in_documents(self) -> pd.DataFrame:
        """Return a row per number, date and name of the answer that stands in no document: whether the question has it, and a
        document, from 1, that says another, with what it says. A search, no trace; see `texts.numbers_and_names`."""
        absent = [one for one in self.record.generated.numbers_and_names if not one.documents]
        rows = [(one.text, one.asked, *(one.near or (None, None))) for one in absent]
        return pd.DataFrame(rows, columns=["text", "asked", "document", "says"])

    def to_frame(self, explainer: str = "document") -> pd.DataFrame:
        """Return a row per unit of the prompt that an explainer knows.

        Args:
            explainer: its key, one of those that explained the answer, or `document`.

        Returns:
            A table with a column for each word of the answer, or sentence, where the explainer scores sentences.

        Raises:
            HEvalError: for an explainer that has no scores here.
        """
        generated = self.generated
        if explainer not in generated.matrices:
            raise HEvalError(f"{explainer} has no scores here; there are: {', '.join(generated.matrices)}.")
        matrix, tokens = generated.matrices[explainer], generated.written.prompt.tokens
        parts = generated.written.sentences if matrix.columns == "sentence" else generated.written.words
        selections = [generated.of(part) for part in parts]
        scores = np.stack([selection.scores(explainer) for selection in selections], 1)
        units = [unit.text(tokens) for unit in matrix.units]
        return pd.DataFrame(scores, pd.Index(units, name="unit"), [selection.text for selection in selections]).reset_index()

    def to_json(self) -> dict[str, Any]:
        """Return the object that *Your prompt* keeps: the prompt, and as `generated` all that is known of the answer."""
        return asdict(self.record)


def record_of(generated: Generated) -> GeneratedAnswer:
    """Return what is known so far: `generated` of `precompute explain --format json`. What is not known yet is None."""
    written, prompt = generated.written, generated.written.prompt
    *documents, question = (span.text(prompt.tokens) for span in (*prompt.documents, prompt.question))
    dtype = str(generated.clean.lm.model.dtype).removeprefix("torch.")
    coarse = f"Computed in {dtype}, which is coarser than float32: small scores may differ."
    of_words, of_sentences = ([generated.of(part) for part in parts] for parts in (written.words, written.sentences))
    words = tuple(selection.word() for selection in of_words)
    return GeneratedAnswer(
        text=written.text,
        token_ids=written.ids,
        tokens=written.tokens,
        probabilities=short(written.probabilities),
        given=written.given,
        stopped=written.stopped,
        notes=(*written.notes, *(() if dtype == "float32" else (coarse,))),
        words=words,
        sentences=tuple(_sentence(selection, words) for selection in of_sentences),
        numbers_and_names=of_tokens(written.tokens, documents, question) if written.stopped else (),
        bounds=generated.wanted.bounds,
        matrix={key: _scores(generated, key) for key in generated.matrices},
        verdicts={
            "words": tuple(selection.verdict() for selection in of_words),
            "sentences": tuple(selection.verdict() for selection in of_sentences),
        },
        contrasts=tuple(_contrast(selection) for selection in of_words if selection.columns.start in generated.contrasts),
        refused=generated.refused,
    )


def resumed(lm: LanguageModel, prompt: TokenisedPrompt, known: WholeAnswer) -> Generated:
    """Return an answer so far as it takes to ask more about it: a pass, and nothing is written again.

    Raises HEvalError where the model cuts the prompt into other tokens than then.
    """
    if prompt.tokens != known.tokens:
        raise HEvalError(f"{lm.key} cuts this prompt into other tokens than when it was asked; click Explain to ask it again.")
    answer = known.generated
    written = GreedyAnswer(prompt, answer.token_ids, answer.tokens, answer.probabilities, answer.stopped, answer.given)
    generated, _ = finished(Generated(written, Wanted(), CleanPass(lm, [prompt])))
    return replace(
        generated,
        matrices={key: _matrix(scores) for key, scores in answer.matrix.items()},
        costs={key: (scores.seconds, scores.passes) for key, scores in answer.matrix.items()},
        contrasts={one.start: (np.array(one.values), one.seconds) for one in answer.contrasts},
        parts={
            key: {Span(part.start, part.end): np.array(part.values) for part in scores.parts}
            for key, scores in answer.matrix.items()
        },
        refused=answer.refused,
        drawn=np.zeros((0, len(answer.tokens))) if answer.sentences[0].citations is not None else None,
    )


def extended(known: WholeAnswer, generated: Generated) -> WholeAnswer:
    """Return an answer with what it was asked since it was `resumed`."""
    now = record_of(generated)
    more = {name: getattr(now, name) for name in ("matrix", "verdicts", "contrasts", "refused")}
    return replace(known, generated=replace(known.generated, **more))


def _matrix(scores: ExplainerScores) -> Matrix:
    units = tuple(Unit(unit.start, unit.end, f"document {unit.document}") for unit in scores.units)
    changed, before = (None if part is None else np.array(part) for part in (scores.changed, scores.said_before))
    values = np.array(scores.values, dtype=np.float32).reshape(len(units), -1)
    return Matrix(scores.unit, units, values, None if changed is None else changed.astype(bool), before, scores.columns)


def _sentence(selection: WordSelection, words: tuple[AnswerWord, ...]) -> AnswerSentence:
    generated, columns = selection.generated, selection.columns
    # Before random levels are known, only of an answer without documents.
    known = generated.drawn is not None or (generated.together is not None and not generated.documents)
    sources = Counter(word.source for word in spelt([word for word in words if word.start in columns.indices]))
    return AnswerSentence(
        start=columns.start,
        end=columns.end,
        text=selection.text,
        citations=tuple(selection.citations()) if known else None,
        by_document=None if generated.together is None else short(selection.by_document()),
        said_before=selection.said_before(),
        shares={source: count / sources.total() for source, count in sources.items() if source},
    )


def _contrast(selection: WordSelection) -> Contrast:
    start, end = selection.columns.start, selection.columns.end
    values, seconds = selection.generated.contrasts[start]  # of the ranked tokens
    against = selection.generated.rivals[start].text
    return Contrast(start, end, selection.text, COMPARES, against, seconds, short(values))


def _scores(generated: Generated, key: str) -> ExplainerScores:
    matrix, tokens = generated.matrices[key], generated.written.prompt.tokens
    numbers = indices_in(matrix.units, generated.documents) + 1
    seconds, passes = generated.costs[key]
    return ExplainerScores(
        unit=matrix.level,
        units=tuple(
            # Tokens of a screen that are one unit were not looked at one by one; those that are missing were not at all.
            ScoredUnit(unit.start, unit.end, int(number) or None, unit.text(tokens))
            for unit, number in zip(matrix.units, numbers, strict=True)
        ),
        columns=matrix.columns,
        values=short(matrix.values),
        changed=None if matrix.changed is None else tuple(map(tuple, matrix.changed.astype(int).tolist())),
        said_before=None if matrix.said_before is None else short(matrix.said_before),
        parts=tuple(
            PartScores(columns.start, columns.end, short(part)) for columns, part in generated.parts.get(key, {}).items()
        ),
        title=catalogue.method(key).title,
        seconds=seconds,
        passes=passes,
    )
