"""QuoteSum: answers that people wrote from several passages, each copied span marked with the passage that it is from.

Source: github.com/google-research-datasets/QuoteSum, `v1/dev.jsonl` (commit f0f555dd), for the data folder, or named:
`quotesum=dev.jsonl`. Licence: CC BY-SA 4.0, so no text of it is a part of this program, nor of results that come with it.
Reference: Schuster et al. 2023, "SEMQA: Semi-Extractive Multi-Source Question Answering", arXiv 2311.04886.
Fields: `unique_id`, `question`, `summary` (the answer; a span that was copied from passage 2 is `[ 2 text ]`), `title1`,
`source1` … `title8`, `source8` (empty where there are fewer).
Records: 265 answers to 91 questions in the file named above, from two to six passages. All passages of a question are right,
so no regime asks it. `run --answers` lets models read the answers.
Departure: a passage is read as `Title: text`, because people copied titles too; the space before a full stop goes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._quoted import Quoted
from heval_core.datasets._reading import Malformed, Origin, Record, json_lines, locate, read_each, text_of

_FORM = Form(known=("summary", "source1"))
_ORIGIN = Origin("dev.jsonl", "github.com/google-research-datasets/QuoteSum")
MOST = 8
_SPAN = re.compile(r"\[ (\d+) (.*?) \]", re.DOTALL)


@dataclass(frozen=True)
class QuoteSum:
    """path: a file with the fields above; by default from the data folder."""

    path: str | None = None

    key = "quotesum"
    title = "QuoteSum"
    reference = "Schuster et al. 2023, arXiv 2311.04886"
    long = True
    of_people = True

    def facts(self) -> Iterator[Record]:
        """Yield the answers. Raises HEvalError if the file is missing or empty."""
        yield from read_each(json_lines(locate(self.key, self.path, _ORIGIN), _FORM), self._quoted)

    def _quoted(self, record: dict[str, Any]) -> Quoted:
        numbers = [number for number in range(1, MOST + 1) if str(record.get(f"source{number}") or "").strip()]
        documents = tuple(f"{text_of(record, f'title{number}')}: {text_of(record, f'source{number}')}" for number in numbers)
        answer, spans = unmarked(text_of(record, "summary"))
        if not spans:
            raise Malformed("'summary' marks no copied span, as in '[ 2 text ]'")
        if unknown := sorted({number for *_, number in spans} - set(numbers)):
            raise Malformed(f"'summary' copies from passage {unknown[0]}, which the record does not have")
        return Quoted(
            text_of(record, "unique_id"),
            self.key,
            subject=text_of(record, f"title{spans[0][2]}"),
            relation="quoted",
            question=text_of(record, "question"),
            answer=answer,
            conflicting=(),
            documents=documents,
            spans=tuple((start, end, numbers.index(number)) for start, end, number in spans),
        )


def unmarked(summary: str) -> tuple[str, list[tuple[int, int, int]]]:
    """Return an answer without its markers, and (start, end, passage) of what they mark.

    >>> unmarked("It is [ 2 Lima ] .")
    ('It is Lima.', [(6, 10, 2)])
    """
    text, spans, end = "", list[tuple[int, int, int]](), 0
    for marked in _SPAN.finditer(summary):
        text = _joined(text, summary[end : marked.start()]).lstrip()
        spans.append((len(text), len(text) + len(marked[2]), int(marked[1])))
        text, end = text + marked[2], marked.end()
    return _joined(text, summary[end:]).rstrip(), spans


def _joined(text: str, more: str) -> str:
    """Join a text and what follows a span, `more`, whose marker is set off by a space from a full stop too."""
    return text + (more.lstrip() if re.match(r"\s+[.,;:!?)\]]", more) else more)


PLUGIN = QuoteSum()
