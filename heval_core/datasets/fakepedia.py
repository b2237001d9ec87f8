"""Fakepedia: encyclopaedia-like paragraphs written around one false fact.

Source: github.com/epfl-dlab/llm-grounding-analysis, `data/fakepedia/base_fakepedia.json`. Licence: Apache-2.0.
Reference: Monea et al. 2024, "A Glitch in the Matrix? Locating and Detecting Language Model Grounding with Fakepedia".
Fields: `subject`, `rel_p_id`, `query` (a cloze, used as the question), `object` (the false answer), `fact_paragraph` and
`fact_parent.object` (the true answer). Records: about 6,000, of which the paper uses 5,348 questions.
The conflicting document is the record's paragraph; paragraphs of the same subject and relation with other false answers
are its natural second conflicting documents, in an order fixed by a hash. Another subject's paragraph under the same
relation serves as the irrelevant document. Context: about 700 characters.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heval_core.datasets._reading import Malformed, Origin, Record, json_array, locate, read_each, text_of
from heval_core.records import Fact, Passage

_ORIGIN = Origin("base_fakepedia.json", "github.com/epfl-dlab/llm-grounding-analysis (data/fakepedia/base_fakepedia.json)")


def _question_of(record: dict[str, Any]) -> tuple[str, str]:
    return text_of(record, "subject"), text_of(record, "rel_p_id")


def _passage_of(record: dict[str, Any]) -> Passage:
    return Passage(text_of(record, "subject"), text_of(record, "object"), text_of(record, "fact_paragraph"))


def _order(passage: Passage) -> int:
    return zlib.crc32(f"{passage.subject}|{passage.answer}|{passage.text}".encode())


@dataclass(frozen=True)
class Fakepedia:
    """path: of base_fakepedia.json; by default in the data folder."""

    path: str | None = None

    key = "fakepedia"
    title = "Fakepedia"
    reference = "Monea et al. 2024, arXiv 2312.02073"
    long = True

    def facts(self) -> Iterator[Record]:
        """Raises HEvalError if the file is missing, or is not a JSON list."""
        records = list(json_array(locate(self.key, self.path, _ORIGIN)))
        siblings: dict[tuple[str, str], list[Passage]] = defaultdict(list)
        for _, record in records:
            try:
                siblings[_question_of(record)].append(_passage_of(record))
            except (Malformed, AttributeError):
                continue  # reported when the record itself is converted
        for passages in siblings.values():
            passages.sort(key=_order)

        def convert(record: dict[str, Any]) -> Fact:
            passage, (subject, relation) = _passage_of(record), _question_of(record)
            others = [sibling for sibling in siblings[subject, relation] if sibling.answer != passage.answer]
            return Fact(
                id=f"{subject}|{relation}|{passage.answer}",
                dataset=self.key,
                subject=subject,
                relation=relation,
                question=text_of(record, "query"),
                answer=text_of(record, "fact_parent", "object"),
                conflicting=(passage, *others),
            )

        yield from read_each(records, convert)


PLUGIN = Fakepedia()
