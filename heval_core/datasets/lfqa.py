"""LFQA: answers that four chat search engines gave, the web pages that they cited, and what people found to support them.

Source: github.com/lovodkin93/attribute-first-then-generate (commit cc7b995), the LFQA part, named: `lfqa=dev.jsonl.gz`.
Licence: the repository is Apache-2.0; texts are the web pages' own, so none is a part of this program.
Reference: Slobodkin et al. 2024, "Attribute First, then Generate", arXiv 2403.17104; answers of Liu et al. 2023, "Evaluating
Verifiability in Generative Search Engines", arXiv 2304.09848.
Fields: `unique_id`, `query`, `response`, `documents` (`documentFile`, `documentText`, a list of sentences) and
`set_of_highlights_in_context` (`scuSentence`: a statement of the answer; `documentFile`, `sent_idx`: a
sentence that supports it, wholly or in part).
Records: 44 answers with 100 statements, from one to four pages. `run --answers` lets models read the answers: documents
compete for a statement's source, and their sentences for its support.
Departure: pages are long, of up to 160,000 letters. Of each remains what stands nearest to a marked sentence, by the rule of
`_quoted.window`, and of one without any its beginning; all pages of an answer have LETTERS letters, in equal shares.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._quoted import DocumentSpan, Stated, sentence_spans, window
from heval_core.datasets._reading import Malformed, Origin, Record, are_texts, json_lines, locate, read_each, text_of
from heval_core.records import Dropped

_FORM = Form(known=("query", "response", "documents"))
_ORIGIN = Origin("dev.jsonl.gz", "github.com/lovodkin93/attribute-first-then-generate")
LETTERS = 4_000


@dataclass(frozen=True)
class LFQA:
    """path: a file with the fields above; by default from the data folder. letters: of all pages that are read, about."""

    path: str | None = None
    letters: int = LETTERS

    key = "lfqa"
    title = "LFQA"
    reference = "Slobodkin et al. 2024, arXiv 2403.17104"
    long = True
    of_people = True

    def facts(self) -> Iterator[Record]:
        """Yield the answers. Raises HEvalError if the file is missing or empty."""
        yield from read_each(json_lines(locate(self.key, self.path, _ORIGIN), _FORM), self._stated)

    def _stated(self, record: dict[str, Any]) -> Stated:
        pages, answer = _pages(record), text_of(record, "response")
        marked = _marked(record, answer, pages)
        if not marked:
            raise Dropped("answer not in document")
        texts, starts = list[str](), dict[str, dict[int, int]]()
        for name, sentences in pages.items():
            gold = {number for marked_here in marked.values() for number in marked_here.get(name, ())}
            text, starts[name] = window(sentences, gold, self.letters // len(pages))
            texts.append(text)
        spans, statements = [], []
        for (first, last), marked_here in sorted(marked.items()):
            support = list[DocumentSpan]()
            for document, (name, sentences) in enumerate(pages.items()):
                inside = sentence_spans(document, sentences, starts[name], marked_here.get(name, set()))
                spans += [(first, last, document)] if inside else []
                support += inside
            statements.append((first, last, tuple(support)))
        return Stated(
            text_of(record, "unique_id"),
            self.key,
            subject=text_of(record, "query"),
            relation="supported",
            question=text_of(record, "query"),
            answer=answer,
            conflicting=(),
            documents=tuple(texts),
            spans=tuple(spans),
            statements=tuple(statements),
        )


def _pages(record: dict[str, Any]) -> dict[str, list[str]]:
    """Return the pages' sentences, by their names."""
    pages = record.get("documents")
    if not isinstance(pages, list) or not pages or not all(isinstance(page, dict) for page in pages):
        raise Malformed("'documents' should be a list of objects")
    for page in pages:
        if not are_texts(page.get("documentText")) or not isinstance(page.get("documentFile"), str):
            raise Malformed("a document should have 'documentFile', and 'documentText', a list of texts")
    named = {page["documentFile"]: page["documentText"] for page in pages}
    if len(named) < len(pages):
        raise Malformed("two documents have one 'documentFile'")
    return named


def _marked(record: dict[str, Any], answer: str, pages: dict[str, list[str]]) -> dict[tuple[int, int], dict[str, set[int]]]:
    """Return for each statement, (start, end), the numbers of the sentences that people marked, by page."""
    marked: dict[tuple[int, int], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for highlight in record.get("set_of_highlights_in_context") or ():
        statement, name, number = (highlight.get(field) for field in ("scuSentence", "documentFile", "sent_idx"))
        if name not in pages or not isinstance(number, int | float) or not 0 <= number < len(pages[name]):
            raise Malformed(f"a highlight names sentence {number} of {name!r}, which is not there")
        start = answer.find(statement.strip()) if isinstance(statement, str) and statement.strip() else -1
        if start < 0:
            raise Malformed(f"a highlight is of {statement!r}, which does not stand in the answer")
        marked[start, start + len(statement.strip())][name].add(int(number))
    return marked


PLUGIN = LFQA()
