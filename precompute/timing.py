"""What each explainer takes by itself: a stage after the attributions of a model, dataset and regime.

Every explainer is run alone, on a clean pass of its own, so that work that explainers otherwise share is in each one's time.
All take turns on the same few prompts, in one batch: a round to warm up, then ROUNDS, of which the least counts. YARDSTICK
is always among them. Numbers of two runs, or of two machines, compare by their ratio to the yardstick of the same run alone.

The prompts are of one length, the one that most of a regime's first kept instances have; of several, that nearest the median.

Formula: seconds = min over rounds of (end - start) / batch. The first of them also counts passes, as they are made.
Cost: 4 x 8 = 32 explanations of each explainer, in a regime of any size: 16 % of what 200 instances take, 2 % of 2,000. Of
prompts above 128 tokens fewer.
"""

import dataclasses
import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from statistics import median
from typing import Any

from heval_core.explaining import pipeline
from heval_core.explaining.pipeline import Answered, Prepared
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.model import LanguageModel
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.records import TECHNIQUE, Cost, HEvalError
from heval_core.store.kinds import TIMING
from heval_core.store.shards import FORMAT, Shard
from precompute.memory import AskingTask
from precompute.pair import Pair
from precompute.questions import Questions
from precompute.task import Failure, Result, ShardRow, cost, named, now, total

PROMPTS, ROUNDS = 8, 3
# Fewer prompts where these many tokens come to fewer: feature ablation of 1,024 tokens takes a minute on one core.
TOKENS = 1024
# The prompts are chosen among the kept ones of so many questions.
LOOKED_AT = 40
YARDSTICK = "fa"


@dataclass(frozen=True)
class TimingTask(AskingTask):
    """Time the explainers of a regime; one shard. indices: of the questions that prompts are chosen from."""

    explainers: tuple[str, ...]

    alone = True

    @property
    def what(self) -> str:
        return f"seconds of {len(self.explainers)} explainers"

    def cost(self, tokens: float) -> Cost:
        """Return the cost: each is run so often on a few prompts."""
        times_run = (ROUNDS + 1) * min(prompts_of(tokens), len(self.indices))
        return total((times_run, cost(key, tokens)) for key in self.explainers)

    def do(self, ready: LanguageModel, questions: Questions) -> Result:
        """Time each explainer.

        One that the model refuses has no row: its attributions say why. Any other that fails is noted.
        """
        lm, (key,) = ready, self.keys
        chosen = alike(list(self.prompting.usable(lm, questions, self.indices)), lm.budget.batch_size)
        if not chosen:
            return Result({key: []}, [])
        length, budget = len(chosen[0].prompt.ids), lm.budget
        answered = budget.within(length, lambda: pipeline.answer(lm, chosen[: budget.batch_size(length)], self.grid.match))
        rows, failed = alone(answered, [catalogue.method(explainer) for explainer in self.explainers])
        common = {
            "batch": answered.clean.size,
            "length": length,
            "yardstick": next((row["seconds"] for row in rows if row["explainer"] == YARDSTICK), None),
            "device": lm.device.type,
            "measured": now(),
        }
        failures = [Failure(explainer, self.name, named(error)) for explainer, error in failed.items()]
        return Result({key: [common | row for row in rows]}, failures)

    def failed(self, shard: Shard, result: Result) -> int:
        return len(result.failures)


def alike(prepared: Sequence[Prepared], batch_size: Callable[[int], int]) -> list[Prepared]:
    """Return the first instances of one length: at most PROMPTS, and as TOKENS allow. batch_size: how many run together."""
    if not prepared:
        return []
    middle, groups = median(map(_length, prepared)), dict[int, list[Prepared]]()
    for tokens, same in groupby(sorted(prepared, key=_length), _length):
        groups[tokens] = list(same)[: min(prompts_of(tokens), batch_size(tokens))]
    return groups[min(groups, key=lambda tokens: (-len(groups[tokens]), abs(tokens - middle), tokens))]


def prompts_of(tokens: float) -> int:
    """Return how many prompts of a length are timed."""
    return min(PROMPTS, max(1, int(TOKENS // max(tokens, 1))))


def _length(prepared: Prepared) -> int:
    return len(prepared.prompt.ids)


def alone(answered: Answered, explainers: Iterable[Method]) -> tuple[list[ShardRow], dict[str, Exception]]:
    """Time each explainer by itself for one prompt. Returns rows, and the errors of those that failed, but were not refused.

    passes: see `heval_core.lm.passes`; None where the round that counts them had to be run again in smaller batches.
    """
    lm, length, size = answered.clean.lm, answered.clean.length, answered.clean.size
    passes: dict[str, float] = {}

    def step(explainer: Method) -> Callable[[], Any]:
        rounds = count()

        def attempt() -> Any:
            fresh = dataclasses.replace(answered, clean=CleanPass(lm, answered.clean.prompts))
            if next(rounds) != 1:
                return pipeline.explain(fresh, explainer)
            # Counting takes time: the least of the other rounds is what it was.
            with counting(lm) as counted:
                attributions = pipeline.explain(fresh, explainer)
            passes[explainer.key] = counted.passes(size, length)
            return attributions

        return lambda: lm.budget.within(length, attempt)

    least, failed = in_turns({explainer.key: step(explainer) for explainer in explainers})
    rows = [{"explainer": key, "seconds": seconds / size, "passes": passes.get(key)} for key, seconds in least.items()]
    return rows, {key: error for key, error in failed.items() if not isinstance(error, HEvalError)}


def in_turns(
    steps: Mapping[str, Callable[[], Any]], now: Callable[[], float] = time.perf_counter, rounds: int = ROUNDS
) -> tuple[dict[str, float], dict[str, Exception]]:
    """Time each step: the least seconds over rounds, after one to warm up; and the errors of those that fail, which end there.

    now: the time in seconds.
    """
    least: dict[str, float] = {}
    failed: dict[str, Exception] = {}
    for number in range(rounds + 1):
        gc.collect()
        for key, step in steps.items():
            if key in failed:
                continue
            started = now()
            try:
                step()
            except Exception as error:  # whatever one explainer does, the others are timed
                failed[key] = error
            else:
                taken = now() - started
                least |= {key: min(taken, least.get(key, taken))} if number or not rounds else {}
    return {key: seconds for key, seconds in least.items() if key not in failed}, failed


def timing_tasks(pair: Pair) -> list[TimingTask]:
    """List one task for each regime; none unless the grid asks for them. Of other explainers, the shard is another one."""
    grid, questions = pair.grid, pair.questions
    if not grid.timing or not grid.explainers:
        return []
    explainers = tuple(dict.fromkeys((YARDSTICK, *grid.explainers)))
    indices = tuple(range(min(LOOKED_AT, len(questions.facts))))
    depends: list[Any] = [FORMAT, "timing", PROMPTS, ROUNDS, *pair.state.values()]
    depends += [[questions.facts[index].id for index in indices], grid.seed]
    depends += [[pair.identity_of(catalogue.method(key)) for key in explainers]]
    tasks = []
    for regime in grid.regimes:
        where = {"regime": regime, "technique": TECHNIQUE, "stop": len(indices)}
        shard = pair.shard(TIMING.name, [*depends, regime, pair.names_of(regime)], **where)
        tasks.append(TimingTask(pair.model, (shard,), grid, indices, explainers))
    return tasks
