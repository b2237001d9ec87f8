"""`run`: do what is missing of a grid, and say what happened. `survey`: what there is to do, without doing it."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from heval_core.lm.loading import Identity, choose_device, choose_dtype, identify, load
from heval_core.lm.model import LanguageModel
from heval_core.records import HEvalError
from heval_core.regimes import sample
from heval_core.store.shards import Entry, ShardStore
from precompute.executors.local import run_jobs
from precompute.grid import (
    INSTANCES,
    MOST_QUESTIONS,
    Grid,
    Job,
    Questions,
    Shard,
    cap_of,
    check,
    jobs_of,
    load_questions,
    missing,
    settings_of,
)
from precompute.memory import Memories, remember

LIBRARIES = ("torch", "transformers", "transformer-lens", "captum", "duckdb", "pyarrow", "numpy", "pandas")


@dataclass
class Outcome:
    """What a run came to.

    failed: shards with failures, models that did not load, and records that are malformed. told: the datasets whose
    left-out records were named and counted; every model reads the same.
    """

    computed: int = 0
    already_done: int = 0
    failed: int = 0
    told: set[str] = field(default_factory=set)


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
    model = asked_as(grid, identify(name))
    session: Session | None = None
    for dataset in grid.datasets:
        questions, dtype = load_questions(dataset, grid.limit, grid.seed, model.style), dtype_of(grid)
        if questions.seen:
            left = questions.usable - questions.seen
            _say(
                f"{model.key} · {questions.dataset}: {left:,} of {questions.usable:,} questions were not in its training"
            )
        if questions.dataset not in outcome.told:
            outcome.told.add(questions.dataset)
            outcome.failed += _note_dataset(store, questions)
        _note_state(store, grid, model, questions, dtype)
        done = sum(len(job.shards) for job in known_jobs(grid, model, questions, dtype, store))
        work = list(pending(known_jobs(grid, model, questions, dtype, store), store))
        outcome.already_done += done - sum(len(wanted) for _, wanted in work)
        if not work:
            continue
        if session is None:
            session = Session(name, grid, model, dtype, store)
        memories = remember(grid, session.lm, questions, dtype, store)
        while work:
            outcome.computed += sum(len(wanted) for _, wanted in work)
            outcome.failed += _run_jobs(work, questions, memories, store)
            failed_now = {shard.key for _, wanted in work for shard in wanted}
            work = [
                (job, wanted)
                for job, wanted in pending(known_jobs(grid, model, questions, dtype, store, choose=True), store)
                if not failed_now & {shard.key for shard in wanted}
            ]


class Session:
    """A model, loaded when the first job needs it and noted in the journal."""

    def __init__(self, name: str, grid: Grid, model: Identity, dtype: str, store: ShardStore):
        self.lm: LanguageModel = load(name, grid.device, grid.dtype, batch_tokens=grid.batch_tokens)
        self.lm.template = model.template
        _note_model(store, self.lm)


def asked_as(grid: Grid, model: Identity) -> Identity:
    """The model under the grid's template, where it has one."""
    return dataclasses.replace(model, template=grid.template) if grid.template else model


def dtype_of(grid: Grid) -> str:
    """The dtype that `auto` stands for."""
    return str(choose_dtype(grid.dtype, choose_device(grid.device))).removeprefix("torch.")


def known_jobs(
    grid: Grid, model: Identity, questions: Questions, dtype: str, store: ShardStore, choose: bool = False
) -> Iterator[Job]:
    """The jobs that can be known now: all of them where no regime has more questions than its cap.

    Where one has, which of its instances are explained depends on the groups of their answers: until all are there,
    only the jobs that answer. choose: write down the sample, for publishing.
    """
    everything = (INSTANCES, *grid.explainers)
    places, cap = range(len(questions.facts)), cap_of(grid, questions)
    for regime in grid.regimes:
        if cap is None or len(places) <= cap:
            yield from jobs_of(grid, model, questions, dtype, regime, places, everything)
            continue
        answering = list(jobs_of(grid, model, questions, dtype, regime, places, (INSTANCES,)))
        yield from answering
        entries = store.entries()
        if all(job.shards[0].key in entries for job in answering):
            chosen = _sampled(cap, answering, entries, questions, store, choose)
            yield from jobs_of(grid, model, questions, dtype, regime, chosen, grid.explainers)


