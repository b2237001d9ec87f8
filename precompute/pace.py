"""How long a grid's tasks take: from the store's journal where such tasks have ended, else from the first questions of one.

Tasks are alike that make the same kinds of shards, by the same explainers, of prompts of similar length, under the same
technique. The seconds of one, over its cost in tokens, hold for the others. Where several processes will work, as many work on
the sample too, for they share the machine.
"""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from heval_core.explaining.behaviour import MEMORY_TOKENS
from heval_core.lm.loading import choose_device, choose_dtype
from heval_core.new_processes import cores, free_memory
from heval_core.records import HEvalError
from precompute.closer import CloserTask
from precompute.compute import JobTask
from precompute.grid import Grid
from precompute.highlights import Highlights, job_tasks
from precompute.memory import AskingTask, Memories, MemoryTask, memory_tasks
from precompute.processes import on_processes, processes_for
from precompute.quoted import QuotedTask
from precompute.run import loading_of
from precompute.searches import SearchTask
from precompute.task import Task, missing_from, unfinished
from precompute.timing import TimingTask
from precompute.worker import Done, Executor

# Questions of a sample are four times as many until it takes so many seconds, or is as large as a shard.
ENOUGH, AGAIN = 4.0, 4
# A sample leaves out explainers that would make it longer, in seconds, by the pace of the model's memory.
LONGEST = 30.0

Alike = tuple[Any, ...]
# Tasks of which a part can be done.
OfQuestions = JobTask | QuotedTask | CloserTask | TimingTask


def workers_of(grid: Grid, rows: Mapping[Any, int]) -> int:
    """Return how many processes a run of a grid would have by itself. rows: as `Executor.expect` hears them."""
    device = choose_device(grid.device)
    if device.type != "cpu":
        return 1
    return processes_for(rows, choose_dtype(grid.dtype, device), cores(), free_memory())[0]


