"""Whether explainers look at the model: their scores, and those on the same model with shuffled weights.

A stage behind attributions: one task for each regime, of its first questions. The answer that is explained, and its
competitor, are those of the model as it is. Formula: `heval_core/metrics/randomised.py`.
Cost: four times what the explainers take, and a copy of the model in memory.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from heval_core.explaining import pipeline
from heval_core.explaining.pipeline import Answered, Prepared
from heval_core.lm.budget import NotEnoughMemory
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.shuffled import shuffled
from heval_core.plugins import catalogue
from heval_core.records import TECHNIQUE, UNCOMPARED, Cost, HEvalError
from heval_core.records.stored_instances import PlainPrompt
from heval_core.statistics.correlation import spearman
from heval_core.store.kinds import RANDOMISED
from heval_core.store.shards import FORMAT, Shard
from precompute.memory import AskingTask
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, ShardRow, named, together, total

# Of so many questions of a regime, where no other number is named.
QUESTIONS = 20
# Explainer and the question's id ▶ the scores of all tokens.
Scores = dict[tuple[str, str], np.ndarray]


@dataclass(frozen=True)
class RandomisedTask(AskingTask):
    """Explain the answers to some questions on the model and on the shuffled one; one shard."""

    explainers: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"shuffled weights, {len(self.indices)} questions"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: answers, and each explainer on four models."""
        parts = [together(["instance"], tokens), *(together(self.explainers, tokens) for _ in range(4))]
        return total((len(self.indices), part) for part in parts)

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        """Compare the scores. An explainer that the model refuses has no rows; any other that fails is noted."""
        (key,), failures = self.keys, list[Failure]()
        answered = self._answered(ready, questions)
        before = self._scores(ready, answered, failures)
        after = {depth: self._scores(lm, answered, failures) for depth, lm in shuffled(ready)} if answered else {}
        rows = [
            row
            for prepared in (prepared for part in answered for prepared in part.prepared)
            for row in self._rows(ready, prepared, before, after)
        ]
        return Result({key: rows}, failures)

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

    def _scores(self, lm: LanguageModel, answered: Sequence[Answered], failures: list[Failure]) -> Scores:
        """Return what explainers, and controls, say of the same answers under a model."""
        scores: Scores = {}
        for part in answered:
            under = dataclasses.replace(part, clean=CleanPass(lm, part.clean.prompts, padded=True))
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
                fact_ids = (prepared.instance.fact_id for prepared in part.prepared)
                scores |= {(key, fact_id): one.scores for fact_id, one in zip(fact_ids, explained, strict=True)}
            for prepared, behaviour in zip(part.prepared, part.behaviours, strict=True):
                prompt = PlainPrompt.of(prepared.prompt, behaviour, self.instance_id(lm.style, prepared.instance.fact_id))
                controls = catalogue.explainers(control=True).items()
                scores |= {(key, prepared.instance.fact_id): control.scores(prompt) for key, control in controls}
        return scores

    def _rows(self, lm: LanguageModel, prepared: Prepared, before: Scores, after: dict[str, Scores]) -> Iterator[ShardRow]:
        fact_id, ranked = prepared.instance.fact_id, slice(prepared.prompt.ranked.start, prepared.prompt.ranked.stop)
        for depth, scores in after.items():
            for key in dict.fromkeys(explainer for explainer, _ in before):
                if (key, fact_id) in before and (key, fact_id) in scores:
                    left = spearman(before[key, fact_id][ranked], scores[key, fact_id][ranked])
                    row = {"instance_id": self.instance_id(lm.style, fact_id), "explainer": key, "part": depth}
                    yield row | {"randomised": left}


def randomised_tasks(pair: Pair) -> list[RandomisedTask]:
    """List one task for each regime; none unless the grid asks for them. Of other explainers, the shard is another one."""
    grid, questions = pair.grid, pair.questions
    if not grid.randomised or not grid.explainers:
        return []
    number = QUESTIONS if isinstance(grid.randomised, bool) else grid.randomised
    indices = tuple(range(min(number, len(questions.facts))))
    depends = [FORMAT, "randomised", *pair.state.values(), [questions.facts[index].id for index in indices], grid.seed]
    depends += [[pair.identity_of(catalogue.method(key)) for key in grid.explainers], grid.memory, grid.match]
    tasks = []
    for regime in grid.regimes:
        where = {"regime": regime, "technique": TECHNIQUE, "stop": len(indices)}
        shard = pair.shard(RANDOMISED.name, [*depends, regime, pair.names_of(regime)], **where)
        tasks.append(RandomisedTask(pair.model, (shard,), grid, indices, grid.explainers))
    return tasks
