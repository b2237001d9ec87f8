"""What each layout gives: the shares of answers that can be compared, and what becomes of the others. Nothing is explained.

So a layout is chosen by how a model answers in it, never by what explainers say of its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from heval_core import pipeline
from heval_core.evaluation.usable import compared_in
from heval_core.lm.model import LanguageModel
from heval_core.prompt_styles import style_of
from heval_core.records import Dropped
from precompute.memory import Memories, Prompting
from precompute.questions import Questions, load_questions

# One regime of one document, and one of two.
REGIMES = ("conflicting", "mixed")


@dataclass(frozen=True)
class Tried:
    """A layout on some questions. counts: answers by group, and what was dropped by reason. right: true memory answers."""

    model: str
    dataset: str
    regime: str
    template: str
    counts: Counter[str]
    right: int

    @property
    def asked(self) -> int:
        return self.counts.total()

    @property
    def compared(self) -> int:
        """Answers in a group that metrics compare."""
        return sum(self.counts[group] for group in compared_in(self.regime))

    def line(self) -> str:
        most = ", ".join(f"{name} {count}" for name, count in self.counts.most_common())
        share = self.compared / max(1, self.asked)
        return f"{self.template:12} {share:5.0%} of {self.asked} compared, memory right {self.right:3}: {most}"


def tried(
    lm: LanguageModel, dataset: str, templates: Iterable[str], limit: int, seed: int, memory: str, match: str
) -> Iterator[Tried]:
    """Each layout on the same questions. limit: how many. memory, match: see `Grid`. Raises HEvalError as `asked_in` does."""
    questions = load_questions(dataset, limit, seed, style_of(lm))
    for template in templates:
        with lm.asked_in(template):
            memories = Memories.asked(lm, questions.facts, memory)
            for regime in REGIMES:
                counts, right = _answers(lm, questions, memories, regime, seed, match)
                yield Tried(lm.key, questions.dataset, regime, template, counts, right)


def _answers(
    lm: LanguageModel, questions: Questions, memories: Memories, regime: str, seed: int, match: str
) -> tuple[Counter[str], int]:
    counts, ready, right = Counter[str](), list[pipeline.Prepared](), 0
    for fact in questions.facts:
        with suppress(Dropped):
            right += memories.of(lm, fact, questions.pool).text == fact.answer
    for _, prepared in Prompting(regime, seed, memories, match).each(lm, questions, range(len(questions.facts))):
        if isinstance(prepared, Dropped):
            counts[prepared.reason] += 1
        elif isinstance(prepared, Exception):
            raise prepared
        elif prepared.dropped_because:
            counts[prepared.dropped_because] += 1
        else:
            ready.append(prepared)

    def answered(batch: list[pipeline.Prepared]) -> None:
        counts.update(behaviour.group for behaviour in pipeline.answer(lm, batch, match).behaviours)

    pipeline.in_batches(lm, pipeline.going_on(lm, ready) if match == "within" else ready, answered)
    return counts, right