class Pace:
    """The seconds of the tasks of a model and a dataset.

    left: tasks that are to be done. workers: of the run. close: when all is known.
    """

    def __init__(self, part: Highlights, left: Sequence[Task], workers: int):
        self._part, self._pair, self._workers = part, part.pair, workers
        # So many work at once, where there are as many tasks.
        self._together = max(1, min(workers, len(left)))
        self._tokens = {regime: part.pair.tokens(regime) for regime in part.pair.grid.regimes}
        self._unsearched = part.unsearched()
        self._device = choose_device(part.pair.grid.device).type
        self._paces: dict[Alike, float] = dict(self._learned([*part.searches, *part.planned()]))
        self._executor: Executor | None = None
        self._answers: dict[str, tuple[int, ...]] = {}
        # Seconds of asking one question without documents.
        self._of_memory = 0.0
        # Seconds until the workers had begun and loaded the model; 0 where nothing was sampled.
        self.starting = 0.0

    def close(self) -> None:
        if self._executor is not None:
            self._executor.close()

    def seconds(self, task: Task) -> float:
        """Return how long a task keeps the machine busy: its own seconds, over the number of workers."""
        alike = self._alike(task)
        if alike not in self._paces:
            self._paces[alike] = self._sampled(task)
        return self._paces[alike] * self._cost(task) / self._together

    def explaining(self, regime: str, count: int) -> float:
        """Return the seconds of explaining so many instances of a regime, of which it is not known yet which they are."""
        explainers = self._pair.grid.explainers
        return sum(map(self.seconds, job_tasks(self._pair, regime, range(count), explainers)))

    def asking(self) -> float:
        """Return the seconds of asking all questions without documents, as far as they were not asked."""
        left = unfinished(memory_tasks(self._pair), self._part.store)
        if not left or not self._part.tasks():
            return 0.0
        self._first_pace()
        return self._of_memory * sum(len(task.texts) for task in left) / min(self._workers, len(left))

    def _cost(self, task: Task) -> float:
        return task.cost(self._length(task)).tokens

    def _length(self, task: Task) -> float:
        """Return the tokens of a task's prompts; of a search's, the mean over its kinds."""
        regimes = task.kinds if isinstance(task, SearchTask) else (task.regime_key.regime,)
        return sum(self._tokens.get(regime, 0.0) for regime in regimes) / max(1, len(regimes))

    def _alike(self, task: Task) -> Alike:
        length = round(2 * math.log2(max(1.0, self._length(task))))
        shards = frozenset((shard.kind, shard.explainer) for shard in task.shards)
        return type(task), length, shards, task.regime_key.technique

    def _learned(self, tasks: Iterable[Task]) -> Iterator[tuple[Alike, float]]:
        """Yield paces of tasks that have ended in this store."""
        known = {shard.key: task for task in tasks for shard in task.shards}
        totals: dict[Alike, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for line in self._part.store.events():
            if line["event"] != "ended" or line["device"] != self._device or not {*line["keys"]} <= known.keys():
                continue
            whole = known[line["keys"][0]]
            task = dataclasses.replace(whole, shards=tuple(shard for shard in whole.shards if shard.key in line["keys"]))
            total = totals[self._alike(task)]
            total[0] += line["seconds"]
            total[1] += self._cost(task)
        return ((alike, seconds / cost) for alike, (seconds, cost) in totals.items() if cost)

    def _sampled(self, task: Task) -> float:
        """Time the first questions of a task. Returns seconds of a worker per token."""
        if not isinstance(task, OfQuestions):
            return self._token_pace()
        count = 1
        task = self._affordable(task)
        if self._token_pace() * self._cost(dataclasses.replace(task, indices=task.indices[:1])) > 2 * LONGEST:
            return self._token_pace()
        while True:
            sample = self._equipped(dataclasses.replace(task, indices=task.indices[:count]))
            done = self._done(sample)
            if done.seconds > ENOUGH or count >= len(task.indices):
                failed = done.result is None or done.result.failures  # which takes no time
                return self._token_pace() if failed else done.seconds / max(1.0, self._cost(sample))
            count *= AGAIN

    def _affordable(self, task: OfQuestions) -> OfQuestions:
        """Leave out the explainers that take too long for a sample; of the others' pace they are too."""
        pace, chosen = self._token_pace(), list[Any]()
        one = dataclasses.replace(task, indices=task.indices[:1])
        known = [shard for shard in task.shards if shard.technique not in self._unsearched] or task.shards
        for shard in sorted(known, key=lambda shard: self._cost(dataclasses.replace(one, shards=(shard,)))):
            with_it = dataclasses.replace(one, shards=(*chosen, shard))
            if not chosen or pace * self._cost(with_it) <= LONGEST:
                chosen.append(shard)
        return dataclasses.replace(task, shards=tuple(shard for shard in task.shards if shard in chosen))

    def _equipped(self, task: Task) -> Task:
        if not isinstance(task, AskingTask):
            return task
        is_missing = missing_from(self._part.store)
        if any(is_missing(shard) for memory in memory_tasks(self._pair) for shard in memory.shards):
            facts = (self._pair.questions.facts[index] for index in task.indices)
            return dataclasses.replace(task, memories=self._memories(fact.question for fact in facts))
        return self._part.equipped(task)

    def _token_pace(self) -> float:
        """Return the seconds of a token, by what asking without documents takes."""
        self._first_pace()
        return self._of_memory / max(1.0, self._pair.question_tokens() + MEMORY_TOKENS)

    def _first_pace(self) -> None:
        if not self._of_memory:
            self._memories(fact.question for fact in self._pair.questions.facts[: self._pair.grid.shard_size])

    def _memories(self, questions: Iterable[str]) -> Memories:
        """Ask questions without documents, each once."""
        texts = tuple(dict.fromkeys(questions))
        if new := tuple(text for text in texts if text not in self._answers):
            done = self._done(MemoryTask(self._pair.model, next(iter(memory_tasks(self._pair))).shards, new))
            rows = [row for rows in done.result.rows.values() for row in rows] if done.result else []
            self._answers |= {row["question"]: tuple(row["ids"]) for row in rows}
            self._of_memory = self._of_memory or done.seconds / len(new)
        return Memories(self._answers, self._pair.grid.memory).only(texts)

    def _done(self, task: Task) -> Done:
        """Do a task with every worker at once. Returns the slowest outcome. Raises HEvalError where no model is had."""
        began, first = perf_counter(), self._executor is None
        if self._executor is None:
            number = None if self._workers == 1 else self._workers
            self._executor = on_processes(number)(loading_of(self._pair.grid, self._part.store))
            self._executor.expect({self._pair.model: 0})
        for _ in range(self._workers):
            self._executor.submit(task, self._part.questions)
        outcomes = [self._executor.next_done()[1] for _ in range(self._workers)]
        for done in outcomes:
            if done.model_failed:
                raise HEvalError(done.error)
        slowest = max(outcomes, key=lambda done: done.seconds)
        if first:
            self.starting = max(0.0, perf_counter() - began - slowest.seconds)
        return slowest
