"""A whole answer explained: what a notebook and the command line ask of it. `explanation.explain` makes it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heval_core.explaining.arguments import request_of
from heval_core.explaining.greedy_answer import Written, write
from heval_core.explaining.pipeline import Request
from heval_core.explaining.whole_answer import (
    COMPARES,
    Generated,
    Selection,
    Wanted,
    explain_answer,
    explained_by,
    finished,
    tokenised,
)
from heval_core.explaining.word_origins import changed_words, in_place_of
from heval_core.figures.answer import answer_page, resting, spelt
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue, protocols
from heval_core.present.html import render
from heval_core.prompting.units import Matrix, Unit, indices_in, units_of
from heval_core.records import HEvalError, Span, TokenisedPrompt
from heval_core.texts.numbers_and_names import of_tokens


def explained_answer(
    lm: LanguageModel, request: Request, explainers: Iterable[protocols.Method], wanted: Wanted
) -> ExplainedAnswer:
    """A whole answer, with all steps of `explain_answer` done."""
    *_, (_, generated) = explain_answer(lm, tokenised(lm, request), request.question, explainers, wanted)
    return ExplainedAnswer(generated, lm.template, request.names)


class WrittenAgain(NamedTuple):
    """before, after: (word, whether it is only there). said_so: the share of the words that went which were said to rest
    on the document that was changed; None where none went."""

    text: str
    stopped: str
    before: list[tuple[str, bool]]
    after: list[tuple[str, bool]]
    said_so: float | None


@dataclass(frozen=True, eq=False)
class ExplainedAnswer:
    """A whole answer and what its words rest on. template: in which the model was asked. names: of the documents."""

    generated: Generated
    template: str
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        model, text = self.generated.clean.lm.key, self.generated.written.text.strip()
        refused = f"; refused: {', '.join(self.generated.refused)}" if self.generated.refused else ""
        return f"<ExplainedAnswer: {model} answers {text!r}; {resting(self.sources().to_dict('records'))}{refused}>"

    def _repr_html_(self) -> str:
        """A notebook shows what *Your prompt* shows, in a frame of its own that makes no request."""
        result = self.to_json()
        question = result["question"]
        return render("framed.html", page=answer_page(result, Span(**question).text(result["tokens"]).strip()))

    def select(self, words: str | int | tuple[int, int]) -> Selection:
        """Some words of the answer: as it says them, one by its number, or from one number up to another, counted from 0.

        Capitals do not matter, and whole words come first: `is` stands in `Lisbon` too. Raises HEvalError, with what there is,
        for words that the answer does not have.
        """
        written = self.generated.written
        if isinstance(words, str):
            said, starts = re.escape(words.strip()), written.starts
            whole = rf"(?:\b|(?=\W)){said}(?:\b|(?<=\W))"
            found = re.search(whole, written.text, re.IGNORECASE) or re.search(said, written.text, re.IGNORECASE)
            begin, end = found.span() if found else (0, 0)
            chosen = [own for own in written.words if max(begin, starts[own.start]) < min(end, starts[own.end])]
        else:
            start, end = (words, words + 1) if isinstance(words, int) else words
            chosen = list(written.words[start:end]) if start >= 0 else []
        if not chosen:
            raise HEvalError(
                f"The answer has no words {words!r}; it has {len(written.words)} words, from 0: {written.text.strip()}"
            )
        return self.generated.of(written.span(chosen))

    def without(self, document: int, sentence: int | None = None, instead: str = "") -> WrittenAgain:
        """The answer that the model writes without a document, or without one of its sentences, counted from 1 as in verdicts.

        instead: what stands there then. Raises HEvalError for a document or sentence that is not there, and for an answer that
        was given: the model may write another one with all documents too.
        """
        prompt = self.generated.written.prompt
        if self.generated.written.given:
            raise HEvalError("The model did not write this answer; ask with generate=60 to see what changes in its own.")
        texts = [span.text(prompt.tokens).strip() for span in prompt.documents]
        if not 1 <= document <= len(texts):
            raise HEvalError(f"There is no document {document}; there are {len(texts)}, from 1.")
        tokens = prompt.tokens[prompt.documents[document - 1].start : prompt.documents[document - 1].end]
        sentences = [unit.text(tokens) for unit in units_of(tokens, [""] * len(tokens), "sentence")]
        if sentence is not None and not 1 <= sentence <= len(sentences):
            raise HEvalError(f"Document {document} has no sentence {sentence}; it has {len(sentences)}, from 1.")
        first, last = (0, len(sentences)) if sentence is None else (sentence - 1, sentence)
        before_it, part, after_it = map("".join, (sentences[:first], sentences[first:last], sentences[last:]))
        rest = in_place_of(before_it, part, after_it, instead)
        kept = [*texts[: document - 1], *([rest] if rest else []), *texts[document:]]
        question = prompt.question.text(prompt.tokens).strip()
        old, lm = self.generated, self.generated.clean.lm
        with lm.asked_in(self.template):
            clean = CleanPass(lm, [tokenised(lm, Request(tuple(kept), question))])
            *_, written = write(clean, old.wanted.generate, question)
        words = [[word.text(answer.tokens) for word in answer.words] for answer in (old.written, written)]
        before, after = changed_words(*words)
        gone = [old.of(word).source() for word, (_, changed) in zip(old.written.words, before, strict=True) if changed]
        said_so = [source is not None and source.source == f"document {document}" for source in gone]
        return WrittenAgain(written.text, written.stopped, before, after, sum(said_so) / len(said_so) if said_so else None)

    def sources(self) -> pd.DataFrame:
        """One row per word: what it rests on, and the nats that it loses without each document."""
        rows = [self.select(index).row() for index in range(len(self.generated.written.words))]
        return self._named(pd.DataFrame(rows), "source")

    def citations(self) -> pd.DataFrame:
        """One row per sentence and document that it cites, strongest first, beside the random level."""
        rows = [
            {"sentence": number, "text": sentence.text.strip(), **cited._asdict()}
            for number, sentence in enumerate(map(self.generated.of, self.generated.written.sentences))
            for cited in sentence.citations()
        ]
        return self._named(pd.DataFrame(rows, columns=["sentence", "text", "document", "nats", "level"]), "document")

    def _named(self, frame: pd.DataFrame, column: str) -> pd.DataFrame:
        """With the names of the documents that a column gives by number, where documents have names."""
        names = {str(number): name for number, name in enumerate(self.names, start=1)}
        numbers = (str(value).rpartition(" ")[2] for value in frame[column])
        return frame.assign(name=[names.get(number, "") for number in numbers]) if any(self.names) else frame

    def not_in_documents(self) -> pd.DataFrame:
        """One row per number, date and name of the answer that stands in no document: whether the question has it, and a
        document, from 1, that says another, with what it says. A search, no trace; see `texts.numbers_and_names`."""
        rows = [one for one in numbers_and_names(self.generated.written) if not one["documents"]]
        said = [{**one, **dict(zip(("document", "says"), one["near"] or (None, None), strict=True))} for one in rows]
        return pd.DataFrame(said, columns=["text", "asked", "document", "says"])

    def to_frame(self, explainer: str = "document") -> pd.DataFrame:
        """One row per unit of the prompt that an explainer knows, with its score for each word of the answer, or sentence.

        Raises HEvalError for an explainer that was not asked.
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
        """The prompt, and as `generated` all that is known of the answer: see `answer_json`."""
        prompt = self.generated.written.prompt
        found = {"model": self.generated.clean.lm.key, **prompt.to_json(), "generated": answer_json(self.generated)}
        for document, name in zip(found["documents"], self.names, strict=False):
            document |= {"name": name} if name else {}
        return found


