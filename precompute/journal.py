"""What a run notes in the store's journal: its options, program, models and data, and what failed."""

import json
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heval_core.datasets._reading import BadRecord
from heval_core.lm.loading import Identity
from heval_core.plugins import catalogue
from heval_core.store.shards import Shard, ShardStore, plugin_keys
from precompute.messages import say
from precompute.pair import Pair
from precompute.questions import MOST_QUESTIONS, Questions
from precompute.task import now
from precompute.techniques import Chosen

LIBRARIES = ("torch", "transformers", "transformer-lens", "captum", "duckdb", "pyarrow", "numpy", "pandas")
REPORTED_BAD = 20


def note_start(store: ShardStore, configuration: dict[str, Any], device: str, dtype: str, seed: int) -> str:
    """Note the row of the table `run`. configuration: the options of the run. Returns the run's id."""
    run_id = uuid.uuid4().hex[:12]
    line = {
        "run_id": run_id,
        "git_commit": _git_commit(),
        "versions": json.dumps({library: version(library) for library in LIBRARIES}),
        "device": device,
        "dtype": dtype,
        "seed": seed,
        "configuration": json.dumps(configuration),
        "started": now(),
    }
    store.note("run", line)
    return run_id


def _git_commit() -> str | None:
    """Return the commit of the program's own checkout; None if it is installed without git."""
    root = Path(__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def note_new(store: ShardStore, kind: str, line: dict[str, Any], columns: Sequence[str]) -> None:
    """Note a line, unless the newest one that agrees with it in `columns` says the same: the newest one counts."""
    before = [old for old in store.journal(kind) if all(old[name] == line[name] for name in columns)]
    if line not in before[-1:]:
        store.note(kind, line)


def note_state(store: ShardStore, pair: Pair, chosen: Chosen) -> None:
    """Note the state of a model, dataset and technique, also if nothing is computed: publishing takes the newest.

    chosen: the technique, with the setting that it runs with.
    """
    line = pair.state | {"technique": chosen.key, "settings": chosen.within(pair.settings), "shard_size": pair.grid.shard_size}
    note_new(store, "state", line, ("model", "dataset", "technique"))


def note_plugins(store: ShardStore, shards: Iterable[Shard]) -> None:
    """Note what is to be known of the plug-ins that make these shards, where the newest line says something else."""
    newest = {(line["of"], line["key"]): json.dumps(line) for line in store.journal("plugin")}
    lines = []
    for kind, keys in plugin_keys(shards).items():
        here = catalogue.variants(keys, kind)
        lines += [{"of": kind, **catalogue.described(here[key], kind)} for key in sorted(keys & {*here})]
    store.note("plugin", *(line for line in lines if newest.get((line["of"], line["key"])) != json.dumps(line)))


def left_out(questions: Questions) -> Iterator[str]:
    """Yield which records of a dataset are left out, and why: what a run says before it begins, and a plan too."""
    yield from malformed(questions.bad)
    if questions.malformed > REPORTED_BAD:
        yield f"{questions.dataset}: {questions.malformed} malformed records were left out; {REPORTED_BAD} are listed above"
    yield from (f"{questions.dataset}: {count} records were left out: {reason}" for reason, count in questions.unusable)
    if questions.usable > MOST_QUESTIONS == len(questions.facts):
        yield f"{questions.dataset}: {MOST_QUESTIONS:,} of {questions.usable:,} questions are asked; --limit asks for fewer"
    if not questions.facts:
        yield f"{questions.dataset}: none of its {questions.records} records can be used as a question"


def note_dataset(store: ShardStore, questions: Questions) -> int:
    """Note which records were read and which were left out. Returns how many were malformed."""
    note_bad(store, questions.dataset, questions.bad)
    if more := questions.malformed - len(questions.bad):
        error = f"HEvalError: {more:,} more malformed records; only the first {len(questions.bad):,} are listed"
        note_failures(store, [{"dataset": questions.dataset, "place": questions.dataset, "error": error}])
    for text in left_out(questions):
        say(text)
    line = {
        **{name: getattr(questions, name) for name in ("dataset", "fingerprint", "records", "malformed", "usable")},
        "unusable": dict(questions.unusable),
        "asked": len(questions.facts),
        "relations": len(questions.relations),
    }
    note_new(store, "dataset", line, ("dataset",))
    return questions.malformed


def note_bad(store: ShardStore, dataset: str, bad: Sequence[BadRecord]) -> None:
    note_failures(store, ({"dataset": dataset, "place": one.location, "error": f"HEvalError: {one.reason}"} for one in bad))


def malformed(bad: Sequence[BadRecord]) -> list[str]:
    """Say what is wrong with the first of them."""
    return [f"{record.location}: {record.reason}; the record was left out" for record in bad[:REPORTED_BAD]]


def note_training(store: ShardStore, model: Identity, questions: Questions) -> None:
    """Note how many questions a model may have been trained on, if that changed: the newest line counts."""
    line = {"model": model.key, "dataset": questions.dataset, "seen": questions.seen, "usable": questions.usable}
    columns = ("model", "dataset")
    if questions.seen or any(all(old[name] == line[name] for name in columns) for old in store.journal("training")):
        note_new(store, "training", line, columns)


def note_loaded(store: ShardStore, name: str) -> None:
    """Note that a model loads now, if it did not before."""
    if any(line.get("at_loading") and line["model"] == name for line in store.failures()):
        store.note("loaded", {"model": name, "happened": now()})


def note_failures(store: ShardStore, failures: Iterable[dict[str, Any]]) -> None:
    """Note each failure once, however often it happens. The journal is read and written once for all of them.

    A failure has an `error`, and what is known of model, dataset, regime, explainer, place, and the `keys` of shards not made.
    """
    known = {_identity(line) for line in store.journal("failure")}
    lines: dict[str, dict[str, Any]] = {}
    for failure in failures:
        line = dict.fromkeys(("model", "dataset", "regime", "technique", "explainer", "place"), "") | failure
        if (identity := _identity(line)) not in known:
            lines[identity] = line
    store.note("failure", *({**line, "happened": now()} for line in lines.values()))


def _identity(line: dict[str, Any]) -> str:
    """Return a failure without its time."""
    return json.dumps({name: value for name, value in line.items() if name != "happened"}, sort_keys=True)
