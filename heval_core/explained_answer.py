"""A whole answer explained: what a notebook and the command line ask of it. `explanation.explain` makes it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core import catalogue, protocols
from heval_core.citations.sentences import split
from heval_core.figures.answer import answer_page
from heval_core.generated import Generated, Wanted, explain_answer, tokenised
from heval_core.html import render
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.pipeline import Request
from heval_core.records import HEvalError
from heval_core.sources import Citation, changed_words
from heval_core.units import Matrix
from heval_core.writing import write


def explained_answer(
    lm: LanguageModel, request: Request, explainers: Iterable[protocols.Method], wanted: Wanted
) -> ExplainedAnswer:
    """A whole answer, with all steps of `explain_answer` done."""
    *_, (_, generated) = explain_answer(lm, tokenised(lm, request), request.question, explainers, wanted)
    return ExplainedAnswer(generated, lm.template)


class WrittenAgain(NamedTuple):
    """before, after: (word, whether it is only there). said_so: the share of the words that went which were said to come from
    the document that was changed; None where none went."""

    text: str
    stopped: str
    before: list[tuple[str, bool]]
    after: list[tuple[str, bool]]
    said_so: float | None


@dataclass(frozen=True, eq=False)
class ExplainedAnswer:
    """A whole answer and where its words came from. template: in which the model was asked."""

    generated: Generated
    template: str

    def __repr__(self) -> str:
        sources = Counter(self.sources()["source"])
        told = ", ".join(f"{count} from {source}" for source, count in sources.items())
        model, text = self.generated.clean.lm.key, self.generated.written.text.strip()
        return f"<ExplainedAnswer: {model} answers {text!r}; words: {told}>"

    def _repr_html_(self) -> str:
        """A notebook shows what *Your prompt* shows, in a frame of its own that makes no request."""
        result = self.to_json()
        asked = result["question"]
        page = answer_page(result, "".join(result["tokens"][asked["start"] : asked["end"]]).strip())
        return render("framed.html", page=page)

    def select(self, words: str | int | tuple[int, int]) -> Selection:
        """Some words of the answer: as it says them, one by its number, or from one number up to another, counted from 0.

        Raises HEvalError, with what there is, for words that the answer does not have.
        """
        written = self.generated.written
        starts = np.cumsum([0, *(len(token) for token in written.tokens)])
        if isinstance(words, str):
            place = written.text.lower().find(words.strip().lower())
            first, last = np.searchsorted(starts, (place, place + len(words.strip()) - 1), "right") - 1
            chosen = [
                word for word in written.words if word.start <= last and first < word.end and place >= 0 and words.strip()
            ]
        else:
            start, end = (words, words + 1) if isinstance(words, int) else words
            chosen = list(written.words[start:end]) if start >= 0 else []
        if not chosen:
            raise HEvalError(
                f"The answer has no words {words!r}; it has {len(written.words)} words, from 0: {written.text.strip()}"
            )
        return Selection(self.generated, range(chosen[0].start, chosen[-1].end))

    def without(self, document: int, sentence: int | None = None, instead: str = "") -> WrittenAgain:
        """The answer that the model writes without a document, or without one of its sentences, both counted from 1.

        instead: what stands there then. Raises HEvalError for a document or sentence that is not there.
        """
        prompt = self.generated.written.prompt
        texts = ["".join(prompt.tokens[own.start : own.end]).strip() for own in prompt.documents]
        if not 1 <= document <= len(texts):
            raise HEvalError(f"There is no document {document}; there are {len(texts)}, from 1.")
        own = split(texts[document - 1])
        if sentence is not None and not 1 <= sentence <= len(own):
            raise HEvalError(f"Document {document} has no sentence {sentence}; it has {len(own)}, from 1.")
        place = slice(None) if sentence is None else slice(sentence - 1, sentence)
        space = own[sentence - 1][len(own[sentence - 1].rstrip()) :] if sentence and instead.strip() else ""
        own[place] = [instead.strip() + space]
        rest = "".join(own).strip()
        kept = [*texts[: document - 1], *([rest] if rest else []), *texts[document:]]
        question = "".join(prompt.tokens[prompt.question.start : prompt.question.end]).strip()
        found, lm = self.generated, self.generated.clean.lm
        with lm.asked_in(self.template):
            clean = CleanPass(lm, [tokenised(lm, Request(tuple(kept), question))])
            *_, written = write(clean, found.wanted.generate, question)
        both = [["".join(one.tokens[own.start : own.end]) for own in one.words] for one in (found.written, written)]
        before, after = changed_words(*both)
        gone = [found.source(own.indices) for own, (_, changed) in zip(found.written.words, before, strict=True) if changed]
        said_so = [own is not None and own.source == f"document {document}" for own in gone]
        return WrittenAgain(written.text, written.stopped, before, after, sum(said_so) / len(said_so) if said_so else None)

    def sources(self) -> pd.DataFrame:
        """One row per word: where it came from, and the nats that it loses without each document."""
        return pd.DataFrame([_source_row(self.select(place)) for place in range(len(self.generated.written.words))])

    def citations(self) -> pd.DataFrame:
        """One row per sentence and document that it cites, strongest first, beside the random level."""
        sentences = [Selection(self.generated, own.indices) for own in self.generated.written.sentences]
        rows = [
            {"sentence": number, "text": own.text.strip(), **cited._asdict()}
            for number, own in enumerate(sentences)
            for cited in own.citations()
        ]
        return pd.DataFrame(rows, columns=["sentence", "text", "document", "nats", "level"])

    def to_frame(self, explainer: str = "document") -> pd.DataFrame:
        """One row per unit of the prompt that an explainer knows, with its score for each word of the answer, or sentence.

        Raises HEvalError for an explainer that was not asked.
        """
        generated = self.generated
        if explainer not in generated.matrices:
            raise HEvalError(f"{explainer} has no scores here; there are: {', '.join(generated.matrices)}.")
        matrix, tokens = generated.matrices[explainer], generated.written.prompt.tokens
        parts = generated.written.sentences if matrix.columns == "sentence" else generated.written.words
        each = [Selection(generated, own.indices) for own in parts]
        scores = np.stack([own.scores(explainer) for own in each], 1)
        units = ["".join(tokens[own.start : own.end]) for own in matrix.units]
        return pd.DataFrame(scores, pd.Index(units, name="unit"), [own.text for own in each]).reset_index()

    def to_json(self) -> dict[str, Any]:
        """The prompt, and as `generated` all that is known of the answer: see `Generated.to_json`."""
        prompt = self.generated.written.prompt
        return {"model": self.generated.clean.lm.key, **prompt.to_json(), "generated": self.generated.to_json()}


@dataclass(frozen=True, eq=False)
class Selection:
    """Some words of an answer. columns: their tokens."""

    generated: Generated
    columns: range

    @property
    def text(self) -> str:
        return "".join(self.generated.written.tokens[self.columns.start : self.columns.stop])

    def scores(self, explainer: str) -> np.ndarray:
        """(U,) an explainer's scores for these words: sums of its columns. One of sentences is asked now for anything else."""
        found = self.generated.scores(explainer, self.columns)
        return self.generated.asked_now(explainer, self.columns) if found is None else found

    def against(self, other: str, explainer: str = "cgim") -> np.ndarray:
        """(U,) an explainer's scores for the first of these words' tokens, and against the first one of another text.

        Raises HEvalError where both begin alike, and for an explainer that does not compare.
        """
        found, (own, *_) = self.generated, self.columns
        written, lm = found.written, found.clean.lm
        space = " " * written.tokens[own][:1].isspace()
        ids = lm.tokenizer(space + other.strip(), add_special_tokens=False, verbose=False).input_ids
        if not ids or ids[0] == written.ids[own]:
            raise HEvalError(
                f"{self.text.strip()!r} and {other.strip()!r} begin with the same token: there is nothing to compare."
            )
        target = dataclasses.replace(written.target.part(range(own, own + 1)), foils=(ids[0],), foil_kind="another text")
        (scored,) = catalogue.method(explainer).explain(found.clean, [target])
        return Matrix.of_tokens(found.clean.prompts[0], scored.scores[:, None]).values[:, 0]

    def sources(self) -> pd.DataFrame:
        """One row: where these words came from, and the nats that they lose without each document."""
        return pd.DataFrame([_source_row(self)])

    def citations(self) -> list[Citation]:
        """The documents that these words cite, strongest first."""
        return self.generated.citations(self.columns) or []

    def verdict(self) -> dict[str, Any]:
        """Is it true? See `heval_core.sources.verdict`."""
        return self.generated.verdict(self.columns)

    def to_json(self) -> dict[str, Any]:
        """What `precompute explain --select` prints."""
        cited = [own._asdict() for own in self.citations()]
        own = {"start": self.columns.start, "end": self.columns.stop, **_source_row(self), "citations": cited}
        return own | {"said_before": self.generated.said_before(self.columns), "verdict": self.verdict()}


def _source_row(selection: Selection) -> dict[str, Any]:
    generated, columns = selection.generated, selection.columns
    source = generated.source(columns)
    assert source is not None
    nats = {f"document {number}": float(own) for number, own in enumerate(generated.by_document(columns), start=1)}
    return {"text": selection.text, "source": source.source, "nats": source.nats, **nats}