def numbers_and_names(written: Written) -> list[dict[str, Any]]:
    """Those of an answer, and where each stands: see `heval_core.texts.numbers_and_names`."""
    *documents, question = (span.text(written.prompt.tokens) for span in (*written.prompt.documents, written.prompt.question))
    return of_tokens(written.tokens, documents, question)


def answer_json(found: Generated) -> dict[str, Any]:
    """What is known so far: `generated` of `precompute explain --format json`. What is not known yet is None."""
    written = found.written
    dtype = str(found.clean.lm.model.dtype).removeprefix("torch.")
    coarse = f"Computed in {dtype}, which is coarser than float32: small scores may differ."
    of_words, of_sentences = ([found.of(part) for part in parts] for parts in (written.words, written.sentences))
    words = [_word(selection) for selection in of_words]
    return {
        "text": written.text,
        "token_ids": list(written.ids),
        "tokens": list(written.tokens),
        "probabilities": _short(written.probabilities),
        "given": written.given,
        "stopped": written.stopped,
        "notes": [*written.notes, *([] if dtype == "float32" else [coarse])],
        "words": words,
        "sentences": [_sentence(selection, words) for selection in of_sentences],
        "numbers_and_names": numbers_and_names(written) if written.stopped else [],
        "bounds": asdict(found.wanted.bounds),
        "matrix": {key: _matrix(found, key) for key in found.matrices},
        "verdicts": {
            "words": [selection.verdict() for selection in of_words],
            "sentences": [selection.verdict() for selection in of_sentences],
        },
        "contrasts": [_contrast(selection) for selection in of_words if selection.columns.start in found.contrasts],
        "refused": found.refused,
    }