def _sampled(
    cap: int, answering: list[Job], entries: dict[str, Entry], questions: Questions, store: ShardStore, choose: bool
) -> list[int]:
    """The places of the instances that are explained, from the groups of a regime's answers."""
    groups: dict[int, str] = {}
    for job in answering:
        for row in store.read(entries[job.shards[0].key]).select(["place", "group", "dropped_because"]).to_pylist():
            if row["dropped_because"] is None:
                groups[row["place"]] = row["group"]
    kept = sorted(groups)
    chosen = [kept[index] for index in sample([groups[place] for place in kept], cap)]
    key = hashlib.sha256("|".join([f"sample {cap}", *(job.shards[0].key for job in answering)]).encode()).hexdigest()[
        :24
    ]
    if choose and len(chosen) < len(kept) and key not in entries:
        first = answering[0]
        store.write(
            {
                "key": key, "kind": "sample", "model": first.model, "revision": first.revision,
                "dataset": first.dataset, "fingerprint": first.fingerprint, "settings": first.settings,
                "regime": first.regime, "explainer": "", "start": 0, "stop": answering[-1].stop, "failed": 0,
            },
            [{"fact_id": questions.facts[place].id} for place in chosen],
        )  # fmt: skip
    return chosen


def pending(jobs: Iterable[Job], store: ShardStore) -> Iterator[tuple[Job, tuple[Shard, ...]]]:
    """The jobs that have shards still to be made, with these."""
    entries = store.entries()
    for job in jobs:
        wanted = missing(job, entries)
        if wanted:
            yield job, wanted


def _run_jobs(
    work: list[tuple[Job, tuple[Shard, ...]]], questions: Questions, memories: Memories, store: ShardStore
) -> int:
    total = sum(len(job.places) for job, _ in work)
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
        dtype=dtype_of(grid),
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


def _note_state(store: ShardStore, grid: Grid, model: Identity, questions: Questions, dtype: str) -> None:
    """What is run now of a model and a dataset is what publishing takes, even where all of it is done already."""
    line = {
        "model": model.key, "dataset": questions.dataset, "revision": model.revision,
        "fingerprint": questions.fingerprint, "settings": settings_of(grid, model, dtype),
    }  # fmt: skip
    before = [old for old in store.journal("state") if (old["model"], old["dataset"]) == (model.key, questions.dataset)]
    if line not in before[-1:]:
        store.note("state", **line)


SAID_BAD = 20


def _note_dataset(store: ShardStore, questions: Questions) -> int:
    """Note what was read and left out. Returns how many records were malformed."""
    for number, bad in enumerate(questions.bad):
        _note_failure(store, "", bad.dataset, bad.place, HEvalError(bad.reason))
        if number < SAID_BAD:
            _say(f"{bad.place}: {bad.reason}; the record was left out")
    if questions.malformed > SAID_BAD:
        _say(
            f"{questions.dataset}: {questions.malformed} malformed records were left out, of which {SAID_BAD} are named"
        )
    for reason, count in questions.unusable:
        _say(f"{questions.dataset}: {count} records were left out: {reason}")
    if questions.usable > MOST_QUESTIONS == len(questions.facts):
        _say(
            f"{questions.dataset}: {MOST_QUESTIONS:,} of {questions.usable:,} questions are asked; --limit asks for fewer"
        )
    if not questions.facts:
        _say(f"{questions.dataset}: none of {questions.records} records can be asked")
    line = {
        "dataset": questions.dataset, "fingerprint": questions.fingerprint, "records": questions.records,
        "malformed": questions.malformed, "unusable": dict(questions.unusable), "usable": questions.usable,
        "asked": len(questions.facts), "relations": len(questions.relations),
    }  # fmt: skip
    if line != next((old for old in reversed(store.journal("dataset")) if old["dataset"] == line["dataset"]), None):
        store.note("dataset", **line)
    return questions.malformed


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
