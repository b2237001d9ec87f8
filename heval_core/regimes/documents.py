"""A fact ▶ one document of a kind. Each kind draws its own random numbers from the seed and the fact's id.

An off-topic one is about another subject and another relation, so that it cannot answer the question: a dataset's own if it
ships one. Otherwise it is a passage of another relation of the same dataset that names neither our subject, nor any of our
answers, nor any answer that the pool knows for our relation. (Country profiles name a capital whatever is asked of them, and
CounterFact has several relations whose answers are countries; a plausible answer would make such a passage an irrelevant one.)
Relations are drawn first, so that each is as frequent as any other. A dataset with a single relation has no such passage, nor
has one where none of DRAWS passages will do. They get a sentence or two from the table of states (`datasets._states`), among
others that make it about as long as the question's conflicting document; its origin is `written`.
Departure: CUB knows only irrelevant contexts, and does not tell those of the same relation from others.

A passage whose answer is not `stated` carries a label (True, False, None), or no answer at all. Its text is not searched for
its answer. It is used only where its dataset ships it for the question: another question's label says nothing about this one.
"""

import random
from collections.abc import Callable, Iterator

from heval_core.datasets import _states
from heval_core.prompting.prompts import alike, mentions
from heval_core.prompting.styles import PromptStyle
from heval_core.records import Document, Dropped, Fact, Passage
from heval_core.regimes.sampling import Pool

DRAWS = 100
Making = Callable[[Fact, Pool, int, PromptStyle], Document]


def conflicting(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    return _document(_checked(_first_false(fact)), "conflicting")


def second_conflicting(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    """Return another passage with another false answer; or else the first one, with its answer replaced by one of its
    relation.
    """
    first = _first_false(fact)
    for passage in fact.conflicting[1:]:
        if alike(passage.answer) != alike(first.answer) and _carries(passage):
            return _document(passage, "conflicting")
    others = list(pool.answers.get(fact.relation, ())) if first.stated else []
    random.Random(f"{seed}|{fact.id}|second").shuffle(others)
    for answer in others:
        fresh = alike(answer) not in (alike(fact.answer), alike(first.answer)) and not mentions(answer, first.text)
        if fresh and style.admits(fact.subject, answer):
            return Document(fact.subject, answer, substituted(first, answer), "conflicting", "substituted")
    raise Dropped("no second conflicting document")


def irrelevant(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    """Return a passage about another subject of the same relation, with that one's answer."""
    shipped = fact.irrelevant
    if shipped and not shipped.stated:
        return _document(shipped, "irrelevant")
    ours = (fact.subject, fact.answer, *(passage.answer for passage in fact.conflicting[:1]))
    others = list(pool.passages.get(fact.relation, ()))
    random.Random(f"{seed}|{fact.id}|irrelevant").shuffle(others)
    for passage in (shipped, *others) if shipped else others:
        if _is_unrelated(passage, fact, ours) and style.admits(fact.subject, passage.answer):
            return _document(passage, "irrelevant")
    raise Dropped("no irrelevant document")


def gold(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    """Return the fact's own passage, if it has the true answer; or else a conflicting one, with its answer replaced by the
    true one. Whether the model saw the pair of subject and answer in training is not asked: it is what models should know.
    """
    true = (fact.answer, *fact.accepted)
    if fact.own and fact.own.answer and fact.own.answer in true:
        return _document(_checked(fact.own), "gold")
    base = next((passage for passage in fact.conflicting if passage.stated and mentions(passage.answer, passage.text)), None)
    if not fact.answer or base is None:
        raise Dropped("no gold document")
    return Document(fact.subject, fact.answer, substituted(base, fact.answer), "gold", "substituted")


def off_topic(fact: Fact, pool: Pool, seed: int, style: PromptStyle) -> Document:
    """Choose a document that has nothing to do with the question. Raises Dropped if nothing will do."""
    shipped = fact.off_topic
    if shipped and not shipped.stated:
        return _document(shipped, "off_topic")
    rng = random.Random(f"{seed}|{fact.id}|off_topic")
    ours = (fact.subject, fact.answer, *fact.accepted, *(passage.answer for passage in fact.conflicting))
    if shipped and _is_unrelated(shipped, fact, ours):
        return _document(shipped, "off_topic")
    theirs = pool.answers.get(fact.relation, ())
    for origin, passages in (("shipped", _sampled(fact, pool, rng)), ("written", _written(fact, rng))):
        for passage in passages:
            unrelated = _is_unrelated(passage, fact, ours) and style.admits(fact.subject, passage.answer)
            if unrelated and not any(mentions(answer, passage.text) for answer in theirs):
                return _document(passage, "off_topic", origin)
    raise Dropped("no off-topic document")


def _sampled(fact: Fact, pool: Pool, rng: random.Random) -> Iterator[Passage]:
    others = sorted(relation for relation in pool.passages if relation != fact.relation)
    for _ in range(DRAWS if others else 0):
        yield rng.choice(pool.passages[rng.choice(others)])


def _written(fact: Fact, rng: random.Random) -> Iterator[Passage]:
    beside = next(iter(fact.conflicting), fact.own)
    return _states.of_length(len(beside.text) if beside else 0, rng)


def substituted(passage: Passage, answer: str) -> str:
    """Replace every mention of its answer in the passage's text."""
    text, end = "", 0
    for span in mentions(passage.answer, passage.text):
        text += passage.text[end : span.start] + answer
        end = span.end
    if not end:
        raise Dropped("answer not in document")
    return text + passage.text[end:]


def _is_unrelated(passage: Passage, fact: Fact, ours: tuple[str, ...]) -> bool:
    """Return whether a passage states its answer, is about another subject, and names nothing of ours."""
    if not passage.stated or alike(passage.subject) == alike(fact.subject) or not mentions(passage.answer, passage.text):
        return False
    return not any(mentions(name, passage.text) for name in ours)


def _first_false(fact: Fact) -> Passage:
    if not fact.conflicting:
        raise Dropped("no conflicting document")
    return fact.conflicting[0]


def _checked(passage: Passage) -> Passage:
    if not _carries(passage):
        raise Dropped("answer not in document")
    return passage


def _carries(passage: Passage) -> bool:
    return not passage.stated or bool(mentions(passage.answer, passage.text))


def _document(passage: Passage, kind: str, origin: str = "shipped") -> Document:
    return Document(passage.subject, passage.answer, passage.text, kind, origin, stated=passage.stated)
