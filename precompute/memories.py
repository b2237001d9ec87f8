"""What a model answers without context, by question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from heval_core.answers import looks_like_answer
from heval_core.behaviour import MEMORY_TOKENS, Memory, ask, memory_of
from heval_core.lm.model import LanguageModel
from heval_core.prompts import spelled
from heval_core.records import Dropped, Fact
from heval_core.regimes import Pool


@dataclass(frozen=True)
class Memories:
    """The model's continuations by question; a memory answer also depends on the fact whose true answer may begin one.

    rule: what may count as memory, one of `grid.MEMORIES`: what looks like an answer (`own`), only the dataset's true answer
    (`true`), or whatever the model says (`any`).
    """

    continuations: Mapping[str, tuple[int, ...]]
    rule: str = "any"

    def of(self, lm: LanguageModel, fact: Fact, pool: Pool) -> Memory:
        """pool: the dataset's, whose answers tell what looks like one.

        Raises Dropped where the memory answer must be the true one, and is not; one that looks like no answer says so itself.
        """
        ids = self.continuations[fact.question]
        memory = memory_of(lm, ids, fact.answer or None, fact.question)
        if not memory.text or self.rule == "any":
            return memory
        if self.rule == "true" and memory.text != fact.answer:
            raise Dropped("memory answer is not true")
        names = pool.aliases.get(fact.relation, {}).values()
        known = (fact.answer, *fact.accepted, *pool.answers.get(fact.relation, ()), *chain.from_iterable(names))
        ended = len(ids) < MEMORY_TOKENS or not lm.decode(list(ids)).strip().endswith(memory.text)
        is_answer = looks_like_answer(memory.text, known, ended, spelled(lm.template), fact.question)
        return replace(memory, is_answer=is_answer)

    @classmethod
    def asked(cls, lm: LanguageModel, facts: Iterable[Fact], rule: str = "any") -> Memories:
        """The model's answers to the facts' questions; each question is asked once."""
        questions = list(dict.fromkeys(fact.question for fact in facts))
        return cls(dict(zip(questions, ask(lm, questions), strict=True)), rule)

    def only(self, questions: Collection[str]) -> Memories:
        """Those of some questions."""
        return Memories({question: self.continuations[question] for question in questions}, self.rule)
