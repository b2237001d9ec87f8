"""One process, one device: jobs one after the other, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from heval_core.store.shards import ShardStore
from precompute.compute import Result, compute
from precompute.grid import Job, Questions, Shard
from precompute.memory import Memories


def run_jobs(
    work: Iterable[tuple[Job, tuple[Shard, ...]]],
    questions: Questions,
    memories: Memories,
    store: ShardStore,
    started: Callable[[Job], None],
    progress: Callable[[], None],
) -> int:
    """Do jobs and write their shards as each is complete. Returns how many shards hold failures."""
    failed = 0
    for job, wanted in work:
        started(job)
        result = compute(job, wanted, questions, memories, progress, partial(_rows, store))
        failed += _write(job, wanted, result, store)
    return failed


def _rows(store: ShardStore, shard: Shard) -> list[dict[str, Any]]:
    entry = store.entries().get(shard.key)
    return [] if entry is None else store.read(entry).to_pylist()


def _write(job: Job, wanted: tuple[Shard, ...], result: Result, store: ShardStore) -> int:
    failed_shards = 0
    for failure in result.failures:
        store.note(
            "failure", model=job.model, dataset=job.dataset, regime=job.regime, explainer=failure.explainer,
            place=failure.place, error=failure.error, happened=datetime.now(UTC).replace(tzinfo=None).isoformat(),
        )  # fmt: skip
    for shard in wanted:
        # An instance that failed before any explainer saw it is missing from every shard of the job.
        failed = sum(1 for failure in result.failures if failure.explainer in ("", shard.explainer))
        failed_shards += bool(failed)
        entry = {
            "key": shard.key, "kind": shard.kind, "model": job.model, "revision": job.revision, "dataset": job.dataset,
            "fingerprint": job.fingerprint, "settings": job.settings, "regime": job.regime,
            "explainer": shard.explainer, "start": job.start, "stop": job.stop, "failed": failed,
        }  # fmt: skip
        store.write(entry, result.rows[shard.key])
    return failed_shards
