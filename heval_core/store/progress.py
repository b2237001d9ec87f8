"""The progress of a store's batch job, from its manifest, journal and event log, which can be read during a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heval_core.records import RegimeKey
from heval_core.store.kinds import KINDS
from heval_core.store.lock import holder
from heval_core.store.shards import Entry, ShardStore


@dataclass(frozen=True)
class CellProgress:
    """Numbers of shards of one model, dataset, regime and technique.

    failed: made with failures in them, or given up. missing: planned by the newest run, and not made yet.
    rows: explainer or kind ▶ rows made so far.
    """

    model: str
    dataset: str
    regime: str
    technique: str
    done: int
    running: int
    failed: int
    missing: int
    rows: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """process: the run that holds the store; None if there is none. seconds_left: at the rate of that run so far."""

    cells: tuple[CellProgress, ...]
    failures: tuple[dict[str, Any], ...]
    process: str | None
    seconds_left: float | None

    @property
    def done(self) -> int:
        return sum(cell.done for cell in self.cells)

    @property
    def missing(self) -> int:
        return sum(cell.missing + cell.running for cell in self.cells)


def progress(folder: Path) -> Progress:
    """Raises HEvalError for a store of a newer version."""
    store = ShardStore(folder)
    entries, failures = store.entries(), store.failures()
    events = _newest_run(store.events())
    process = holder(folder)
    planned: dict[str, RegimeKey] = {
        key: RegimeKey(*(line[name] for name in RegimeKey._fields))
        for line in events
        if line["event"] == "plan"
        for key in line["keys"]
    }
    ended = {line["key"] for line in events if line["event"] == "shard"}
    given_up = {key for line in failures for key in line.get("keys", ()) if key not in entries}
    began = {key for line in events if line["event"] == "began" for key in line["keys"]}
    running = (began - ended - given_up - _failed_now(events)) if process else set()
    counts: dict[RegimeKey, Counter[str]] = defaultdict(Counter)
    rows: dict[RegimeKey, dict[str, int]] = defaultdict(dict)
    for entry in entries.values():
        if entry.regime:
            cell = entry.cell.of_regime
            counts[cell]["failed" if entry.failed else "done"] += 1
            name = _name(entry)
            rows[cell][name] = rows[cell].get(name, 0) + entry.rows
    for key, cell in planned.items():
        if key not in entries:
            counts[cell]["running" if key in running else "failed" if key in given_up else "missing"] += 1
    cells = []
    for cell in sorted(counts):
        count = counts[cell]
        cells.append(CellProgress(*cell, count["done"], count["running"], count["failed"], count["missing"], rows[cell]))
    left = sum(key not in entries for key in planned)
    return Progress(tuple(cells), tuple(failures), process, _seconds_left(events, left) if process else None)


def _name(entry: Entry) -> str:
    return f"{entry.kind}: {entry.explainer}" if KINDS[entry.kind].beside else entry.explainer or entry.kind


def _newest_run(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    starts = [index for index, line in enumerate(events) if line["event"] == "run"]
    return events[starts[-1] :] if starts else []


def _failed_now(events: list[dict[str, Any]]) -> set[str]:
    return {key for line in events if line["event"] == "failed" for key in line["keys"]}


def _seconds_left(events: list[dict[str, Any]], left: int) -> float | None:
    """None before the first shard is done."""
    made = sum(line["event"] == "shard" for line in events)
    began = next((line["at"] for line in events if line["event"] == "began"), None)
    if not made or began is None:
        return None
    taken = (datetime.now(UTC).replace(tzinfo=None) - datetime.fromisoformat(began)).total_seconds()
    return taken / made * left
