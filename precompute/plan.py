"""`plan`: the shards that a run needs, what they cost in forward passes and in time, and how many are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heval_core.citations.records import Claim
from heval_core.lm.batches import last_logits
from heval_core.present.table import Table
from heval_core.records import Cost, HEvalError
from heval_core.store.kinds import ATTRIBUTION
from heval_core.store.shards import ShardStore
from precompute.citations.chunks import Citations
from precompute.citations.study import SAMPLE, Source, Study
from precompute.costs import WRITTEN, cost, together, total
from precompute.highlights import Highlights
from precompute.pair import Pair
from precompute.schedule import Asked, parts_of, with_stored
from precompute.task import Task, missing_from, unfinished
from precompute.worker import Loading

EXPLANATIONS = "explanations"


@dataclass
class Line:
    """where: model, dataset and regime; of citations source of claims, writer, selector, and EXPLANATIONS or an annotator.

    shards, done: to make, and there. count: questions; of citations explanations to make or answers to ask. most: whether some
    of it depends on results that are not there yet; then it is the most that there may be. cost: of what is to do. seconds:
    None where nothing was timed. unavailable: why it cannot be done.
    """

    where: tuple[str, ...]
    shards: int = 0
    done: int = 0
    count: int = 0
    most: bool = False
    tokens: float = 0.0
    cost: Cost = Cost(0, 0)
    seconds: float | None = None
    unavailable: str = ""

    @property
    def passes(self) -> int:
        return round(self.cost.passes)


@dataclass
class Plan:
    """tasks: with something to make, as far as they are known. searches: how many settings of techniques are still to be
    found; what depends on them is not counted yet. sources: of claims. left_out: what cannot be read or had, and why."""

    say: Callable[[str], None] = lambda _: None
    lines: list[Line] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    searches: int = 0
    sources: dict[str, Source] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    # Seconds per token, by model.
    paces: dict[str, float] = field(default_factory=dict)

    def total(self, name: str) -> float:
        return sum(getattr(line, name) or 0 for line in self.lines)

    def failed(self, error: HEvalError, **where: Any) -> None:
        """where: see `pair.Problems`."""
        self.left_out.append((where.get("model") or where["dataset"], str(error)))

    def pace(self, pair: Pair) -> float:
        """What a token of a forward pass takes on this machine, with the first prompts of the first regime run together.

        Load and first pass, which is slower than any other, do not count. A backward pass counts as a forward one, so that
        hours are good to a factor of two. Raises HEvalError for a model that cannot be loaded.
        """
        if pair.model.name not in self.paces:
            self.say(f"{pair.model.key}: timing a few prompts …")
            lm = pair.model.load(Loading(pair.grid.device, pair.grid.dtype, pair.grid.batch_tokens))
            prompts = pair.first_prompts(pair.grid.regimes[0])
            last_logits(lm, prompts)
            started = time.perf_counter()
            last_logits(lm, prompts)
            tokens = max(1, sum(len(prompt.ids) for prompt in prompts))
            self.paces[pair.model.name] = (time.perf_counter() - started) / tokens
        return self.paces[pair.model.name]


def plan(asked: Asked, folder: Path, calibrated: bool = True, say: Callable[[str], None] = lambda _: None) -> Plan:
    """Nothing is written. Raises HEvalError for wrong options.

    calibrated: load each model of a grid that has something to do, and time one batch of prompts.
    """
    asked.check()
    planned, store = Plan(say), ShardStore(folder)
    for part in parts_of(with_stored(asked, folder), store, planned):
        planned.lines += _of_study(part, planned) if isinstance(part, Citations) else _of_pair(part, planned, calibrated)
    return planned


def _of_pair(part: Highlights, planned: Plan, calibrated: bool) -> Iterator[Line]:
    known = [*part.jobs(), *part.quoted, *part.timings]
    left = unfinished(known, part.store)
    planned.tasks += left
    planned.searches += len(unfinished(part.searches, part.store))
    pace = planned.pace(part.pair) if calibrated and left else None
    for regime in part.pair.grid.regimes:
        own, to_do = ([task for task in tasks if task.whose.regime == regime] for tasks in (known, left))
        shards = sum(len(task.shards) for task in to_do)
        tokens, count = part.pair.tokens(regime), len(part.questions.facts)
        later = bool(part.pair.grid.explainers) and not any(shard.explainer for task in own for shard in task.shards)
        costs = [(1.0, task.cost(tokens)) for task in to_do]
        costs += [(float(min(part.pair.cap or 0, count)), one) for one in _explaining(part.pair, tokens)] if later else []
        whole = total(costs)
        yield Line(
            (part.pair.model.key, part.questions.dataset, regime),
            shards,
            sum(len(task.shards) for task in own) - shards,
            count,
            later,
            tokens,
            whole,
            None if pace is None else pace * whole.tokens,
        )


def _explaining(pair: Pair, tokens: float) -> Iterator[Cost]:
    """The cost of explaining an instance that is chosen later."""
    grid = pair.grid
    for _ in range(2 if grid.target == "context" else 1):
        yield together(grid.explainers, tokens)
    if grid.match == "text":
        yield cost(WRITTEN, tokens)


def _of_study(part: Citations, planned: Plan) -> list[Line]:
    planned.sources |= {part.source.dataset: part.source}
    lines: dict[tuple[str, ...], Line] = {}

    def line_of(*where: str) -> Line:
        return lines.setdefault(where, Line(where))

    is_missing, entries = missing_from(part.store), part.store.entries()
    for chunk in part.chunks.values():
        where = chunk.shard.dataset, chunk.shard.model, chunk.shard.technique
        explained = line_of(*where, EXPLANATIONS)
        there = not is_missing(chunk.shard)
        explained.done += there
        explained.shards += not there
        if not there:
            explained.count += len(chunk.claims) - len({row["claim_id"] for row in part.explanations(chunk)})
        left = {task.annotator: task for task in part.about(chunk, entries)} if there else {}
        for annotator, shards in chunk.answers.items():
            line = line_of(*where, annotator)
            if not there:
                line.shards += len(shards)
                line.count += sum(_most(claim, part.study) for claim in chunk.claims)
                line.most = True
            elif annotator in left:
                line.shards += len(left[annotator].shards)
                line.count += len(left[annotator].wanted) - len(left[annotator].stored)
            line.done += len(shards) - len(left[annotator].shards) if annotator in left else len(shards) * there
    for annotator, reason in part.writing.unavailable:
        line_of(part.source.dataset, part.writing.writer.key, part.writing.selector, annotator).unavailable = str(reason)
    return list(lines.values())


def _most(claim: Claim, study: Study) -> int:
    """The most questions about a claim: of an explanation each."""
    written = len({own.writer for own in claim.written}) or 1
    return written * (1 if study.parts == (SAMPLE,) else len(claim.passages))


def as_lines(planned: Plan, with_jobs: bool = False) -> Iterator[str]:
    """What is printed."""
    for source in planned.sources.values():
        problems = [claim for claim in source.claims if claim.problems]
        yield (
            f"{source.dataset}: {len(source.claims):,} claims, {len(problems):,} of them with problems; "
            f"{len(source.bad):,} records cannot be used"
        )
        yield from (f"  cannot be used, {one.place}: {one.reason}" for one in source.bad)
        yield from (f"  {claim.id}: {' '.join(claim.problems)}" for claim in problems)
    for name, reason in planned.left_out:
        yield f"left out, {name}: {reason}"
    if shown := [_line(line) for line in planned.lines if not line.unavailable]:
        yield Table.of(pd.DataFrame(shown)).text()
    for line in planned.lines:
        if line.unavailable:
            yield f"{' · '.join(line.where)} cannot be asked: {line.unavailable}"
    for task in planned.tasks if with_jobs else ():
        yield f"{task.name}: {', '.join(own.explainer if own.kind == ATTRIBUTION.name else own.named for own in task.shards)}"
    yield f"{planned.total('shards')} shards to do, {planned.total('done')} done already; {_whole(planned)}"
    if planned.searches:
        yield f"searches for settings of techniques come first: {planned.searches}; what follows from them is not counted yet"
    if later := sum(line.most for line in planned.lines if len(line.where) == 3):
        yield f"{later} regimes have more questions than their cap; the sample to explain is chosen once all are answered"


def _line(line: Line) -> dict[str, Any]:
    """As it stands in the table."""
    if len(line.where) == 4:
        names = ("claims", "writer", "selector", "what")
        asked = f"{'≤ ' if line.most else ''}{line.count:,}"
        return dict(zip(names, line.where, strict=True)) | {"to do": line.shards, "done": line.done, "to ask": asked}
    where = dict(zip(("model", "dataset", "regime"), line.where, strict=True))
    counts = {"questions": line.count, "to do": line.shards, "done": line.done, "tokens": round(line.tokens)}
    return where | counts | {"passes": line.passes, "time": duration(line.seconds)}


def _whole(planned: Plan) -> str:
    if planned.sources:
        written = sum(line.count for line in planned.lines if line.where[3] == EXPLANATIONS)
        most = "at most " if any(line.most for line in planned.lines) else ""
        return f"{written:,} explanations to make and {most}{planned.total('count') - written:,} answers to ask"
    timed = planned.total("shards") and all(line.seconds is not None for line in planned.lines if line.shards)
    estimate = f", about {duration(planned.total('seconds'))} on this machine" if timed else ""
    return (
        f"about {planned.total('passes'):,} forward passes{estimate} "
        "(a backward pass counts as one; a pass may run a part of the prompt only)"
    )


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
