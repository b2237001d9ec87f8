"""Development questions, put together by hand."""

from __future__ import annotations

from heval_core import regimes
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import memory_prompt
from heval_core.prompting.styles import style_of
from heval_core.records import Document, Instance
from heval_core.techniques.shared.base import Answerable, Development
from tests.asked import select


def instance(subject, true, answer, relation="capital", text="The capital of {s} is {a}.", accepted=()) -> Instance:
    """A conflicting instance about a subject, whose document gives `answer`."""
    document = Document(subject, answer, text.format(s=subject, a=answer), "conflicting")
    question = f"What is the capital of {subject}?"
    name = f"test|conflicting|{subject}"
    return Instance(name, "test", "conflicting", subject, subject, relation, question, true, (document,), None, accepted)


def development_of(lm, count, kinds=("conflicting", "irrelevant")) -> Development:
    """The first questions of world_capital whose answer the model knows: more than one in fifty."""
    style = style_of(lm)
    facts = list(catalogue.find("dataset", "world_capital").facts())
    pool = regimes.Pool.of(facts)
    chosen = select(facts, 50 * count, 0, style)
    prompts = [lm.tokenise(memory_prompt(fact.question, lm.template)).ids for fact in chosen]
    memories = [(*said, None)[0] for said in lm.generation.greedy(prompts, 1)]
    known = [(fact, own) for fact, own in zip(chosen, memories, strict=True) if own in lm.first_tokens(fact.answer)][:count]
    questions = {}
    for kind in kinds:
        built = [(regimes.build(fact, kind, pool, 0, style, place), own) for place, (fact, own) in enumerate(known)]
        questions[kind] = tuple(Answerable(i, lm.first_tokens(i.documents[0].answer), own) for i, own in built)
    return Development(lm, "world_capital", questions)
