"""Samples that depend on the seed and on hashes alone, never on the order of the records.

What a dataset's facts offer other questions (`Pool`), which questions are asked, and which of their instances are explained.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from heval_core.datasets._quoted import Quoted
from heval_core.prompting.styles import PromptStyle
from heval_core.records import UNCOMPARED, Fact, Passage

# How many passages and answers a relation offers other questions. More would cost memory and time, and help no search.
POOLED = 400
DIGEST_SIZE = 12
# The paper's caps: how many instances of one model, dataset and regime are explained, and how many of them the smaller
# groups may claim.
CAPS = {"short": 2000, "long": 1000}
MINORITY = 500


@dataclass(frozen=True)
class Pool:
    """What a dataset's facts offer other questions: per relation, one passage for each subject, answers, and their names.

    aliases: relation ▶ answer ▶ other names of it.

    A relation with more than POOLED subjects (or answers) offers those with the smallest hashes: a sample that does not
    depend on the order of the records.
    """

    passages: dict[str, tuple[Passage, ...]]
    answers: dict[str, tuple[str, ...]]
    aliases: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)

    @cached_property
    def every(self) -> tuple[Passage, ...]:
        """One passage for each text, of all relations, sorted by it."""
        texts = {passage.text: passage for relation in sorted(self.passages) for passage in self.passages[relation]}
        return tuple(texts[text] for text in sorted(texts))

    @cached_property
    def names_digest(self) -> str:
        """A hash of all other names."""
        return digest(repr(self.aliases)).hex()

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Pool:
        gathering = Gathering()
        for fact in facts:
            gathering.add(fact)
        return gathering.pool()


class Gathering:
    """Builds a pool from a stream of facts, and keeps in memory little more than the pool will hold."""

    def __init__(self) -> None:
        # Relation ▶ what it offers ▶ what belongs to that: to a subject its passage, to an answer nothing, or its other names.
        self._passages: dict[str, dict[str, Passage]] = {}
        self._answers: dict[str, dict[str, None]] = {}
        self._aliases: dict[str, dict[str, tuple[str, ...]]] = {}

    def add(self, fact: Fact) -> None:
        passages, passage = self._passages.setdefault(fact.relation, {}), fact.own or next(iter(fact.conflicting), None)
        known = passages.get(fact.subject)
        # Most facts offer what is known: comparing costs less than hashing.
        differs = passage is not known and passage != known
        if passage and differs and (known is None or digest(passage.text) < digest(known.text)):
            passages[fact.subject] = passage
        answers = self._answers.setdefault(fact.relation, {})
        for false in fact.conflicting:
            answers[false.answer] = None
        if fact.answer:
            answers[fact.answer] = None
        aliases = self._aliases.setdefault(fact.relation, {})
        for answer, names in [*[(answer, (name,)) for answer, name in fact.aliases], (fact.answer, fact.accepted)]:
            named = aliases.get(answer)
            # Of several sets of names an answer keeps the one with the smallest hash.
            if answer and names and names != named and (named is None or _order(names) < _order(named)):
                aliases[answer] = names
        everything: tuple[dict[str, Any], ...] = (passages, answers, aliases)
        for offered in everything:
            if len(offered) > 2 * POOLED:
                for name in offered.keys() - set(_smallest(offered)):
                    del offered[name]

    def pool(self) -> Pool:
        def offered(kind: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
            return {of: {name: known[name] for name in sorted(_smallest(known))} for of, known in kind.items() if known}

        passages, answers = offered(self._passages), offered(self._answers)
        every_passage = {relation: tuple(known.values()) for relation, known in passages.items()}
        return Pool(every_passage, {relation: tuple(known) for relation, known in answers.items()}, offered(self._aliases))


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


def _order(names: tuple[str, ...]) -> bytes:
    return digest("\x1f".join(names))


def _smallest(names: Collection[str]) -> list[str]:
    """Return at most POOLED of the names, by hash."""
    return list(names) if len(names) <= POOLED else heapq.nsmallest(POOLED, names, key=digest)


def in_fixed_order(seed: int, fact_ids: Sequence[str]) -> list[int]:
    """Order the indices of the ids as the seed fixes it, in one loop: a data set has tens of thousands."""
    texts = [f"{seed}|{fact_id}".encode("utf-8", "surrogatepass") for fact_id in fact_ids]
    keys = [hashlib.blake2b(text, digest_size=DIGEST_SIZE).digest() for text in texts]
    return sorted(range(len(keys)), key=keys.__getitem__)


def may_be_asked(style: PromptStyle, fact: Fact) -> bool:
    """Return whether a fact has documents, and the style admits its first false answer."""
    if fact.conflicting:
        return style.admits(fact.subject, fact.conflicting[0].answer)
    return isinstance(fact, Quoted) or any((fact.own, fact.irrelevant, fact.off_topic))


def first(facts: Iterable[Fact], limit: int | None, seed: int) -> tuple[Fact, ...]:
    """Return the first `limit` facts in the seed's fixed order; no more of them are held in memory.

    The records' order does not matter, and a smaller limit takes a prefix.
    """

    def order(fact: Fact) -> bytes:
        return digest(f"{seed}|{fact.id}")

    return tuple(sorted(facts, key=order) if limit is None else heapq.nsmallest(limit, facts, key=order))


def sample(groups: Sequence[str], cap: int, minority: int = MINORITY) -> tuple[int, ...]:
    """Sample the instances of a cell that are explained if there are more than its cap: their indices, ascending.

    groups: each instance's group, in the fixed order of the seed, so that the sample is seeded and by question. Each group
    that metrics compare first gets up to `minority` instances (fewer if the groups together would exceed the cap); the rest
    is filled in order, which keeps proportions. Groups that no metric reads come last.
    """
    if len(groups) <= cap:
        return tuple(range(len(groups)))
    by_group: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        if group not in UNCOMPARED:
            by_group.setdefault(group, []).append(index)
    quota = min(minority, cap // max(1, len(by_group)))
    chosen = {index for members in by_group.values() for index in members[:quota]}
    for index in sorted(range(len(groups)), key=lambda index: groups[index] in UNCOMPARED):
        if len(chosen) >= cap:
            break
        chosen.add(index)
    return tuple(sorted(chosen))