def answered(lm: LanguageModel, request: Mapping[str, Any], tell: Callable[[Any], None]) -> dict[str, Any]:
    """What the explorer asks for: see `prompt_service.client.Answer`. tell: is told each step, and what is known by then."""
    prompt = tokenised(lm, request_of(request["question"], request["documents"]))
    if "more" not in request:
        methods, wanted = map(catalogue.method, request["explainers"]), Wanted(request["generate"], request["answer"])
        for step, generated in explain_answer(lm, prompt, request["question"], methods, wanted):
            tell(f"{step} done")
            tell(ExplainedAnswer(generated, lm.template).to_json())
            if request.get("only_written") and generated.written.stopped:
                break
        return ExplainedAnswer(generated, lm.template).to_json()
    found = from_json(lm, prompt, request["before"])
    for key in request["more"]:
        if key not in found.matrices:
            ((_, found),) = explained_by(found, [catalogue.method(key)])
            tell(f"{key} done")
        found = found.with_part(key, Span(*request["part"])) if request.get("part") else found
    found = found if request.get("against") is None else found.with_contrast(request["against"])
    return with_more(request["before"], found)


def from_json(lm: LanguageModel, prompt: TokenisedPrompt, result: Mapping[str, Any]) -> Generated:
    """An answer from `ExplainedAnswer.to_json`, so far as it takes to ask more about it: a pass, and nothing is written again.

    Raises HEvalError where the model cuts the prompt into other tokens than then.
    """
    known = result["generated"]
    if list(prompt.tokens) != result["tokens"]:
        raise HEvalError(f"{lm.key} cuts this prompt into other tokens than when it was asked; click Explain to ask it again.")
    ids, tokens, probabilities = (tuple(known[name]) for name in ("token_ids", "tokens", "probabilities"))
    written = Written(prompt, ids, tokens, probabilities, known["stopped"], known["given"])
    made, _ = finished(Generated(written, Wanted(), CleanPass(lm, [prompt])))
    return replace(
        made,
        matrices={key: _matrix_of(one) for key, one in known["matrix"].items()},
        costs={key: (one["seconds"], one["passes"]) for key, one in known["matrix"].items()},
        contrasts={one["start"]: (np.array(one["values"]), one["seconds"]) for one in known.get("contrasts", ())},
        parts={
            key: {Span(part["start"], part["end"]): np.array(part["values"]) for part in one.get("parts", ())}
            for key, one in known["matrix"].items()
        },
    )


