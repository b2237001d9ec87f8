"""`citations plan`: what a study needs, and how much of it is there. No model is loaded for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from heval_core.citations.records import BadClaim, Claim
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.citations import sources
from precompute.citations.planned import Chunk, Made, Writing, check_names, chunks_of, recover_task, stored_of, writing_of
from precompute.citations.study import SAMPLE, Study, check


@dataclass
class Line:
    """Of one source, writer and selector, what is asked for (`what`: explanations, or the key of an annotator).

    shards, done: numbers of shards to make, and of those that are there. asked: explanations or answers that are left. most:
    whether these are the most that there may be, because the explanations are not there yet. unavailable: why it cannot be
    done.
    """

    dataset: str
    writer: str
    selector: str
    what: str
    shards: int = 0
    done: int = 0
    asked: int = 0
    most: bool = False
    unavailable: str = ""


@dataclass
class Plan:
    """bad: records that cannot be used, by source. problems: claims that can, though something is wrong. missing: models that
    there are not, and sources that cannot be read, with the reason."""

    lines: list[Line] = field(default_factory=list)
    claims: dict[str, int] = field(default_factory=dict)
    bad: list[tuple[str, BadClaim]] = field(default_factory=list)
    problems: list[tuple[str, Claim]] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)


def plan(study: Study, folder: Path) -> Plan:
    """Raises HEvalError for a wrong study."""
    check(study)
    found, made = Plan(), Made(ShardStore(folder))
    read = []
    for name in study.claims:
        try:
            read.append(sources.read(name))
        except HEvalError as error:
            found.missing.append((name, str(error)))
    for source in read:
        found.claims[source.dataset] = len(source.claims)
        found.bad += [(source.dataset, bad) for bad in source.bad]
        found.problems += [(source.dataset, claim) for claim in source.claims if claim.problems]
    for writer, selector in study.pairs():
        try:
            writing = writing_of(study, writer, selector)
        except HEvalError as error:
            found.missing.append((writer.key, str(error)))
            continue
        for source in read:
            check_names(source, writing)
            found.lines += _lines(study, source, writing, made)
    return found


def _lines(study: Study, source: sources.Source, writing: Writing, made: Made) -> list[Line]:
    key = (source.dataset, writing.writer.key, writing.selector)
    explained = Line(*key, "explanations")
    lines = {reading.key: Line(*key, reading.key) for reading in writing.readings}
    for chunk in chunks_of(study, source, writing):
        _count(study, chunk, made, explained, lines)
    unavailable = [Line(*key, annotator, unavailable=reason) for annotator, reason in writing.unavailable]
    return [explained, *lines.values(), *unavailable]


def _count(study: Study, chunk: Chunk, made: Made, explained: Line, lines: dict[str, Line]) -> None:
    """Add the shards of a chunk to its lines."""
    entry = made.store.entries().get(chunk.key)
    there = entry is not None and not entry.failed and made.store.intact(entry)
    explained.done += there
    explained.shards += not there
    if not there:
        explained.asked += len(chunk.claims) - len({row["claim_id"] for row in made.explanations(chunk)})
    explanations = stored_of(chunk, made.store.read(entry).to_pylist()) if there and entry is not None else ()
    for reading in chunk.writing.readings:
        line = lines[reading.key]
        if not there:
            line.shards += len(study.parts)
            line.asked += sum(_most(claim, study) for claim in chunk.claims)
            line.most = True
            continue
        task = recover_task(study, chunk, explanations, reading, made)
        parts = () if task is None else task.parts
        line.shards += len(parts)
        line.done += len(study.parts) - len(parts)
        if task is not None:
            line.asked += sum(len(one.passages(part)) for part, _ in parts for one in explanations) - len(task.stored)


def _most(claim: Claim, study: Study) -> int:
    """The most questions about a claim: of an explanation each."""
    written = len({own.writer for own in claim.written}) or 1
    return written * (1 if study.parts == (SAMPLE,) else len(claim.passages))


def as_lines(planned: Plan) -> Iterator[str]:
    """What is printed."""
    for dataset, count in planned.claims.items():
        bad = [one for name, one in planned.bad if name == dataset]
        told = [claim for name, claim in planned.problems if name == dataset]
        yield f"{dataset}: {count:,} claims, {len(told):,} of them with problems; {len(bad):,} records cannot be used"
        yield from (f"  cannot be used, {one.place}: {one.reason}" for one in bad)
        yield from (f"  {claim.id}: {' '.join(claim.problems)}" for claim in told)
    for name, reason in planned.missing:
        yield f"left out, {name}: {reason}"
    yield f"{'claims':16} {'writer':24} {'selector':10} {'what':28} {'to do':>6} {'done':>6} {'to ask':>8}"
    for line in planned.lines:
        if line.unavailable:
            yield f"{line.dataset:16} {line.writer:24} {line.selector:10} {line.what:28} cannot be asked: {line.unavailable}"
        else:
            asked = f"{'≤ ' if line.most else ''}{line.asked:,}"
            where = f"{line.dataset:16} {line.writer:24} {line.selector:10} {line.what:28}"
            yield f"{where} {line.shards:6} {line.done:6} {asked:>8}"
    shards, done = sum(line.shards for line in planned.lines), sum(line.done for line in planned.lines)
    written = sum(line.asked for line in planned.lines if line.what == "explanations")
    answers = sum(line.asked for line in planned.lines if line.what != "explanations")
    most = "at most " if any(line.most for line in planned.lines) else ""
    yield f"{shards} shards to do, {done} done already; {written:,} explanations to make and {most}{answers:,} answers to ask"
