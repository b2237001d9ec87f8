"""Off-topic documents: about another subject and another relation, so that they cannot answer the question.

A dataset's own is used if it ships one. Otherwise it is a passage of another relation of the same dataset that names neither
our subject, nor any of our answers, nor any answer that the pool knows for our relation. (Country profiles name a capital
whatever is asked of them, and CounterFact has several relations whose answers are countries; a plausible answer would make
such a passage an irrelevant one.) Relations are drawn first, so that each is as frequent as any other. A dataset with a
single relation has no such passage, nor has one where none of DRAWS passages will do. They get a sentence or two from the
table of states (`datasets._states`), among others that make it about as long as the question's conflicting document; its
origin is `written`.
Departure: CUB knows only irrelevant contexts, and does not tell those of the same relation from others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from heval_core.datasets import _states
from heval_core.prompts import mentions
from heval_core.records import Document, Dropped, Fact, Passage
from heval_core.regimes.pool import Pool
from heval_core.regimes.styles import PromptStyle

DRAWS = 100


def off_topic(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    """Raises Dropped if nothing will do."""
    shipped = fact.off_topic
    if shipped and not shipped.stated:
        return Document(shipped.subject, shipped.answer, shipped.text, "off_topic", stated=False)
    rng = random.Random(f"{seed}|{fact.id}|off_topic")
    ours = _ours(fact)
    if shipped and _is_unrelated(shipped, fact, ours):
        return _document(shipped, "shipped")
    theirs = pool.answers.get(fact.relation, ())
    for origin, passages in (("shipped", _drawn(fact, pool, rng)), ("written", _written(fact, rng))):
        for passage in passages:
            unrelated = _is_unrelated(passage, fact, ours) and style.admits(fact.subject, passage.answer)
            if unrelated and not any(mentions(answer, passage.text) for answer in theirs):
                return _document(passage, origin)
    raise Dropped("no off-topic document")


def _ours(fact: Fact) -> tuple[str, ...]:
    return (fact.subject, fact.answer, *fact.accepted, *(passage.answer for passage in fact.conflicting))


def _is_unrelated(passage: Passage, fact: Fact, ours: tuple[str, ...]) -> bool:
    """Whether a passage states its answer, is about another subject, and names nothing of ours."""
    if not passage.stated or passage.subject == fact.subject or not mentions(passage.answer, passage.text):
        return False
    return not any(mentions(name, passage.text) for name in ours)


def _drawn(fact: Fact, pool: Pool, rng: random.Random) -> Iterator[Passage]:
    others = sorted(relation for relation in pool.passages if relation != fact.relation)
    for _ in range(DRAWS if others else 0):
        yield rng.choice(pool.passages[rng.choice(others)])


def _written(fact: Fact, rng: random.Random) -> Iterator[Passage]:
    beside = next(iter(fact.conflicting), fact.own)
    return _states.of_length(len(beside.text) if beside else 0, rng)


def _document(passage: Passage, origin: str) -> Document:
    return Document(passage.subject, passage.answer, passage.text, "off_topic", origin)
