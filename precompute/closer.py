"""Stages behind attributions that look closer at the first questions of each regime; one task, and one shard, for each regime.

The answer that is explained, and its competitor, are those of the model as it is.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from heval_core.explaining import pipeline
from heval_core.explaining.pipeline import Answered, Prepared
from heval_core.lm.budget import NotEnoughMemory
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.plugins import catalogue
from heval_core.records import TECHNIQUE, UNCOMPARED, HEvalError
from heval_core.records.stored_instances import PlainPrompt
from heval_core.store.shards import FORMAT, Shard
from precompute.memory import AskingTask
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, ShardRow, named

# Of so many questions of a regime, where no other number is named.
QUESTIONS = 20
# Explainer and the question's id ▶ the scores of all tokens.
Scores = Mapping[tuple[str, str], np.ndarray]


@dataclass(frozen=True)
class CloserTask(AskingTask):
    """Look closer at some questions with some explainers, and with all controls."""

    explainers: tuple[str, ...]

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        """Compute the rows. An explainer that the model refuses has none; any other that fails is noted."""
        (key,), failures = self.keys, list[Failure]()
        answered = self._answered(ready, questions)
        return Result({key: list(self.rows(ready, answered, failures)) if answered else []}, failures)

    def rows(self, lm: LanguageModel, answered: Sequence[Answered], failures: list[Failure]) -> Iterator[ShardRow]:
        """Yield the shard's rows of answered questions, and add what failed to failures."""
        raise NotImplementedError

    def failed(self, shard: Shard, result: Result) -> int:
        return len(result.failures)

    def _answered(self, lm: LanguageModel, questions: Questions) -> list[Answered]:
        """Answer the questions. Those with an answer that no metric compares are left out."""
        parts = list[Answered]()

        def work(batch: list[Prepared]) -> None:
            answered = pipeline.answer(lm, batch, self.grid.match)
            groups = [behaviour.explained_group for behaviour in answered.behaviours]
            chosen = [index for index, group in enumerate(groups) if group not in UNCOMPARED]
            if chosen:
                parts.append(pipeline.part_of(answered, chosen))

        usable = list(self.prompting.usable(lm, questions, self.indices))
        pipeline.in_batches(lm, pipeline.going_on(lm, usable) if self.grid.match == "within" else usable, work)
        return parts

    def scores(self, lm: LanguageModel, answered: Sequence[Answered], failures: list[Failure]) -> Scores:
        """Return what explainers, and controls, say of the same answers under a model."""
        scores: dict[tuple[str, str], np.ndarray] = {}
        for part in answered:
            under = dataclasses.replace(part, clean=CleanPass(lm, part.clean.prompts, padded=True))
            fact_ids = [prepared.instance.fact_id for prepared in part.prepared]
            for key in self.explainers:
                try:
                    explain = partial(pipeline.explain, under, catalogue.method(key))
                    explained = lm.budget.within(under.clean.length, explain)
                except NotEnoughMemory:
                    raise
                except HEvalError:
                    continue  # as its attributions say
                except Exception as error:  # whatever one explainer does, the others go on
                    failures.append(Failure(key, self.name, named(error)))
                    continue
                scores |= {(key, fact_id): one.scores for fact_id, one in zip(fact_ids, explained, strict=True)}
            for prepared, behaviour, fact_id in zip(part.prepared, part.behaviours, fact_ids, strict=True):
                prompt = PlainPrompt.of(prepared.prompt, behaviour, self.instance_id(lm.style, fact_id))
                controls = catalogue.explainers(control=True).items()
                scores |= {(key, fact_id): control.scores(prompt) for key, control in controls}
        return scores


Closer = TypeVar("Closer", bound=CloserTask)


def closer_tasks(pair: Pair, task: type[Closer], kind: str, asked_for: bool | int, how: Sequence[Any] = ()) -> list[Closer]:
    """List one task for each regime; none unless the grid asks for them. Of other explainers, the shard is another one.

    kind: of the shards. asked_for: as the grid has it; a number is of questions. how: what else a shard depends on.
    """
    grid, questions = pair.grid, pair.questions
    if not asked_for or not grid.explainers:
        return []
    number = QUESTIONS if isinstance(asked_for, bool) else asked_for
    indices = tuple(range(min(number, len(questions.facts))))
    depends = [FORMAT, kind, *pair.state.values(), [questions.facts[index].id for index in indices], grid.seed]
    depends += [[pair.identity_of(catalogue.method(key)) for key in grid.explainers], grid.memory, grid.match, *how]
    tasks = []
    for regime in grid.regimes:
        where = {"regime": regime, "technique": TECHNIQUE, "stop": len(indices)}
        shard = pair.shard(kind, [*depends, regime, pair.names_of(regime)], **where)
        tasks.append(task(pair.model, (shard,), grid, indices, grid.explainers))
    return tasks
