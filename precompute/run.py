"""`run`: do what is missing of a grid, and say what happened. `survey`: what there is to do, without doing it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from heval_core.lm.loading import Identity, choose_device, choose_dtype, identify, load
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.compute import Memories
from precompute.executors.local import run_jobs
from precompute.grid import Grid, Job, Questions, Shard, check, jobs_of, load_questions, missing

LIBRARIES = ("torch", "transformers", "transformer-lens", "captum", "duckdb", "pyarrow", "numpy", "pandas")


@dataclass
class Outcome:
    """What a run came to. failed: shards with failures, models that did not load, and records that are malformed."""

    computed: int = 0
    already_done: int = 0
    failed: int = 0


def run(grid: Grid, folder: Path) -> Outcome:
    """Compute and store what is missing of a grid.

    Raises HEvalError for a wrong grid or store, before anything is loaded. A model that cannot load, a record or an
    instance that fails is noted in the journal, and the rest goes on.
    """
    check(grid)
    choose_dtype(grid.dtype, choose_device(grid.device))
    store = ShardStore(folder)
    store.create()
    outcome = Outcome()
    with only_writer(folder):
        run_id = _note_start(store, grid)
        for name in grid.models:
            try:
                _run_model(name, grid, store, outcome)
            except HEvalError as error:
                outcome.failed += 1
                _note_failure(store, name, "", "", error)
                _say(f"{name}: {error}")
        store.note("run", run_id=run_id, finished=_now())
    return outcome


def _run_model(name: str, grid: Grid, store: ShardStore, outcome: Outcome) -> None:
    model = identify(name)
    loaded: LanguageModel | None = None
    for dataset in grid.datasets:
        questions = load_questions(dataset, grid.limit, grid.seed, model.style)
        outcome.failed += _note_bad_records(store, questions)
        work, done = pending(grid, model, questions, store)
        outcome.already_done += done
        if not work:
            continue
        if loaded is None:
            loaded = load(name, grid.device, grid.dtype, batch_tokens=grid.batch_tokens)
            _note_model(store, loaded)
            memories = Memories(loaded)
        outcome.computed += sum(len(wanted) for _, wanted in work)
        outcome.failed += _run_dataset(work, questions, memories, store)


def pending(
    grid: Grid, model: Identity, questions: Questions, store: ShardStore
) -> tuple[list[tuple[Job, tuple[Shard, ...]]], int]:
    """The jobs of one model and dataset with their missing shards, and how many shards are done."""
    dtype = str(choose_dtype(grid.dtype, choose_device(grid.device))).removeprefix("torch.")
    entries, work, done = store.entries(), [], 0
    for job in jobs_of(grid, model, questions, dtype):
        wanted = missing(job, entries)
        done += len(job.shards) - len(wanted)
        if wanted:
            work.append((job, wanted))
    return work, done


def _run_dataset(
    work: list[tuple[Job, tuple[Shard, ...]]], questions: Questions, memories: Memories, store: ShardStore
) -> int:
    total = sum(job.stop - job.start for job, _ in work)
    with tqdm(total=total, unit="instance", disable=not sys.stderr.isatty()) as bar:

        def started(job: Job) -> None:
            bar.set_description(job.name)
            if bar.disable:
                _say(job.name)

        return run_jobs(work, questions, memories, store, started, lambda: bar.update() and None)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a store for one run. Raises HEvalError that says which process holds it already."""
    with (folder / "writer.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise HEvalError(
                f"Another run (process {file.read().strip() or 'unknown'}) holds the store {folder}; "
                "let it end, or use another --store."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _note_start(store: ShardStore, grid: Grid) -> str:
    run_id = uuid.uuid4().hex[:12]
    device = choose_device(grid.device)
    store.note(
        "run",
        run_id=run_id,
        git_commit=_git_commit(),
        versions=json.dumps({library: version(library) for library in LIBRARIES}),
        device=device.type,
        dtype=str(choose_dtype(grid.dtype, device)).removeprefix("torch."),
        seed=grid.seed,
        configuration=json.dumps(asdict(grid)),
        started=_now(),
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


def _note_model(store: ShardStore, lm: LanguageModel) -> None:
    tokenizer = lm.tokenizer
    encoded = tokenizer("x").input_ids
    bos = tokenizer.bos_token_id
    store.note(
        "model",
        model=lm.key,
        revision=lm.revision,
        architecture=lm.model.config.model_type,
        layers=lm.layers,
        heads=lm.heads_per_layer,
        kv_heads=lm.kv_heads,
        width=lm.width,
        parameters=sum(p.numel() for p in lm.model.parameters()),
        positions=lm.positions,
        bos_id=bos,
        adds_bos=bool(encoded) and bos is not None and encoded[0] == bos,
        pad_id=tokenizer.pad_token_id,
        baseline_id=lm.baseline_id,
        prompt_style=lm.style.key,
    )


def _note_bad_records(store: ShardStore, questions: Questions) -> int:
    for bad in questions.bad:
        _note_failure(store, "", bad.dataset, bad.place, HEvalError(bad.reason))
        _say(f"{bad.place}: {bad.reason}; the record was left out")
    return len(questions.bad)


def _note_failure(store: ShardStore, model: str, dataset: str, place: str, error: Exception) -> None:
    known = store.journal("failure")
    line: dict[str, Any] = {"model": model, "dataset": dataset, "regime": "", "explainer": "", "place": place,
                            "error": f"{type(error).__name__}: {error}"}  # fmt: skip
    if not any(line.items() <= old.items() for old in known):
        store.note("failure", **line, happened=_now())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _now() -> str:
    return datetime.now(UTC).replace(tzinfo=None).isoformat()
