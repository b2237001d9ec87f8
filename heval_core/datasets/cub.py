"""CUB's own files: CounterFact, Natural Questions and DRUID with gold, conflicting and irrelevant contexts, as published.

Source: huggingface.co/datasets/copenlu/cub-counterfact, cub-nq and cub-druid: `cub/counterfact`, `cub/nq` and `cub/druid`.
Each has a file of JSON lines per model and split. The questions are the same for every model, only predictions differ. By
default `gpt2_xl_test.jsonl` is read, at the hub's newest commit, which is printed, or at `cub/PART@COMMIT`; `cub/PART=PATH`
names another file.
Licence: MIT (as cub-counterfact and cub-nq say).
Reference: Hagström et al. 2025, "CUB: Benchmarking Context Utilisation Techniques for Language Models", arXiv 2505.16518.
Records: 2,499, 4,945 and 4,302 of the test split; 198 each of the development split. Fields, by part:
  all          `id`, `context_type` (gold, edited, irrelevant), `target_true`, `target_new` (what the context says, or null)
  counterfact  `subject`, `template` (the cloze), `template_w_context` (the context, then the cloze); they may have
               <subject>, <subject-w-space> and <target> in them
  nq           `question`, `context`
  druid        `claim`, `claimant`, `evidence`, `relevant`
The records of one question (counterfact, nq) become one fact with its gold, conflicting and irrelevant documents. A record of
druid is a question of its own; see `druid` for what is asked. An irrelevant context speaks for no answer.
Checked: nothing against the files, which could not be fetched here. Names of the files: the hub's card of cub-nq. Fields and
values of druid: public code that was run on all 4,302 records of every model's test file and demands them (`target_true` is
True, False or Half True, `target_new` True, False or `None` as a text, and null where the context is irrelevant). Fields of
counterfact: public code that reads them. Fields of nq: not seen anywhere, inferred from the placeholders of the paper's
prompts. Contexts look as in the paper's tables 8, 10 and 11. A file with other fields is refused with the fields that it has;
a template with another placeholder, such as a chat model's, is a bad record.
Departure: the prompts are this program's, without CUB's two examples. As in `counterfact`, a record whose subject's name
contains the true answer is left out. HTML tags in nq's contexts stay, as in CUB.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from heval_core.datasets import _reading, _verdicts
from heval_core.datasets._swaps import type_of
from heval_core.prompts import mentions
from heval_core.records import Dropped, Fact, HEvalError, Passage

FIELDS = {
    "counterfact": ("id", "context_type", "target_true", "target_new", "subject", "template", "template_w_context"),
    "nq": ("id", "context_type", "target_true", "target_new", "question", "context"),
    "druid": ("id", "context_type", "target_true", "target_new", "claim", "claimant", "evidence", "relevant"),
}
PARTS = tuple(FIELDS)
FILE = "gpt2_xl_test.jsonl"
_KINDS = {"gold": "gold", "edited": "conflicting", "irrelevant": "irrelevant"}


@dataclass(frozen=True)
class _Row:
    """One record of counterfact or nq: a question with one context."""

    place: str
    subject: str
    relation: str
    question: str
    true: tuple[str, ...]
    kind: str
    passage: Passage


def _kind(record: dict[str, Any]) -> str:
    name = _reading.text_of(record, "context_type")
    if name not in _KINDS:
        raise _reading.Malformed(f"'context_type' should be gold, edited or irrelevant, but is {name!r}")
    return _KINDS[name]


def _promoted(record: dict[str, Any], kind: str, true: tuple[str, ...]) -> str:
    """What the context says: a gold one a true answer (the first, if the record does not say), an irrelevant one nothing."""
    if kind == "irrelevant":
        return ""
    text = _reading.text_of(record, "target_new") if kind == "conflicting" or record.get("target_new") is not None else true[0]
    if (kind == "gold") != (text in true):
        raise _reading.Malformed(f"a context of this type should not say {text!r}, when the true answer is {true[0]!r}")
    return text


def _passage(subject: str, answer: str, text: str, kind: str) -> Passage:
    """Raises Dropped where a gold or conflicting context does not hold its answer."""
    if kind == "irrelevant":
        return Passage("", "", text, stated=False)
    if not mentions(answer, text):
        raise Dropped("answer not in document")
    return Passage(subject, answer, text)


def _rendered(template: str, subject: str, answer: str) -> str:
    text = template.replace("<subject-w-space>", f"{subject} ").replace("<subject>", subject)
    # Answers are read without the white space that may stand before them in the file.
    text = re.sub(r"(?<=\w)(?=<target>)", " ", text)
    text = " ".join((text.replace("<target>", answer) if answer else text).split())
    if unknown := re.search(r"<\|?[\w-]+\|?>", text):
        raise _reading.Malformed(
            f"the template has the unknown placeholder {unknown.group()!r}; take the file of a base model"
        )
    return text


def _counterfact(place: str, record: dict[str, Any]) -> _Row:
    subject, true, kind = _reading.text_of(record, "subject"), _reading.text_of(record, "target_true"), _kind(record)
    answer = _promoted(record, kind, (true,))
    cloze = _rendered(_reading.text_of(record, "template"), subject, "")
    whole = _rendered(_reading.text_of(record, "template_w_context"), subject, answer)
    context = whole.removesuffix(cloze).strip()
    if not context or context == whole:
        raise _reading.Malformed("'template_w_context' should be a context and then the cloze of 'template'")
    if mentions(true, subject):
        raise Dropped("answer in subject")
    passage = _passage(subject, answer, context, kind)
    return _Row(place, subject, _reading.text_of(record, "template"), cloze, (true,), kind, passage)


def _nq(place: str, record: dict[str, Any]) -> _Row:
    question, true, kind = _reading.text_of(record, "question"), _reading.texts_of(record, "target_true"), _kind(record)
    text = _reading.text_of(record, "context")
    # Of several accepted answers the one that the gold context states.
    stated = next((answer for answer in true if mentions(answer, text)), true[0])
    promoted = stated if kind == "gold" else _promoted(record, kind, true)
    return _Row(place, question, type_of(question, stated), question, true, kind, _passage(question, promoted, text, kind))


@dataclass(frozen=True)
class Cub:
    """part: one of PARTS. path: a file of JSON lines. revision: a commit of the hub's repository."""

    part: str | None = None
    path: str | None = None
    revision: str | None = None

    title = "CUB"
    reference = "Hagström et al. 2025, arXiv 2505.16518"
    parts = PARTS

    @property
    def key(self) -> str:
        return f"cub/{self.part}" if self.part else "cub"

    @property
    def long(self) -> bool:
        return self.part != "counterfact"

    def facts(self) -> Iterator[_reading.Record]:
        """Raises HEvalError if the part is missing or unknown, or the file is missing or lacks a field."""
        if self.part not in FIELDS:
            raise HEvalError(f"Choose a part: {', '.join(f'cub/{part}' for part in PARTS)}.")
        if self.part == "druid":
            return _reading.read_each(self._records(self.part), self._claim)
        return self._questions(self.part)

    def _records(self, part: str) -> Iterator[tuple[str, Any]]:
        repository = f"copenlu/cub-{part}"
        origin = _reading.Origin(FILE, f"huggingface.co/datasets/{repository}", repository, self.revision)
        return _reading.json_lines(_reading.locate(self.key, self.path, origin), FIELDS[part])

    def _questions(self, part: str) -> Iterator[_reading.Record]:
        """One fact for each question; its rows need not stand together."""
        convert = _counterfact if part == "counterfact" else _nq
        rows: dict[str, list[_Row]] = {}
        for place, record in self._records(part):
            for row in _reading.read_each([(place, record)], partial(convert, place)):
                if isinstance(row, _reading.BadRecord | _reading.Unusable):
                    yield row
                else:
                    rows.setdefault(row.question, []).append(row)
        for group in rows.values():
            yield self._fact(group)
            surplus = _of_kind(group, "gold")[1:] + _of_kind(group, "irrelevant")[1:]  # a fact has one of each
            yield from (_reading.Unusable(row.place, "duplicate") for row in surplus)

    def _fact(self, rows: list[_Row]) -> Fact:
        first, gold = rows[0], _of_kind(rows, "gold")
        answer = gold[0].passage.answer if gold else first.true[0]
        accepted = tuple(dict.fromkeys(other for row in rows for other in row.true if other != answer))
        irrelevant = _of_kind(rows, "irrelevant")
        return Fact(
            id=first.question,
            dataset=self.key,
            subject=first.subject,
            relation=first.relation,
            question=first.question,
            answer=answer,
            conflicting=tuple(row.passage for row in _of_kind(rows, "conflicting")),
            own=gold[0].passage if gold else None,
            irrelevant=irrelevant[0].passage if irrelevant else None,
            accepted=accepted,
        )

    def _claim(self, record: dict[str, Any]) -> Fact:
        kind, verdict = _kind(record), _verdicts.verdict_of(record.get("target_true"))
        label = _promoted(record, kind, (verdict,))
        if kind != "irrelevant" and label not in _verdicts.LABELS:
            raise _reading.Malformed(f"'target_new' should be {', '.join(_verdicts.LABELS)}, but is {label!r}")
        return _verdicts.fact_of(self.key, record, "id", (verdict, label), kind)


def _of_kind(rows: list[_Row], kind: str) -> list[_Row]:
    return [row for row in rows if row.kind == kind]


PLUGIN = Cub()
