"""What a model answers without context, by question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from heval_core.behaviour import Memory, ask, memory_of
from heval_core.lm.model import LanguageModel
from heval_core.records import Dropped, Fact


@dataclass(frozen=True)
class Memories:
    """The model's continuations by question; a memory answer also depends on the fact whose true answer may begin one.

    must_be_true: whether a model that remembers something else may not be asked (`--memory true`).
    """

    continuations: Mapping[str, tuple[int, ...]]
    must_be_true: bool = False

    def of(self, lm: LanguageModel, fact: Fact) -> Memory:
        """Raises Dropped where the memory answer must be the true one, and is not."""
        memory = memory_of(lm, self.continuations[fact.question], fact.answer or None, fact.question)
        if self.must_be_true and memory.text and memory.text != fact.answer:
            raise Dropped("memory answer is not true")
        return memory

    @classmethod
    def asked(cls, lm: LanguageModel, facts: Iterable[Fact], must_be_true: bool = False) -> Memories:
        """The model's answers to the facts' questions; each question is asked once."""
        questions = list(dict.fromkeys(fact.question for fact in facts))
        return cls(dict(zip(questions, ask(lm, questions), strict=True)), must_be_true)

    def only(self, questions: Collection[str]) -> Memories:
        """Those of some questions."""
        return Memories({question: self.continuations[question] for question in questions}, self.must_be_true)
