"""Your own data: a JSON-lines file in place of a dataset's name.

One object per line: {"id", "subject", "relation", "question", "memory_answer"?, "accepted"?, "labels"?, and documents}.
`memory_answer` (or `answer`) is the true answer, if you know it; `accepted` lists other forms of it. Documents are objects
{"text", "answer", "subject"?}:
  conflicting, conflicting_2   about the subject, with a false answer
  gold                         about the subject, with the true answer or one of `accepted`; its answer is the true one where
                               the record gives none
  irrelevant, off_topic        about another subject; off_topic also answers another question
A record needs `conflicting` or `gold`. Missing documents are made: a second conflicting one by putting another answer of the
relation into the first, gold by putting in the true answer, an irrelevant one from another subject's record, an off-topic one
from another relation's (see `heval_core.regimes`).
A text has to contain its answer, unless that is one of `labels` (["True", "False", "None"]): the answers of a task in which a
document is judged. No second conflicting and no irrelevant document is made where answers are labels.
Source and licence: yours. A record that cannot be used becomes a BadRecord; the others are used.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.datasets._forms import Form
from heval_core.datasets._reading import BadRecord, Malformed, Record, id_of, json_lines, read_one, spelt, text_of, texts_of
from heval_core.prompting.prompts import alike, mentions
from heval_core.records import Fact, Passage

_ONE = "{{id{}, subject: {}, relation: {}, question, gold: {{text: {}, answer{}}}}}"
_SQUAD = _ONE.format("", "$t", '"squad"', "$c", ": .answers[0].text")
_HOTPOT = _ONE.format(": ._id", ".context[0][0]", ".type", '([.context[][1] | add] | join(" "))', "")
FORM = Form(
    known=("subject", "relation", "conflicting", "gold"),
    says="id, subject, relation, question, and conflicting or gold: {text, answer}",
    ways={
        "paragraphs": "jq -c '.data[] | .title as $t | .paragraphs[] | .context as $c | .qas[] | select(.answers[0]) | "
        f"{_SQUAD}' {{0}} > {{1}}",
        "supporting_facts": f"jq -c '.[] | {_HOTPOT}' {{0}} > {{1}}",
    },
)


@dataclass(frozen=True)
class JsonLines:
    path: Path

    title = "One's own data"
    reference = "a local file"
    long = False

    @property
    def key(self) -> str:
        return self.path.stem

    def facts(self) -> Iterator[Record]:
        """Yield the facts. Raises HEvalError if the file is missing or empty."""
        locations: dict[bytes, str] = {}
        for location, raw in json_lines(self.path, FORM):
            record = read_one(location, raw, self._fact)
            if isinstance(record, Fact):
                # A hash in place of the id: there may be millions of them.
                identity = hashlib.blake2b(record.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                first = locations.setdefault(identity, location)
                if first != location:
                    record = BadRecord(location, f"the id {record.id!r} is already used at {first}")
            yield record

    def _fact(self, record: dict[str, Any]) -> Fact:
        spelt(record, "memory_answer", "accepted", "labels", "gold", "conflicting", "conflicting_2", "irrelevant", "off_topic")
        subject, labels = text_of(record, "subject"), _labels(record)
        if record.get("gold") is None:
            text_of(record, "conflicting", "text")  # one of the two is required, and the message names the usual one
        gold = _passage(record, subject, "gold", labels)
        shipped = (_passage(record, subject, name, labels) for name in ("conflicting", "conflicting_2"))
        answer_field = next((name for name in ("memory_answer", "answer") if record.get(name) is not None), None)
        answer = text_of(record, answer_field) if answer_field else gold.answer if gold else ""
        accepted = texts_of(record, "accepted") if record.get("accepted") is not None else ()
        if gold and alike(gold.answer) not in map(alike, (answer, *accepted)):
            raise Malformed(
                f"'gold' has the answer {gold.answer!r}, which is neither {answer_field!r} ({answer!r}) nor in 'accepted'"
            )
        return Fact(
            id=id_of(record),
            dataset=self.key,
            subject=subject,
            relation=text_of(record, "relation"),
            question=text_of(record, "question"),
            answer=answer,
            conflicting=tuple(passage for passage in shipped if passage),
            own=gold,
            irrelevant=_passage(record, "", "irrelevant", labels),
            off_topic=_passage(record, "", "off_topic", labels),
            accepted=accepted,
        )


def _labels(record: dict[str, Any]) -> tuple[str, ...]:
    labels = texts_of(record, "labels") if record.get("labels") is not None else ()
    if labels and len(set(labels)) < 2:
        raise Malformed(f"'labels' should list two labels or more, but has only {labels[0]!r}")
    return labels


def _passage(record: dict[str, Any], subject: str, name: str, labels: tuple[str, ...]) -> Passage | None:
    """Return the document called `name`; None if the record has none.

    subject: of a document that names no subject of its own.
    """
    if record.get(name) is None:
        return None
    text, answer = text_of(record, name, "text"), text_of(record, name, "answer")
    if answer not in labels and not mentions(answer, text):
        raise Malformed(f"{name!r} does not contain its answer {answer!r} as a separate word")
    own_subject = not subject and record[name].get("subject")
    return Passage(text_of(record, name, "subject") if own_subject else subject, answer, text, answer not in labels)