def _matrix_of(one: Mapping[str, Any]) -> Matrix:
    units = tuple(Unit(unit["start"], unit["end"], f"document {unit['document']}") for unit in one["units"])
    changed = None if one.get("changed") is None else np.array(one["changed"], dtype=bool)
    values = np.array(one["values"], dtype=np.float32).reshape(len(units), -1)
    return Matrix(one["unit"], units, values, changed, columns=one["columns"])


def with_more(result: Mapping[str, Any], generated: Generated) -> dict[str, Any]:
    """The JSON of an answer, and what it was asked since it was made `from_json`."""
    known, now = result["generated"], answer_json(generated)
    matrix = now["matrix"] | {key: one | {"parts": now["matrix"][key]["parts"]} for key, one in known["matrix"].items()}
    since = {name: now[name] for name in ("verdicts", "contrasts")} | {"refused": known["refused"] | now["refused"]}
    return {**result, "generated": known | since | {"matrix": matrix}}


def _text(selection: Selection) -> dict[str, Any]:
    return asdict(selection.columns) | {"text": selection.text}


def _word(selection: Selection) -> dict[str, Any]:
    source, together = selection.source(), selection.generated.together
    rival = selection.generated.rivals.get(selection.columns.start)
    return _text(selection) | {
        "source": source and source.source,
        "nats": source and _short(source.nats),
        "by_document": source and _short(selection.by_document()),
        "together": None if together is None else _short(selection.total(together)),
        "said_before": selection.said_before(),
        "rival": rival and rival.text,
    }


def _sentence(selection: Selection, words: list[dict[str, Any]]) -> dict[str, Any]:
    found, columns = selection.generated, selection.columns
    # Before random levels are known, only of an answer without documents.
    known = found.drawn is not None or (found.together is not None and not found.documents)
    sources = Counter(word["source"] for word in spelt([word for word in words if word["start"] in columns.indices]))
    return _text(selection) | {
        "citations": [citation._asdict() for citation in selection.citations()] if known else None,
        "by_document": _short(selection.by_document()),
        "said_before": selection.said_before(),
        "shares": {source: count / sources.total() for source, count in sources.items() if source},
    }


def _contrast(selection: Selection) -> dict[str, Any]:
    start = selection.columns.start
    values, seconds = selection.generated.contrasts[start]
    about = {"explainer": COMPARES, "against": selection.generated.rivals[start].text, "seconds": seconds}
    return _text(selection) | about | {"values": _short(values)}  # of the ranked tokens


def _matrix(generated: Generated, key: str) -> dict[str, Any]:
    matrix, tokens = generated.matrices[key], generated.written.prompt.tokens
    documents = indices_in(matrix.units, generated.documents) + 1
    seconds, passes = generated.costs[key]
    return {
        "unit": matrix.level,
        "units": [
            # Tokens of a screen that are one unit were not looked at one by one; those that are missing were not at all.
            {"start": unit.start, "end": unit.end, "document": int(number) or None, "text": unit.text(tokens)}
            for unit, number in zip(matrix.units, documents, strict=True)
        ],
        "columns": matrix.columns,
        "values": _short(matrix.values),
        "changed": None if matrix.changed is None else matrix.changed.astype(int).tolist(),
        "said_before": None if matrix.said_before is None else _short(matrix.said_before),
        "parts": [asdict(columns) | {"values": _short(part)} for columns, part in generated.parts.get(key, {}).items()],
        "title": catalogue.method(key).title,
        "seconds": seconds,
        "passes": passes,
    }


def _short(values: Any) -> Any:
    """A number with four digits, or all numbers of an array."""
    return [_short(value) for value in values] if np.ndim(values) else float(f"{values:.4g}")
