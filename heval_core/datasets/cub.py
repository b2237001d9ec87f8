"""CUB's own files: CounterFact, Natural Questions and DRUID with gold, conflicting and irrelevant contexts, as published.

Source: huggingface.co/datasets/copenlu/cub-counterfact, cub-nq and cub-druid: `cub/counterfact`, `cub/nq` and `cub/druid`.
Each has a file of JSON lines per model and split. The questions are the same for every model, only predictions differ. By
default `gpt2_xl_test.jsonl` is read, at the hub's newest commit (printed) or `cub/PART@COMMIT`; `cub/PART=PATH` is a file.
Licence: MIT (as cub-counterfact and cub-nq say).
Reference: Hagström et al., "CUB: Benchmarking Context Utilisation Techniques for Language Models", ACL 2026, pp. 25101-25133,
arXiv 2505.16518.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from heval_core.datasets import _reading, _verdicts
from heval_core.datasets._forms import Form
from heval_core.datasets._swaps import type_of
from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped, Fact, HEvalError

FIELDS = {
    "counterfact": ("id", "context_type", "target_true", "target_new", "subject", "template", "template_w_context"),
    "nq": ("id", "context_type", "target_true", "target_new", "question", "context"),
    "druid": ("id", "context_type", "target_true", "target_new", "claim", "claimant", "evidence", "relevant"),
}
PARTS = tuple(FIELDS)
FILE = "gpt2_xl_test.jsonl"
_KINDS = {"gold": "gold", "edited": "conflicting", "irrelevant": "irrelevant"}


def _kind(record: dict[str, Any]) -> str:
    name = _reading.text_of(record, "context_type")
    if name not in _KINDS:
        raise _reading.Malformed(f"'context_type' should be gold, edited or irrelevant, but is {name!r}")
    return _KINDS[name]


def _promoted(record: dict[str, Any], kind: str, true: tuple[str, ...]) -> str:
    """Read what the context states: a gold one a true answer (the first, if the record does not say), an irrelevant one
    nothing.
    """
    if kind == "irrelevant":
        return ""
    text = _reading.text_of(record, "target_new") if kind == "conflicting" or record.get("target_new") is not None else true[0]
    if (kind == "gold") != (text in true):
        raise _reading.Malformed(f"a context of this type should not say {text!r}, when the true answer is {true[0]!r}")
    return text


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


def _counterfact(dataset: str, record: dict[str, Any]) -> Fact:
    subject, true, kind = _reading.text_of(record, "subject"), _reading.text_of(record, "target_true"), _kind(record)
    answer, relation = _promoted(record, kind, (true,)), _reading.text_of(record, "template")
    cloze = _rendered(relation, subject, "")
    whole = _rendered(_reading.text_of(record, "template_w_context"), subject, answer)
    context = whole.removesuffix(cloze).strip()
    if not context or context == whole:
        raise _reading.Malformed("'template_w_context' should be a context and then the cloze of 'template'")
    if mentions(true, subject):
        raise Dropped("answer in subject")
    fact = Fact(cloze, dataset, subject, relation, question=cloze, answer=true, conflicting=())
    return _reading.with_document(fact, kind, answer, context)


def _nq(dataset: str, record: dict[str, Any]) -> Fact:
    question, true, kind = _reading.text_of(record, "question"), _reading.texts_of(record, "target_true"), _kind(record)
    text = _reading.text_of(record, "context")
    # Of several accepted answers the one that the gold context states.
    stated = next((answer for answer in true if mentions(answer, text)), true[0])
    answer, relation = stated if kind == "gold" else _promoted(record, kind, true), type_of(question, stated)
    fact = Fact(question, dataset, question, relation, question, answer=true[0], conflicting=(), accepted=true[1:])
    return _reading.with_document(fact, kind, answer, text)


def _together(facts: Sequence[Fact]) -> Fact:
    """Join one question's facts, each with a document of its own."""
    gold = next((fact.own for fact in facts if fact.own), None)
    answer = gold.answer if gold else facts[0].answer
    true = dict.fromkeys(name for fact in facts for name in (fact.answer, *fact.accepted))
    return replace(
        facts[0],
        answer=answer,
        conflicting=tuple(passage for fact in facts for passage in fact.conflicting),
        own=gold,
        irrelevant=next((fact.irrelevant for fact in facts if fact.irrelevant), None),
        accepted=tuple(name for name in true if name != answer),
    )


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
        """Yield the facts. Raises HEvalError if the part is missing or unknown, or the file is missing or lacks a field."""
        if self.part not in FIELDS:
            raise HEvalError(f"Choose a part: {', '.join(f'cub/{part}' for part in PARTS)}.")
        if self.part == "druid":
            return _reading.read_each(self._records(self.part), self._claim)
        return self._questions(self.part)

    def _records(self, part: str) -> Iterator[tuple[str, Any]]:
        repository = f"copenlu/cub-{part}"
        origin = _reading.Origin(FILE, f"huggingface.co/datasets/{repository}", repository, self.revision)
        return _reading.json_lines(_reading.locate(self.key, self.path, origin), Form(FIELDS[part]))

    def _questions(self, part: str) -> Iterator[_reading.Record]:
        """Yield one fact for each question; its rows need not stand together."""
        convert = partial(_counterfact if part == "counterfact" else _nq, self.key)
        rows: dict[str, list[tuple[str, Fact]]] = {}
        for location, record in self._records(part):
            result = _reading.read_one(location, record, convert)
            if isinstance(result, Fact):
                rows.setdefault(result.question, []).append((location, result))
            else:
                yield result
        for group in rows.values():
            yield _together([fact for _, fact in group])
            for slot in ("own", "irrelevant"):  # a fact has one of each
                surplus = [location for location, fact in group if getattr(fact, slot)][1:]
                yield from (_reading.Unusable(location, "duplicate") for location in surplus)

    def _claim(self, record: dict[str, Any]) -> Fact:
        kind, verdict = _kind(record), _verdicts.verdict_of(record.get("target_true"))
        label = _promoted(record, kind, (verdict,))
        if kind != "irrelevant" and label not in _verdicts.LABELS:
            raise _reading.Malformed(f"'target_new' should be {', '.join(_verdicts.LABELS)}, but is {label!r}")
        return _verdicts.fact_of(self.key, record, "id", (verdict, label), kind)


PLUGIN = Cub()
