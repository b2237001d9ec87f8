"""What a run writes down beside its shards: what was asked, with which program, model and data, and what failed."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heval_core.lm.loading import Identity
from heval_core.records import TECHNIQUE
from heval_core.store.shards import ShardStore
from precompute.grid import Grid, dtype_of, settings_of
from precompute.questions import MOST_QUESTIONS, Questions

LIBRARIES = ("torch", "transformers", "transformer-lens", "captum", "duckdb", "pyarrow", "numpy", "pandas")
SAID_BAD = 20


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat()


def note_start(store: ShardStore, grid: Grid, device: str) -> str:
    """The row of the table `run`. Returns the run's id."""
    run_id = uuid.uuid4().hex[:12]
    store.note(
        "run",
        run_id=run_id,
        git_commit=_git_commit(),
        versions=json.dumps({library: version(library) for library in LIBRARIES}),
        device=device,
        dtype=dtype_of(grid),
        seed=grid.seed,
        configuration=json.dumps(asdict(grid)),
        started=now(),
    )
    return run_id


def _git_commit() -> str | None:
    """Of the program's own checkout; None where it is installed otherwise."""
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
        store.note("model", **facts)


def note_state(store: ShardStore, grid: Grid, model: Identity, questions: Questions, size: int) -> None:
    """What is run now of a model and a dataset is what publishing takes, even where all of it is done already."""
    line = {
        "model": model.key,
        "dataset": questions.dataset,
        "technique": TECHNIQUE,
        "revision": model.revision,
        "fingerprint": questions.fingerprint,
        "settings": settings_of(grid, model, dtype_of(grid)),
        "shard_size": size,
    }
    before = [old for old in store.journal("state") if (old["model"], old["dataset"]) == (model.key, questions.dataset)]
    if line not in before[-1:]:
        store.note("state", **line)


def note_dataset(store: ShardStore, questions: Questions) -> int:
    """Note what was read and left out. Returns how many records were malformed."""
    lines = [
        {"dataset": bad.dataset, "place": bad.place, "error": f"HEvalError: {bad.reason}"} for bad in questions.bad
    ]
    more = questions.malformed - len(lines)
    if more:
        error = f"HEvalError: {more:,} more malformed records, after these {len(lines):,}, are not named one by one"
        lines.append({"dataset": questions.dataset, "place": questions.dataset, "error": error})
    note_failures(store, lines)
    for bad in questions.bad[:SAID_BAD]:
        say(f"{bad.place}: {bad.reason}; the record was left out")
    if questions.malformed > SAID_BAD:
        say(
            f"{questions.dataset}: {questions.malformed} malformed records were left out, of which {SAID_BAD} are named"
        )
    for reason, count in questions.unusable:
        say(f"{questions.dataset}: {count} records were left out: {reason}")
    if questions.usable > MOST_QUESTIONS == len(questions.facts):
        say(
            f"{questions.dataset}: {MOST_QUESTIONS:,} of {questions.usable:,} questions are asked; --limit asks for fewer"
        )
    if not questions.facts:
        say(f"{questions.dataset}: none of {questions.records} records can be asked")
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
        store.note("dataset", **line)
    return questions.malformed


def note_loaded(store: ShardStore, name: str) -> None:
    """Only where it could not be loaded before."""
    if any(line.get("at_loading") and line["model"] == name for line in store.failures()):
        store.note("loaded", model=name, happened=now())


def note_failure(store: ShardStore, *, place: str, error: str, model: str = "", dataset: str = "", **more: Any) -> None:
    """Once, however often it happens. more: regime, technique, explainer, and the keys of shards that could not be made."""
    note_failures(store, [{"model": model, "dataset": dataset, **more, "place": place, "error": error}])


def note_failures(store: ShardStore, failures: Iterable[dict[str, Any]]) -> None:
    """Several at once, each as by `note_failure`: the journal is read and written once, however many they are."""
    known = {_told(line) for line in store.journal("failure")}
    lines: dict[str, dict[str, Any]] = {}
    for failure in failures:
        technique = TECHNIQUE if failure.get("regime") else ""
        line = {"model": "", "dataset": "", "regime": "", "technique": technique, "explainer": "", **failure}
        if (told := _told(line)) not in known:
            lines[told] = line
    store.note_all("failure", [{**line, "happened": now()} for line in lines.values()])


def _told(line: dict[str, Any]) -> str:
    """A failure but for when it happened."""
    return json.dumps({name: value for name, value in line.items() if name != "happened"}, sort_keys=True)
