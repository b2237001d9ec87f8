"""What a model answers without documents, by question: which of it counts as memory, the task that asks, and instances that
are ready to be asked because it is known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from heval_core import regimes
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import MEMORY_TOKENS, Memory, ask, memory_of
from heval_core.explaining.pipeline import Prepared
from heval_core.lm.model import LanguageModel
from heval_core.prompting.answers import looks_like_answer
from heval_core.prompting.prompts import spelled
from heval_core.prompting.styles import style_of
from heval_core.records import TECHNIQUE, Dropped, Fact
from heval_core.store.kinds import MEMORY
from heval_core.store.shards import FORMAT
from precompute.grid import Grid
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Result, Task

# Questions per memory shard: enough to fill a GPU, few enough that an interruption costs little.
CHUNK = 512


@dataclass(frozen=True)
class Memories:
    """The model's continuations by question; a memory answer also depends on the fact whose true answer may begin one.

    rule: what may count as memory, one of `grid.MEMORIES`: what looks like an answer (`own`), only the dataset's true answer
    (`true`), or whatever the model says (`any`).
    """

    continuations: Mapping[str, tuple[int, ...]]
    rule: str = "any"

    def of(self, lm: LanguageModel, fact: Fact, pool: regimes.Pool) -> Memory:
        """Return the memory answer to a fact.

        pool: the dataset's, whose answers tell what looks like one. Raises Dropped where the memory answer must be the true
        one, and is not; one that looks like no answer says so itself.
        """
        ids = self.continuations[fact.question]
        memory = memory_of(lm, ids, fact.answer or None, fact.question)
        if not memory.text or self.rule == "any":
            return memory
        if self.rule == "true" and memory.text != fact.answer:
            raise Dropped("memory answer is not true")
        names = pool.aliases.get(fact.relation, {}).values()
        known = (fact.answer, *fact.accepted, *pool.answers.get(fact.relation, ()), *chain.from_iterable(names))
        _, matched, more = lm.decode(list(ids)).strip().partition(memory.text)  # which may be said again at the end
        ended = len(ids) < MEMORY_TOKENS or not matched or bool(more)
        is_answer = looks_like_answer(memory.text, known, ended, spelled(lm.template), fact.question)
        return replace(memory, is_answer=is_answer)

    @classmethod
    def collect(cls, lm: LanguageModel, facts: Iterable[Fact], rule: str = "any") -> Memories:
        """Ask the model the facts' questions, each once, without documents."""
        questions = list(dict.fromkeys(fact.question for fact in facts))
        return cls(dict(zip(questions, ask(lm, questions), strict=True)), rule)

    def only(self, questions: Collection[str]) -> Memories:
        return Memories({question: self.continuations[question] for question in questions}, self.rule)


@dataclass(frozen=True)
class MemoryTask(Task):
    """Ask some questions without documents, before they are asked with them; one shard."""

    texts: tuple[str, ...]

    counts = False

    @property
    def what(self) -> str:
        return f"memory of {len(self.texts)} questions"

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        answers = zip(self.texts, ask(ready, list(self.texts)), strict=True)
        rows = [{"question": question, "ids": list(ids), "text": ready.decode(list(ids)).strip()} for question, ids in answers]
        return Result({self.keys[0]: rows}, [])


def memory_tasks(pair: Pair) -> Iterator[MemoryTask]:
    """Yield tasks for the distinct questions in the fixed order, so that a larger limit adds to them."""
    model = pair.model.identity
    shared = [FORMAT, "memory", model.key, model.revision, pair.dtype, spelled(model.template), MEMORY_TOKENS]
    distinct = list(dict.fromkeys(fact.question for fact in pair.questions.facts))
    for start in range(0, len(distinct), CHUNK):
        questions = distinct[start : start + CHUNK]
        depends = [*shared, pair.questions.dataset, questions]
        shard = pair.shard(MEMORY.name, depends, settings="", stop=len(questions))
        yield MemoryTask(pair.model, (shard,), tuple(questions))


@dataclass(frozen=True)
class Prompting:
    """How questions become instances of a regime. seed, match: see `Grid`."""

    regime: str
    seed: int
    memories: Memories
    match: str = "first"

    def each(
        self, lm: LanguageModel, questions: Questions, indices: Iterable[int]
    ) -> Iterator[tuple[int, Prepared | Exception]]:
        """Yield (index of the question, its instance); Dropped where there is none, and whatever else prevents one."""
        for index in indices:
            fact = questions.facts[index]
            prepared: Prepared | Exception
            try:
                instance = regimes.build(fact, self.regime, questions.pool, self.seed, style_of(lm), index)
                prepared = pipeline.prepare(lm, instance, self.memories.of(lm, fact, questions.pool), self.match)
            except Exception as error:  # whatever one instance does, the others go on
                prepared = error
            yield index, prepared

    def usable(
        self,
        lm: LanguageModel,
        questions: Questions,
        indices: Iterable[int],
        dropped: Callable[[str], None] = lambda reason: None,
    ) -> Iterator[Prepared]:
        """Yield the instances that are not dropped.

        dropped: is called with why each of the others is. Raises what prevents one.
        """
        for _, prepared in self.each(lm, questions, indices):
            if isinstance(prepared, Dropped):
                dropped(prepared.reason)
            elif isinstance(prepared, Exception):
                raise prepared
            elif prepared.dropped_because:
                dropped(prepared.dropped_because)
            else:
                yield prepared


@dataclass(frozen=True)
class AskingTask(Task):
    """Asks some questions with documents. grid: how. indices: their numbers in the fixed order, ascending. memories: of these
    questions, which the driver adds."""

    grid: Grid
    indices: tuple[int, ...]
    memories: Memories = field(default=Memories({}), repr=False, kw_only=True)

    @property
    def prompting(self) -> Prompting:
        return Prompting(self.regime_key.regime, self.grid.seed, self.memories, self.grid.match)

    def instance_id(self, style: str, fact_id: str, technique: str = TECHNIQUE) -> str:
        first = self.shards[0]
        parts = (first.model, first.revision, first.dataset, first.regime, technique, style, fact_id, str(self.grid.seed))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
