"""Evaluates regimes in several processes, each into a file of its own; one writer takes their rows over, in order.

A regime is evaluated as it is in one process, so that the published file is the same. Cost: a process imports for two seconds,
and every row is written twice.
"""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from threadpoolctl import threadpool_limits

from heval_core.evaluation.earlier import Earlier, MadeFrom
from heval_core.evaluation.measuring import Measuring, Part, Shards
from heval_core.new_processes import cores, free_memory, processes_after, without_main
from heval_core.records import HEvalError, RegimeKey
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.shards import PUBLISHED_FORMAT, ShardStore
from heval_core.store.writer import Writer

# Shards of fewer bytes are evaluated before other processes have begun; and what a process takes of memory.
WORTH, TAKES = 4_000_000, 1_500_000_000


@dataclass
class _Drawing(dict[str, Resamples]):
    """The resamples of the data sets, each made when it is needed. questions: of a data set, as `Resamples` takes them."""

    questions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __missing__(self, dataset: str) -> Resamples:
        return self.setdefault(dataset, Resamples(dataset, self.questions[dataset]))


@dataclass(frozen=True)
class How:
    """How a store is evaluated. keep, workers: see `publishing.publish`. beside: the file of the results,
    beside which parts lie. last: the last published file, from which is taken what would come out the same.
    """

    keep: bool
    workers: int | None
    beside: Path
    last: Path | None


@dataclass(frozen=True)
class Job:
    """What every process knows: the store, the data sets' questions, whether values are kept (`publishing.publish`), the last
    published file, and what regimes are made from (`earlier.recipes`).
    """

    source: Path
    questions: Mapping[str, Mapping[str, str]]
    keep: bool
    last: Path | None
    recipes: Mapping[RegimeKey, MadeFrom]


def workers_for(regimes: Sequence[Shards], number: int | None) -> int:
    """Return how many processes evaluate.

    regimes: those that are not taken over. number: what was asked for; None for as many as pay, and as memory holds.
    """
    if number is None and sum(shards.size for shards in regimes) < WORTH:
        return 1
    room = max(1, free_memory() // TAKES)
    return max(1, min(number or min(cores(), room), len(regimes)))


@contextmanager
def parts(job: Job, regimes: Sequence[Shards], number: int, beside: Path) -> Iterator[Iterator[Part]]:
    """Begin to evaluate regimes, and yield their parts, in order, as they are asked for.

    beside: the file of the results; parts lie there until they are taken over. Raises HEvalError where a process dies.
    """
    context = processes_after("heval_core.evaluation.parallel")
    # Named as the results are, so that those of a killed publisher are removed with its own.
    names = (f"{beside.stem.rpartition('.')[0]}-{index}.{os.getpid()}.tmp" for index in range(len(regimes)))
    paths = [beside.with_name(name) for name in names]
    with ExitStack() as ending:
        for path in paths:
            for left in (path, Path(f"{path}.wal")):
                ending.callback(left.unlink, missing_ok=True)
        pool = ending.enter_context(ProcessPoolExecutor(number, context, _begin, (job,)))
        ending.callback(pool.shutdown, cancel_futures=True)
        with without_main():
            futures = [pool.submit(_evaluated, shards, path) for shards, path in zip(regimes, paths, strict=True)]
        yield map(_ended, futures)


def _ended(future: Future[Part]) -> Part:
    try:
        return future.result()
    except BrokenProcessPool:
        raise HEvalError("A process that evaluates has died, as where memory is short; use --workers 1.") from None


_job: Job | None = None
_drawing = _Drawing()


def _begin(job: Job) -> None:
    global _job, _drawing
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the publisher ends the others
    threadpool_limits(1)  # as many processes as cores
    _job, _drawing = job, _Drawing(questions=job.questions)


def _evaluated(shards: Shards, path: Path) -> Part:
    assert _job is not None
    with Writer(path) as writer:
        now = datetime.now(UTC).replace(tzinfo=None)
        # Whoever reads what was written wants to know of which results it is.
        writer.insert("snapshot", [{"snapshot_id": "", "format": PUBLISHED_FORMAT, "bundled": False, "published_at": now}])
        earlier = Earlier(writer, _job.last, _job.recipes)
        left = Measuring(writer, ShardStore(_job.source), _drawing, _job.keep, earlier).measure(shards)
    return Part(path, left)
