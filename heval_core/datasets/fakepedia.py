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

from heval_core.datasets._forms import Form
from heval_core.datasets._reading import Origin, Record, json_array, locate, read_each, text_of
from heval_core.records import Fact, Passage

_FORM = Form(known=("rel_p_id", "fact_paragraph"), holds="a JSON list")
_ORIGIN = Origin("base_fakepedia.json", "github.com/epfl-dlab/llm-grounding-analysis (data/fakepedia/base_fakepedia.json)")


def _passage_of(record: dict[str, Any]) -> tuple[str, Passage]:
    """Read the relation, and the passage about the subject."""
    passage = Passage(text_of(record, "subject"), text_of(record, "object"), text_of(record, "fact_paragraph"))
    return text_of(record, "rel_p_id"), passage


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
        """Yield the facts. Raises HEvalError if the file is missing, or is not a JSON list."""
        records = list(json_array(locate(self.key, self.path, _ORIGIN), _FORM))
        siblings: dict[tuple[str, str], list[Passage]] = defaultdict(list)
        for result in read_each(records, _passage_of):  # what is malformed is told when the record itself is converted
            if isinstance(result, tuple):
                siblings[result[0], result[1].subject].append(result[1])

        def convert(record: dict[str, Any]) -> Fact:
            relation, passage = _passage_of(record)
            subject, others = passage.subject, sorted(siblings[relation, passage.subject], key=_order)
            return Fact(
                id=f"{subject}|{relation}|{passage.answer}",
                dataset=self.key,
                subject=subject,
                relation=relation,
                question=text_of(record, "query"),
                answer=text_of(record, "fact_parent", "object"),
                conflicting=(passage, *(other for other in others if other.answer != passage.answer)),
            )

        yield from read_each(records, convert)


PLUGIN = Fakepedia()
