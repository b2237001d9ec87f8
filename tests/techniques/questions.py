"""Development questions, put together by hand."""

from __future__ import annotations

import torch

from heval_core import catalogue, regimes
from heval_core.prompt_styles import style_of
from heval_core.prompts import memory_prompt
from heval_core.records import Document, Instance
from heval_core.techniques.shared.base import Development, Question
from tests.asked import select


def instance(subject, true, answer, relation="capital", text="The capital of {s} is {a}.", accepted=()) -> Instance:
    """A conflicting instance about a subject, whose document gives `answer`."""
    document = Document(subject, answer, text.format(s=subject, a=answer), "conflicting")
    question = f"What is the capital of {subject}?"
    name = f"test|conflicting|{subject}"
    return Instance(name, "test", "conflicting", subject, subject, relation, question, true, (document,), None, accepted)


def next_ids(lm, prompts) -> list[int]:
    """The greedy next token of each prompt; prompts of equal length are run together."""
    ids = [lm.tokenise(prompt).ids for prompt in prompts]
    found = {}
    for length in {len(own) for own in ids}:
        alike = sorted({own for own in ids if len(own) == length})
        for start in range(0, len(alike), 64):
            rows = alike[start : start + 64]
            logits = lm.forward.logits(torch.tensor(rows, device=lm.device))
            found.update(zip(rows, logits.argmax(-1).tolist(), strict=True))
    return [found[own] for own in ids]


def development_of(lm, count, kinds=("conflicting", "irrelevant")) -> Development:
    """The first questions of world_capital whose answer the model knows."""
    style = style_of(lm)
    facts = list(catalogue.find("dataset", "world_capital").facts())
    pool = regimes.Pool.of(facts)
    chosen = select(facts, None, 0, style)
    memories = next_ids(lm, [memory_prompt(fact.question, lm.template) for fact in chosen])
    known = [(fact, own) for fact, own in zip(chosen, memories, strict=True) if own in lm.first_tokens(fact.answer)][:count]
    questions = {}
    for kind in kinds:
        built = [(regimes.build(fact, kind, pool, 0, style, place), own) for place, (fact, own) in enumerate(known)]
        questions[kind] = tuple(Question(i, lm.first_tokens(i.documents[0].answer), own) for i, own in built)
    return Development(lm, "world_capital", questions)
