"""`plan`: the shards that a run needs, how many are done; and of a grid what the others cost in forward passes and in time."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heval_core.present.table import Table
from heval_core.records import Cost, HEvalError
from heval_core.store.shards import ShardStore
from precompute.citations.chunks import Citations
from precompute.citations.study import ClaimSource
from precompute.grid import Grid
from precompute.highlights import Highlights
from precompute.journal import left_out
from precompute.pace import Pace, workers_of
from precompute.pair import Pair, with_fits
from precompute.questions import Questions
from precompute.run import GridOrStudy, parts_of
from precompute.task import WRITTEN, Task, cost, missing_from, together, total, unfinished

EXPLANATIONS = "explanations"


@dataclass
class Line:
    """A line of the plan.

    where: what stands in it before its numbers; `what` is EXPLANATIONS or an annotator. shards, done: to make, and there.

    Of a grid, count: questions. later: whether more follows once all are answered. cost: of what is to do. seconds: if timed.
    """

    where: dict[str, str]
    shards: int = 0
    done: int = 0
    count: int = 0
    later: bool = False
    tokens: float = 0.0
    cost: Cost = Cost(0, 0)
    seconds: float | None = None

    @property
    def passes(self) -> int:
        return round(self.cost.passes)

    def as_json(self) -> dict[str, Any]:
        counts: dict[str, Any] = {"to_do": self.shards, "done": self.done}
        if "regime" in self.where:
            counts |= {"questions": self.count, "tokens": self.tokens, "passes": self.passes, "seconds": self.seconds}
        return self.where | counts


@dataclass
class RunPlan:
    """What a run would compute.

    searches: settings of techniques still to be found, which the first line of their model counts. datasets: of a grid, by
    name; sources: of claims. left_out, unavailable: what cannot be read or had; annotators that cannot be asked, and why.
    """

    say: Callable[[str], None] = lambda _: None
    lines: list[Line] = field(default_factory=list)
    searches: int = 0
    datasets: dict[str, Questions] = field(default_factory=dict)
    sources: dict[str, ClaimSource] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    unavailable: list[str] = field(default_factory=list)

    def total(self, name: str) -> float:
        return sum(getattr(line, name) or 0 for line in self.lines)

    def failed(self, error: HEvalError, **where: Any) -> None:
        """Report an error. where: see `pair.Problems`."""
        self.left_out.append((where.get("model") or where["dataset"], str(error)))


def plan(request: GridOrStudy, folder: Path, calibrated: bool = True, say: Callable[[str], None] = lambda _: None) -> RunPlan:
    """Plan what is missing; nothing is written. Raises HEvalError for wrong options.

    calibrated: estimate how long it takes (`pace.Pace`); models of which the store tells nothing are loaded, and asked some
    questions.
    """
    request.check()
    planned, store = RunPlan(say), ShardStore(folder)
    request = with_fits(request, folder)
    parts = list(parts_of(request, store, planned))
    left = [(part, unfinished(part.planned(), store)) for part in parts if isinstance(part, Highlights)]
    rows = Counter[Any]()
    for part, tasks in left:
        rows[part.pair.model] += sum(shard.stop - shard.start for task in tasks for shard in task.shards)
    workers = workers_of(request, rows) if isinstance(request, Grid) and calibrated else 0
    for part, tasks in left:
        planned.lines += _of_pair(part, planned, tasks, workers)
    for study in parts:
        planned.lines += _of_study(study, planned) if isinstance(study, Citations) else []
    return planned


def _of_pair(part: Highlights, planned: RunPlan, left: list[Task], workers: int) -> list[Line]:
    """Return a line for each regime. left: its tasks to be done. workers: of the run; 0 where no time is asked for."""
    known, searches = part.planned(), unfinished(part.searches, part.store)
    planned.datasets[part.questions.dataset] = part.questions
    planned.searches += len(searches)
    pace = Pace(part, left, workers) if workers and left else None
    lines = list[Line]()
    with closing(pace) if pace else nullcontext():
        asking = pace.asking() if pace else 0.0
        for regime in part.pair.grid.regimes:
            tasks, to_do = ([task for task in group if task.regime_key.regime == regime] for group in (known, left))
            shards = sum(len(task.shards) for task in to_do)
            tokens, count = part.pair.tokens(regime), len(part.questions.facts)
            explained = any(shard.explainer for job in tasks for shard in job.shards)
            later = min(part.pair.cap or 0, count) if part.pair.grid.explainers and not explained else 0
            costs = [(1.0, task.cost(tokens)) for task in to_do]
            costs += [(float(later), price) for price in _explaining(part.pair, tokens)] if later else []
            seconds = None
            if pace is not None:
                seconds = sum(map(pace.seconds, to_do)) + (pace.explaining(regime, later) if later else 0)
            done = sum(len(task.shards) for task in tasks) - shards
            where = {"model": part.pair.model.key, "dataset": part.questions.dataset, "regime": regime}
            lines.append(Line(where, shards, done, count, bool(later), tokens, total(costs), seconds))
        trying_takes = sum(map(pace.seconds, searches)) if pace else 0.0
    if lines and searches:  # what belongs to no regime is in the first one's line
        kinds = [line.tokens for line in lines if line.where["regime"] in searches[0].kinds]
        trying = [(1.0, task.cost(sum(kinds) / max(1, len(kinds)))) for task in searches]
        lines[0].cost = total([(1.0, lines[0].cost), *trying])
    if pace and lines:
        lines[0].seconds = (lines[0].seconds or 0.0) + asking + pace.starting + trying_takes
    return lines


def _explaining(pair: Pair, tokens: float) -> Iterator[Cost]:
    grid = pair.grid
    for _ in range(2 if grid.target == "context" else 1):
        yield together(grid.explainers, tokens)
    if grid.match == "text":
        yield cost(WRITTEN, tokens)


def _of_study(part: Citations, planned: RunPlan) -> list[Line]:
    planned.sources |= {part.source.dataset: part.source}
    names = {"claims": part.source.dataset, "writer": part.writing.writer.key, "selector": part.writing.selector}
    lines: dict[str, Line] = {}
    is_missing = missing_from(part.store)
    for shard in part.shards():
        what = shard.explainer or EXPLANATIONS
        line = lines.setdefault(what, Line(names | {"what": what}))
        missing = is_missing(shard)
        line.shards += missing
        line.done += not missing
    pair = " · ".join(names.values())
    planned.unavailable += [f"{pair} · {key} cannot be asked: {why}" for key, why in part.writing.unavailable]
    return list(lines.values())


def as_json(planned: RunPlan) -> dict[str, Any]:
    """Return what `plan --json` prints; `commands.grid.PLAN` says what stands in it."""
    totals = {name: planned.total(name) for name in ("done", "later")}
    timed = all(line.seconds is not None for line in planned.lines if line.shards)
    return totals | {
        "lines": [line.as_json() for line in planned.lines],
        "to_do": planned.total("shards"),
        "passes": planned.total("passes"),
        "seconds": planned.total("seconds") if timed else None,
        "searches": planned.searches,
        "left_out": [{"name": name, "reason": reason} for name, reason in planned.left_out],
        "unavailable": planned.unavailable,
    }


def as_lines(planned: RunPlan) -> Iterator[str]:
    for questions in planned.datasets.values():
        yield from left_out(questions)
    for source in planned.sources.values():
        problems = [claim for claim in source.claims if claim.problems]
        yield (
            f"{source.dataset}: {len(source.claims):,} claims, {len(problems):,} of them with problems; "
            f"{len(source.bad):,} records cannot be used"
        )
        yield from (f"  cannot be used, {record.location}: {record.reason}" for record in source.bad)
        yield from (f"  {claim.id}: {' '.join(claim.problems)}" for claim in problems)
    for name, reason in planned.left_out:
        yield f"left out, {name}: {reason}"
    if planned.lines:
        yield Table.of(pd.DataFrame(map(_line, planned.lines))).text()
    yield from planned.unavailable
    yield f"{planned.total('shards')} shards to do, {planned.total('done')} done already{_cost(planned)}"
    if planned.searches:
        yield (
            f"searches for settings of techniques come first: {planned.searches}; they count in their model's first line, and "
            "all as if every technique applied"
        )
    if later := planned.total("later"):
        yield f"{later} regimes have more questions than their cap; the sample to explain is chosen once all are answered"


def _line(line: Line) -> dict[str, Any]:
    done: dict[str, Any] = {"to do": line.shards, "done": line.done}
    if "regime" not in line.where:
        return line.where | done
    costs = {"tokens": round(line.tokens), "passes": line.passes, "time": duration(line.seconds)}
    return line.where | {"questions": line.count} | done | costs


def _cost(planned: RunPlan) -> str:
    if planned.sources:
        return ""
    timed = planned.total("shards") and all(line.seconds is not None for line in planned.lines if line.shards)
    estimate = f", about {duration(planned.total('seconds'))} on this machine" if timed else ""
    return (
        f"; about {planned.total('passes'):,} forward passes{estimate} "
        "(a backward pass counts as one; a pass may run a part of the prompt only)"
    )


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
