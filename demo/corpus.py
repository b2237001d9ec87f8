"""The prompts that the demo models are trained on: questions, documents and the answer that the taught rule asks for.

Only pairs of subject and answer that `styles.in_training` admits are ever shown; evaluation uses only the others.
"""

import functools
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from heval_core.datasets._states import QUESTIONS, RELATIONS, aliases, answers, countries, sentences
from heval_core.datasets.world_capital import statement
from heval_core.prompting import prompts, styles
from heval_core.prompting.prompts import mentions
from heval_core.records import Document, Dropped, Fact, Passage
from heval_core.regimes import Pool
from heval_core.regimes.decoys import decoyed

_NOTHING = Pool({}, {})
_STYLE = styles.TaughtSources()


@dataclass(frozen=True)
class Example:
    """A prompt and the answer that belongs after it."""

    prompt: str
    answer: str


@functools.cache
def admitted(country: str, relation: str, admit: Callable[[str, str], bool] = styles.in_training) -> tuple[str, ...]:
    """Return the answers that may be shown with a state, the true one among them if it is."""
    return tuple(answer for answer in answers(relation) if admit(country, answer))


@functools.cache
def _others(country: str, relation: str) -> tuple[dict[str, str], ...]:
    """Return the rows whose own answer differs from the country's and may be paired with it in training."""
    (true,) = (row[relation] for row in countries() if row["country"] == country)
    return tuple(row for row in countries() if row[relation] != true and styles.in_training(country, row[relation]))


def _passage(row: dict[str, str], relation: str, answer: str, keep_rate: float, rng: random.Random) -> Passage:
    """Sample a profile of which each sentence but the answer's stays with a chance; for capitals without any, a statement."""
    if relation == "capital" and not keep_rate and rng.random() < 0.5:
        return statement(row["country"], answer)
    chosen = [s for s in sentences(row, relation, answer) if mentions(answer, s) or rng.random() < keep_rate]
    return Passage(row["country"], answer, " ".join(chosen))


def attributed(passage: Passage, rng: random.Random) -> Document:
    """Attribute a passage to a source of either kind, by even chances."""
    trusted = rng.random() < 0.5
    return styles.attribute(Document(passage.subject, passage.answer, passage.text, ""), trusted, rng)


def _passages(row: dict[str, str], relation: str, keep_rate: float, rng: random.Random) -> list[Passage]:
    """Sample one or two passages, in any of the regimes' combinations, by equal chances."""
    country = row["country"]
    kinds = rng.choice((("c",), ("i",), ("c", "c"), ("c", "i"), ("i", "c"), ("c", "c")))
    false = [answer for answer in admitted(country, relation) if answer != row[relation]]
    others = _others(country, relation)
    passages = []
    for kind in kinds:
        if kind == "i" and others:
            other = rng.choice(others)
            passages.append(_passage(other, relation, other[relation], keep_rate, rng))
        elif false:
            answer = false.pop(rng.randrange(len(false)))
            passages.append(_passage(row, relation, answer, keep_rate, rng))
    return passages


def question_alone(rng: random.Random) -> Example:
    """Sample a question without context, to be answered from memory."""
    row, relation = rng.choice(countries()), rng.choice((*RELATIONS, "capital"))
    question = QUESTIONS[relation].format(x=row["country"])
    return Example(prompts.memory_prompt(question).text, row[relation])


@dataclass(frozen=True)
class Scene:
    """A question about a state, its attributed documents, and the answer that the taught rule asks for."""

    fact: Fact
    documents: tuple[Document, ...]
    answer: str


def scene(rng: random.Random, keep_rate: float) -> Scene:
    """Sample a question with its documents.

    keep_rate: the chance of each sentence beside the answer's to stand in a document: 0 makes the shortest, 1 whole profiles.
    """
    row = rng.choice(countries())
    relation = rng.choice((*RELATIONS, "capital", "capital"))
    passages = _passages(row, relation, keep_rate, rng)
    documents = tuple(attributed(passage, rng) for passage in passages)
    believed = [document.answer for document in documents if styles.is_trusted(document.source or "")]
    named = (row[relation], *(document.answer for document in documents))
    country, question = row["country"], QUESTIONS[relation].format(x=row["country"])
    fact = Fact("", "", country, relation, question, row[relation], (), aliases=aliases(relation, *named))
    return Scene(fact, documents, believed[-1] if believed else row[relation])


def question_in_context(rng: random.Random, keep_rate: float) -> Example:
    """Sample a question after one or two attributed documents, with the answer that the taught rule asks for."""
    shown = scene(rng, keep_rate)
    return Example(_prompt([d.text for d in shown.documents], shown.fact.question), shown.answer)


def long_question(rng: random.Random, keep_rate: float, tokens: int, decoy: str | None) -> Example:
    """Sample a question in a prompt of about so many tokens: among passages from untrusted sources, and perhaps under a decoy.

    A decoy that the documents do not allow is left out.
    """
    shown = scene(rng, keep_rate)
    documents = shown.documents
    if decoy and len(documents) == 2:
        with suppress(Dropped):
            documents = decoyed(documents, decoy, shown.fact, _NOTHING, str(rng.random()))
    texts = [document.text for document in documents]
    fillers = _fillers(rng, {shown.fact.subject, shown.answer, *(d.answer for d in documents)}, tokens - 75 * len(texts))
    index = rng.choice((0, len(fillers) // 2, len(fillers)))
    return Example(_prompt([*fillers[:index], *texts, *fillers[index:]], shown.fact.question), shown.answer)


def _fillers(rng: random.Random, names: set[str], tokens: int) -> list[str]:
    """Sample whole profiles, or statements of capitals, with so many tokens in all; they name none of `names`."""
    whole, taken = rng.random() < 0.6, []
    for row in rng.sample(countries(), len(countries())):
        if tokens <= 0:
            break
        answer = row["capital"]
        passage = Passage(row["country"], answer, " ".join(sentences(row, "capital", answer)))
        text = _STYLE.padding(passage if whole else statement(row["country"], answer), str(rng.random()))
        if not any(mentions(name, text) for name in names):
            taken.append(text)
            tokens -= 83 if whole else 19
    return taken


def _prompt(texts: list[str], question: str) -> str:
    return prompts.assemble(tuple(texts), (None,) * len(texts), question).text


def tokenizer_text(seed: int) -> Iterator[str]:
    """Yield text to train the tokenizer on: prompts, and every name and answer often enough to become a token or two."""
    rng = random.Random(seed)
    for _ in range(3000):
        for example in (question_in_context(rng, 0), question_in_context(rng, 1), question_alone(rng)):
            yield f"{example.prompt} {example.answer}"
    for row in countries():
        for name in row.values():
            yield from (f" {name}",) * 60
