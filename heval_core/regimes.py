"""Facts ▶ instances: the six ways in which documents are combined.

conflicting         c: a document about the subject with a false answer
irrelevant          c: a document about another subject of the same relation, with its own literal answer
double_conflicting  two conflicting documents with different answers
mixed               the irrelevant document first, the conflicting one second
…_swap              the exact mirror: same texts, same answers, c1 and c2 exchanged

The seed and the fact's id alone decide everything, so that neither the order of the records nor the other regimes of a
run change an instance. The prompt style decides how documents are presented (as they are, or attributed to a source).
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from heval_core.prompts import mentions
from heval_core.records import REGIMES, Document, Dropped, Fact, HEvalError, Instance, Passage


class PromptStyle(Protocol):
    """How documents are presented to a model, and which questions may be put to it."""

    @property
    def key(self) -> str:
        """What the style is called in stored results."""

    def admits(self, subject: str, answer: str) -> bool:
        """Whether a document that answers a question about `subject` with `answer` may be used."""

    def present(self, documents: tuple[Document, ...], place: int, key: str) -> tuple[Document, ...]:
        """The documents as the model reads them; `place` counts the questions, `key` seeds random choices."""

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        """The group that a known rule implies; None if no rule is known."""


@dataclass(frozen=True)
class Plain:
    """Documents as they are, every question admitted, no known rule: for every model that was not taught one."""

    key: str = "plain"

    def admits(self, subject: str, answer: str) -> bool:
        return True

    def present(self, documents: tuple[Document, ...], place: int, key: str) -> tuple[Document, ...]:
        return documents

    def expected_group(self, documents: tuple[Document, ...]) -> str | None:
        return None


# How many passages and answers a relation offers other questions. More would cost memory and time, and help no search.
POOLED = 400


@dataclass(frozen=True)
class Pool:
    """What a dataset's facts offer other questions: per relation, one passage for each subject, and answers.

    A relation with more than POOLED subjects (or answers) offers those with the smallest hashes: a sample that does not
    depend on the order of the records.
    """

    passages: dict[str, tuple[Passage, ...]]
    answers: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Pool:
        gathering = Gathering()
        for fact in facts:
            gathering.add(fact)
        return gathering.pool()


class Gathering:
    """Builds a pool from a stream of facts, and keeps in memory little more than the pool will hold."""

    def __init__(self) -> None:
        self._passages: dict[str, dict[str, Passage]] = {}
        self._answers: dict[str, set[str]] = {}

    def add(self, fact: Fact) -> None:
        passage = fact.own or next(iter(fact.conflicting), None)
        if passage is not None:
            passages = self._passages.setdefault(fact.relation, {})
            known = passages.get(fact.subject)
            if known is None or (passage != known and _digest(passage.text) < _digest(known.text)):
                passages[fact.subject] = passage
            if len(passages) > 2 * POOLED:
                self._passages[fact.relation] = {subject: passages[subject] for subject in _smallest(passages)}
        answers = self._answers.setdefault(fact.relation, set())
        answers.update(passage.answer for passage in fact.conflicting)
        if fact.answer:
            answers.add(fact.answer)
        if len(answers) > 2 * POOLED:
            self._answers[fact.relation] = set(_smallest(answers))

    def pool(self) -> Pool:
        return Pool(
            {relation: tuple(known[s] for s in sorted(_smallest(known))) for relation, known in self._passages.items()},
            {relation: tuple(sorted(_smallest(known))) for relation, known in self._answers.items()},
        )


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _smallest(names: Collection[str]) -> list[str]:
    """At most POOLED of the names, by hash."""
    return list(names) if len(names) <= POOLED else heapq.nsmallest(POOLED, names, key=_digest)


def fixed_order(seed: int, fact_id: str) -> bytes:
    """The sort key by which questions are sampled. The records' order does not matter; a smaller limit takes a prefix."""
    return _digest(f"{seed}|{fact_id}")


def select(facts: Iterable[Fact], limit: int | None, seed: int, style: PromptStyle) -> tuple[Fact, ...]:
    """The first `limit` facts that the style admits, in the seed's fixed order; no more of them are held in memory."""
    admitted = (f for f in facts if f.conflicting and style.admits(f.subject, f.conflicting[0].answer))

    def order(fact: Fact) -> bytes:
        return fixed_order(seed, fact.id)

    return tuple(sorted(admitted, key=order) if limit is None else heapq.nsmallest(limit, admitted, key=order))


# The paper's caps: how many instances of one model, dataset and regime are explained, and how many of them the smaller
# groups may claim.
CAPS = {"short": 2000, "long": 1000}
MINORITY = 500


def sample(groups: Sequence[str], cap: int, minority: int = MINORITY) -> tuple[int, ...]:
    """The instances of a cell that are explained if there are more than its cap: their indices, ascending.

    groups: each instance's group, in the fixed order of the seed, so that the sample is seeded and by question. Each group
    that metrics compare first gets up to `minority` instances (fewer if the groups together would exceed the cap); the rest
    is filled in order, which keeps proportions. `other` and `ambiguous` come last, because no metric reads them.
    """
    if len(groups) <= cap:
        return tuple(range(len(groups)))
    by_group: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        if group not in ("other", "ambiguous"):
            by_group.setdefault(group, []).append(index)
    quota = min(minority, cap // max(1, len(by_group)))
    chosen = {index for members in by_group.values() for index in members[:quota]}
    eligible = sorted(index for members in by_group.values() for index in members)
    rest = [index for index in range(len(groups)) if groups[index] in ("other", "ambiguous")]
    for index in (*eligible, *rest):
        if len(chosen) >= cap:
            break
        chosen.add(index)
    return tuple(sorted(chosen))


def build(fact: Fact, regime: str, pool: Pool, seed: int, style: PromptStyle, place: int) -> Instance:
    """The instance of one fact under one regime. `place`: the fact's number among those selected.

    Raises Dropped if the fact has no such instance, HEvalError for an unknown regime.
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
