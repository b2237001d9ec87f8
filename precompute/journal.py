"""What a run notes in the store's journal: its options, program, models and data, and what failed."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heval_core.lm.loading import Identity
from heval_core.store.shards import ShardStore
from precompute.grid import Grid, dtype_of, settings_of
from precompute.questions import MOST_QUESTIONS, Questions
from precompute.techniques import PLAIN, Chosen

LIBRARIES = ("torch", "transformers", "transformer-lens", "captum", "duckdb", "pyarrow", "numpy", "pandas")
SAID_BAD = 20
REGULAR = PLAIN.main


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat()


def noted(grid: Grid) -> dict[str, Any]:
    """The options as a run notes them: of files and fits, which they are."""
    plain = dataclasses.asdict(dataclasses.replace(grid, own=(), fits=()))
    files = [{"file": own.file, "name": own.name, "source": own.digest} for own in grid.own]
    return plain | {"own": files, "fits": [fit.digest for fit in grid.fits]}


def note_start(store: ShardStore, asked: dict[str, Any], device: str, dtype: str, seed: int) -> str:
    """The row of the table `run`. asked: the options of the run. Returns the run's id."""
    run_id = uuid.uuid4().hex[:12]
    line = {
        "run_id": run_id,
        "git_commit": _git_commit(),
        "versions": json.dumps({library: version(library) for library in LIBRARIES}),
        "device": device,
        "dtype": dtype,
        "seed": seed,
        "configuration": json.dumps(asked),
        "started": now(),
    }
    store.note("run", line)
    return run_id


def _git_commit() -> str | None:
    """The commit of the program's own checkout; None if it is installed without git."""
    root = Path(__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def note_model(store: ShardStore, facts: dict[str, Any]) -> None:
    if facts not in store.journal("model"):
        store.note("model", facts)


def note_state(
    store: ShardStore, grid: Grid, model: Identity, questions: Questions, size: int, chosen: Chosen = REGULAR
) -> None:
    """Publishing takes the newest state of each model, dataset and technique, so it is noted even if nothing is computed.

    chosen: the technique, with the setting that it runs with.
    """
    asked = (model.key, questions.dataset, chosen.key)
    line = {
        "model": model.key,
        "dataset": questions.dataset,
        "technique": chosen.key,
        "revision": model.revision,
        "fingerprint": questions.fingerprint,
        "settings": chosen.within(settings_of(grid, model, dtype_of(grid))),
        "shard_size": size,
    }
    before = [old for old in store.journal("state") if (old["model"], old["dataset"], old["technique"]) == asked]
    if line not in before[-1:]:
        store.note("state", line)


def note_dataset(store: ShardStore, questions: Questions) -> int:
    """Note which records were read and which were left out. Returns how many were malformed."""
    lines = [{"dataset": bad.dataset, "place": bad.place, "error": f"HEvalError: {bad.reason}"} for bad in questions.bad]
    more = questions.malformed - len(lines)
    if more:
        error = f"HEvalError: {more:,} more malformed records; only the first {len(lines):,} are listed"
        lines.append({"dataset": questions.dataset, "place": questions.dataset, "error": error})
    note_failures(store, lines)
    for bad in questions.bad[:SAID_BAD]:
        say(f"{bad.place}: {bad.reason}; the record was left out")
    if questions.malformed > SAID_BAD:
        say(f"{questions.dataset}: {questions.malformed} malformed records were left out; {SAID_BAD} are listed above")
    for reason, count in questions.unusable:
        say(f"{questions.dataset}: {count} records were left out: {reason}")
    if questions.usable > MOST_QUESTIONS == len(questions.facts):
        say(f"{questions.dataset}: {MOST_QUESTIONS:,} of {questions.usable:,} questions are asked; --limit asks for fewer")
    if not questions.facts:
        say(f"{questions.dataset}: none of its {questions.records} records can be used as a question")
    line = {
        "dataset": questions.dataset,
        "fingerprint": questions.fingerprint,
        "records": questions.records,
        "malformed": questions.malformed,
        "unusable": dict(questions.unusable),
        "usable": questions.usable,
        "asked": len(questions.facts),
        "relations": len(questions.relations),
    }
    if line != next((old for old in reversed(store.journal("dataset")) if old["dataset"] == line["dataset"]), None):
        store.note("dataset", line)
    return questions.malformed


def note_training(store: ShardStore, model: Identity, questions: Questions) -> None:
    """Note how many questions a model may have been trained on, if that changed: the newest line counts."""
    where = {"model": model.key, "dataset": questions.dataset}
    line = where | {"seen": questions.seen, "usable": questions.usable}
    before = [old for old in store.journal("training") if (old | where) == old]
    if line not in before[-1:] and (questions.seen or before):
        store.note("training", line)


def note_loaded(store: ShardStore, name: str) -> None:
    """Note that a model loads now, if it did not before."""
    if any(line.get("at_loading") and line["model"] == name for line in store.failures()):
        store.note("loaded", {"model": name, "happened": now()})


def note_failures(store: ShardStore, failures: Iterable[dict[str, Any]]) -> None:
    """Note each failure once, however often it happens. The journal is read and written once for all of them.

    A failure has an `error`, and what is known of model, dataset, regime, explainer, place, and the `keys` of shards that
    could not be made.
    """
    known = {_identity(line) for line in store.journal("failure")}
    lines: dict[str, dict[str, Any]] = {}
    for failure in failures:
        empty = {"model": "", "dataset": "", "regime": "", "technique": "", "explainer": "", "place": ""}
        line = empty | failure
        if (identity := _identity(line)) not in known:
            lines[identity] = line
    store.note("failure", *({**line, "happened": now()} for line in lines.values()))


def _identity(line: dict[str, Any]) -> str:
    """A failure without its time."""
    return json.dumps({name: value for name, value in line.items() if name != "happened"}, sort_keys=True)
