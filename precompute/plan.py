"""`plan`: the shards that a grid needs, what they cost in forward passes and in time, and how many are done."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heval_core.lm.loading import identify
from heval_core.prompt_styles import style_of
from heval_core.records import Cost
from heval_core.store.kinds import ATTRIBUTION, CONTEXT_ATTRIBUTION
from heval_core.store.shards import ShardStore
from precompute.costs import WRITTEN, cost, mean_tokens, readable, seconds_per_token, shard_size, times, together
from precompute.fitting import check_fits, with_fits
from precompute.grid import Grid, Job, Shard, asked_as, cap_of, check, dtype_of
from precompute.models import Model
from precompute.questions import Questions, load_questions
from precompute.schedule import known_jobs, pending
from precompute.search_task import search_tasks, unfinished
from precompute.timing import ROUNDS, TimingTask, prompts_of, timing_tasks, untimed

_SCORES = (ATTRIBUTION.name, CONTEXT_ATTRIBUTION.name)


@dataclass(frozen=True)
class Line:
    """One model, dataset and regime. cost: of what is to do, as forward passes and as tokens that go through the model.
    seconds: None where nothing was timed. later: whether the instances to explain are chosen only after all questions are
    answered; then the plan counts as many as the cap allows."""

    model: str
    dataset: str
    regime: str
    questions: int
    shards: int
    done: int
    tokens: float
    cost: Cost
    seconds: float | None
    later: bool

    @property
    def passes(self) -> int:
        return round(self.cost.passes)


@dataclass(frozen=True)
class Plan:
    """searches: how many settings of techniques are still to be found; what depends on them is not counted yet."""

    lines: tuple[Line, ...]
    jobs: tuple[tuple[Job, tuple[Shard, ...]], ...]
    searches: int = 0

    def total(self, name: str) -> float:
        return sum(getattr(line, name) or 0 for line in self.lines)


def plan(grid: Grid, folder: Path, calibrated: bool = True, say: Callable[[str], None] = lambda _: None) -> Plan:
    """Raises HEvalError for a wrong grid or an unknown model.

    calibrated: load each model that has something to do, and time one batch of prompts.
    """
    check(grid)
    grid = with_fits(grid, folder)
    store = ShardStore(folder)
    lines: list[Line] = []
    to_do: list[tuple[Job, tuple[Shard, ...]]] = []
    searches = 0
    for name in grid.models:
        model = Model(name, asked_as(grid, identify(name)))
        read = readable(grid, model.identity, say)
        pace: float | None = None
        for dataset in grid.datasets if read.regimes else ():
            questions = load_questions(dataset, grid.limit, grid.seed, style_of(model.identity))
            able, refused = check_fits(read, model.identity, questions)
            for _, error in refused:
                say(f"{model.key} · {questions.dataset}: {error}")
            sized = dataclasses.replace(able, shard_size=shard_size(able, model.identity, questions, store))
            jobs = list(known_jobs(sized, model.identity, questions, dtype_of(sized), store))
            work = list(pending(jobs, store))
            to_do += work
            searches += len(unfinished(search_tasks(sized, model, questions, dtype_of(sized)), store))
            timings = timing_tasks(sized, model, questions, dtype_of(sized))
            to_time = untimed(timings, store)
            if calibrated and (work or to_time) and pace is None:
                say(f"{model.key}: timing a few prompts …")
                pace = seconds_per_token(sized, model, questions)
            for regime in sized.regimes:
                own = [task for task in to_time if task.regime == regime]
                done = sum(task.regime == regime for task in timings) - len(own)
                line = _with_timings(_line(sized, model, questions, regime, jobs, work), own, done)
                timed = pace is not None and (work or to_time)
                lines.append(dataclasses.replace(line, seconds=line.cost.tokens * pace) if timed and pace else line)
    return Plan(tuple(lines), tuple(to_do), searches)


def _line(
    grid: Grid, model: Model, questions: Questions, regime: str, jobs: list[Job], work: list[tuple[Job, tuple[Shard, ...]]]
) -> Line:
    known = [job for job in jobs if job.regime == regime]
    wanted = [(job, shards) for job, shards in work if job.regime == regime]
    groups = [one for job, shards in wanted for one in _together(job, shards)]
    later = bool(grid.explainers) and not any(shard.explainer for job in known for shard in job.shards)
    most = 0
    if later:
        most = min(cap_of(grid, questions) or 0, len(questions.facts))
        groups += [(most, grid.explainers)] * (2 if grid.target == "context" else 1)
    if grid.match == "text":
        # Whatever a job does, it answers its instances first.
        groups.append((sum(len(job.places) for job, _ in wanted) + most, (WRITTEN,)))
    tokens = mean_tokens(questions, regime, grid.seed, model.identity)
    costs = [(count, together(kinds, tokens)) for count, kinds in groups]
    missing = sum(len(shards) for _, shards in wanted)
    return Line(
        model.key,
        questions.dataset,
        regime,
        len(questions.facts),
        missing,
        sum(len(job.shards) for job in known) - missing,
        tokens,
        Cost(sum(count * one.passes for count, one in costs), sum(count * one.tokens for count, one in costs)),
        None,
        later,
    )


def _together(job: Job, shards: Sequence[Shard]) -> Iterator[tuple[float, tuple[str, ...]]]:
    """How many instances are put through what in one go, so that passes are shared: kinds of shards, and keys of explainers.

    At most all instances have another answer than the first document's; how many is known after they are answered.
    """
    everyone = float(len(job.places))
    asked = [shard for shard in shards if not shard.explainer]
    for shard in asked:
        # Of a technique with several passes, those after the first.
        yield everyone * max(0.0, times(job, shard) - 1), (shard.kind,)
    once = tuple(shard.kind for shard in asked if times(job, shard) >= 1)
    scores = {kind: tuple(shard.explainer for shard in shards if shard.kind == kind) for kind in _SCORES}
    measured = tuple(shard.kind for shard in shards if shard.explainer and shard.kind not in _SCORES)
    yield everyone, (*once, *scores[ATTRIBUTION.name], *measured)
    yield everyone, scores[CONTEXT_ATTRIBUTION.name]


def _with_timings(line: Line, to_do: Sequence[TimingTask], done: int) -> Line:
    """With the shards in which explainers are timed by themselves; each of them is run so often on a few prompts."""
    times_run = (ROUNDS + 1) * min(prompts_of(line.tokens), line.questions)
    alone = [cost(key, line.tokens) for task in to_do for key in task.explainers]
    passes, tokens = (times_run * sum(getattr(one, name) for one in alone) for name in ("passes", "tokens"))
    return dataclasses.replace(
        line,
        shards=line.shards + len(to_do),
        done=line.done + done,
        cost=Cost(line.cost.passes + passes, line.cost.tokens + tokens),
    )


def as_lines(planned: Plan, with_jobs: bool = False) -> Iterator[str]:
    """The plan as a table."""
    yield (
        f"{'model':20} {'dataset':18} {'regime':24} {'questions':>9} {'to do':>6} {'done':>5} {'tokens':>7} "
        f"{'passes':>11} {'time':>8}"
    )
    for line in planned.lines:
        yield (
            f"{line.model:20} {line.dataset:18} {line.regime:24} {line.questions:9} {line.shards:6} {line.done:5} "
            f"{line.tokens:7.0f} {line.passes:11,} {duration(line.seconds):>8}"
        )
    if with_jobs:
        yield ""
        for job, shards in planned.jobs:
            yield f"{job.name}: {', '.join(_what(shard) for shard in shards)}"
    timed = all(line.seconds is not None for line in planned.lines if line.shards)
    estimate = f", about {duration(planned.total('seconds'))} on this machine"
    yield (
        f"{int(planned.total('shards'))} shards to do, {int(planned.total('done'))} done already; about "
        f"{int(planned.total('passes')):,} forward passes{estimate if timed and planned.total('shards') else ''} "
        "(a backward pass counts as one; a pass may run a part of the prompt only)"
    )
    if planned.searches:
        yield f"searches for settings of techniques come first: {planned.searches}; what follows from them is not counted yet"
    later = sum(line.later for line in planned.lines)
    if later:
        yield f"{later} regimes have more questions than their cap; the sample to explain is chosen once all are answered"


def _what(shard: Shard) -> str:
    return shard.explainer if shard.kind == ATTRIBUTION.name else f"{shard.kind} {shard.explainer}".strip()


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
