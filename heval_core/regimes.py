"""Facts ▶ instances: the six ways in which documents are combined (methods.md, section 1).

conflicting         c: a document about the subject with a false answer
irrelevant          c: a document about another subject of the same relation, with its own literal answer
double_conflicting  two conflicting documents with different answers
mixed               the irrelevant document first, the conflicting one second
…_swap              the exact mirror: same texts, same answers, c1 and c2 exchanged

Everything is decided by the seed and the fact's id alone, so that neither the order of the records nor the other
regimes of a run change an instance. The documents' presentation (a bare text, or one attributed to a source) belongs
to the prompt style.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from heval_core.prompts import mentions
from heval_core.records import DROP_REASONS, REGIMES, Document, Fact, HEvalError, Instance, Passage


class Dropped(Exception):
    """Why a question has no instance under a regime, or an instance no place in the metrics: one of DROP_REASONS."""

    def __init__(self, reason: str):
        assert reason in DROP_REASONS, reason
        super().__init__(reason)
        self.reason = reason


class PromptStyle(Protocol):
    """How documents are presented to a model, and which questions may be put to it."""

    @property
    def key(self) -> str:
        """What the style is called in stored results."""

    def admits(self, subject: str, answer: str) -> bool:
        """Whether a document that answers a question about `subject` with `answer` may be used."""

    def present(self, documents: tuple[Document, ...], place: int, key: str) -> tuple[Document, ...]:
        """The documents as the model reads them; `place` counts the questions, `key` seeds what is arbitrary."""

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        """The group that a known rule asks for; None where no rule is known."""


@dataclass(frozen=True)
class Plain:
    """Documents as they are, every question admitted, no rule known: every model that was not taught one."""

    key: str = "plain"

    def admits(self, subject: str, answer: str) -> bool:
        return True

    def present(self, documents: tuple[Document, ...], place: int, key: str) -> tuple[Document, ...]:
        return documents

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        return None


@dataclass(frozen=True)
class Pool:
    """What other facts of the same dataset offer: per relation, one passage for each subject, and all answers."""

    passages: dict[str, tuple[Passage, ...]]
    answers: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Pool:
        passages: dict[str, dict[str, Passage]] = {}
        answers: dict[str, set[str]] = {}
        for fact in facts:
            shipped = (fact.own, *fact.conflicting) if fact.own else fact.conflicting
            for passage in shipped[:1]:
                passages.setdefault(fact.relation, {}).setdefault(fact.subject, passage)
            known = answers.setdefault(fact.relation, set())
            known.add(fact.answer)
            known.update(passage.answer for passage in fact.conflicting)
        return cls(
            {relation: tuple(found[s] for s in sorted(found)) for relation, found in passages.items()},
            {relation: tuple(sorted(found)) for relation, found in answers.items()},
        )


def fixed_order(seed: int, fact_id: str) -> bytes:
    """The sort key by which questions are sampled: independent of the records' order, a prefix for every limit."""
    return hashlib.blake2b(f"{seed}|{fact_id}".encode(), digest_size=12).digest()


def select(facts: Iterable[Fact], limit: int | None, seed: int, style: PromptStyle) -> tuple[Fact, ...]:
    """The first `limit` of the facts that the style admits, in the fixed order of the seed."""
    admitted = [f for f in facts if f.conflicting and style.admits(f.subject, f.conflicting[0].answer)]
    admitted.sort(key=lambda fact: fixed_order(seed, fact.id))
    return tuple(admitted[:limit])


def build(fact: Fact, regime: str, pool: Pool, seed: int, style: PromptStyle, place: int) -> Instance:
    """The instance of one fact under one regime. `place`: the fact's number among those selected.

    Raises Dropped where the fact has no such instance, HEvalError for an unknown regime.
    """
    if regime not in REGIMES:
        raise HEvalError(f"There is no regime {regime!r}; there are: {', '.join(REGIMES)}.")
    base = regime.removesuffix("_swap")
    key = f"{seed}|{fact.id}|{base}"
    documents = style.present(_documents(fact, base, pool, seed, style), place, key)
    if regime != base:
        documents = documents[::-1]
    return Instance(
        id=f"{fact.dataset}|{regime}|{fact.id}",
        dataset=fact.dataset,
        regime=regime,
        fact_id=fact.id,
        subject=fact.subject,
        relation=fact.relation,
        question=fact.question,
        true_answer=fact.answer,
        documents=documents,
        expected_group=style.expected_group(documents),
    )


def _documents(fact: Fact, regime: str, pool: Pool, seed: int, style: PromptStyle) -> tuple[Document, ...]:
    if regime == "conflicting":
        return (_conflicting(fact),)
    if regime == "irrelevant":
        return (_irrelevant(fact, pool, seed, style),)
    if regime == "double_conflicting":
        return (_conflicting(fact), _second_conflicting(fact, pool, seed, style))
    return (_irrelevant(fact, pool, seed, style), _conflicting(fact))


def _conflicting(fact: Fact) -> Document:
    passage = fact.conflicting[0]
    if not mentions(passage.answer, passage.text):
        raise Dropped("answer not in document")
    return Document(passage.subject, passage.answer, passage.text, "conflicting")


def _second_conflicting(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    first = fact.conflicting[0]
    for passage in fact.conflicting[1:]:
        if passage.answer != first.answer and mentions(passage.answer, passage.text):
            return Document(passage.subject, passage.answer, passage.text, "conflicting")
    others = list(pool.answers.get(fact.relation, ()))
    random.Random(f"{seed}|{fact.id}|second").shuffle(others)
    for answer in others:
        fresh = answer not in (fact.answer, first.answer) and not mentions(answer, first.text)
        if fresh and style.admits(fact.subject, answer):
            return Document(fact.subject, answer, _substitute(first, answer), "conflicting", "substituted")
    raise Dropped("no second conflicting document")


def _substitute(passage: Passage, answer: str) -> str:
    """The passage's text with every mention of its answer replaced."""
    text, end = "", 0
    for span in mentions(passage.answer, passage.text):
        text += passage.text[end : span.start] + answer
        end = span.end
    if not end:
        raise Dropped("answer not in document")
    return text + passage.text[end:]


def _irrelevant(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    ours = (fact.subject, fact.answer, fact.conflicting[0].answer)
    others = list(pool.passages.get(fact.relation, ()))
    random.Random(f"{seed}|{fact.id}|irrelevant").shuffle(others)
    for passage in (fact.irrelevant, *others) if fact.irrelevant else others:
        if passage.subject == fact.subject or not mentions(passage.answer, passage.text):
            continue
        if any(mentions(name, passage.text) for name in ours) or not style.admits(fact.subject, passage.answer):
            continue
        return Document(passage.subject, passage.answer, passage.text, "irrelevant")
    raise Dropped("no irrelevant document")
