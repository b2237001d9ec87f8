"""Shards ▶ one results file, built in one ordered pass, swapped in, and never written again.

Every model, dataset, regime and technique is evaluated by itself; averages over them (headline, findings) come last.
"""

import hashlib
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from heval_core.citations.people.annotations import Answers, answers
from heval_core.evaluation import earlier, evaluator, findings, parallel, patterns, quoted
from heval_core.evaluation.board.making import board_of_everything
from heval_core.evaluation.cells import frame_of
from heval_core.evaluation.citations import tables as citation_tables
from heval_core.evaluation.citations.standing import standing
from heval_core.evaluation.findings.claims import RuleShares
from heval_core.evaluation.means import controls_of, headline
from heval_core.evaluation.measuring import Measuring, Shards, by_regime
from heval_core.evaluation.techniques import tables
from heval_core.folders import program
from heval_core.plugins import catalogue
from heval_core.records import REGIMES, TECHNIQUE, HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.store import kinds, published
from heval_core.store.earlier_file import Unreadable
from heval_core.store.filters import Filter
from heval_core.store.progress import holder
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT, Entry, ShardRows, ShardStore, plugin_keys
from heval_core.store.writer import Writer


class PublishProgress(NamedTuple):
    """How far a publishing is. phase: in words, for people. part: what was just finished, as keys; often "".

    share: of the work that is done, from 0 to 1. seconds_left: None until something was measured.
    """

    phase: str
    part: str = ""
    share: float = 0.0
    seconds_left: float | None = None


OnProgress = Callable[[PublishProgress], None]


def _quiet(progress: PublishProgress) -> None:
    """Report nothing."""


class Steps:
    """The regimes of a publishing, each as long as its size. The seconds left are those at the rate so far.

    together: how many are evaluated at a time.
    """

    # The share of what comes after the last regime: averages and findings. Measured: .14 of the real results, .24
    # of the demo's, with their techniques and citations.
    AFTER = 0.18

    def __init__(self, sizes: Sequence[int], on_progress: OnProgress, together: int = 1):
        self._on_progress, self._count, self._ended = on_progress, len(sizes), 0
        self._sizes, self._size, self._done = sizes, max(1, sum(sizes)), 0
        # A single first step is not measured: it takes longer, because what it needs is loaded. Several end at once.
        self._first: tuple[float, int] | None = None if together == 1 else (time.monotonic(), 0)
        self._say("")

    def ended(self, one: Shards) -> None:
        """Report that one regime is done."""
        self._ended += 1
        self._done += self._sizes[self._ended - 1]
        self._first = self._first or (time.monotonic(), self._done)
        self._say(" · ".join(part for part in one.key if part != TECHNIQUE))

    def last(self) -> None:
        """Report that all regimes are done."""
        self._say("", "Putting the results together")

    def _say(self, part: str, phase: str = "") -> None:
        share, left = (1 - self.AFTER) * self._done / self._size, None
        if self._first is not None and self._done > self._first[1]:
            began, before = self._first
            left = (time.monotonic() - began) / (self._done - before) * (self._size / (1 - self.AFTER) - self._done)
        phase = phase or f"Marking every explainer: {self._ended} of {self._count} sets of prompts done"
        self._on_progress(PublishProgress(phase, part, share, left))


def publish(
    source: Path,
    target: Path | None = None,
    bundled: bool = False,
    on_progress: OnProgress = _quiet,
    keep: bool | None = None,
    workers: int | None = None,
) -> Path:
    """Build the results file of a store and make it the current one.

    source: the store with the shards. target: the folder for the file and its pointer, else the store.
    on_progress: is called with each step. keep: whether to save values that take long in the store for the next time
    (`value_cache`); by default yes, except for bundled results, which belong to the program. workers: processes; by default
    as many as pay (`parallel.workers_for`).
    Returns the published file. Raises HEvalError if there is nothing to publish, or a shard is damaged.
    """
    target, keep = target or source, not bundled if keep is None else keep
    how = parallel.How(keep, workers, target, _last(target) if keep else None)
    try:
        return _published(ShardStore(source), target, bundled, on_progress, how)
    except Unreadable:
        return _published(ShardStore(source), target, bundled, on_progress, replace(how, last=None))


def _published(store: ShardStore, target: Path, bundled: bool, on_progress: OnProgress, how: parallel.How) -> Path:
    of_regimes, citations = _newest(store), standing(store)
    entries = [*of_regimes, *citations.entries]
    _check(store, entries, on_progress)
    target.mkdir(parents=True, exist_ok=True)
    published.remove_unfinished(target)
    # Read once: people may be answering.
    people = answers(store.folder) if citations.entries else Answers([], [])
    beside = [*("|".join([*study_key, why]) for study_key, why in citations.unavailable.items()), *map(str, chain(*people))]
    beside += [str(line) for line in _absent(store, entries).values()]
    snapshot_id = _snapshot_id(entries, bundled, beside)
    final = target / f"results-{snapshot_id}.duckdb"
    if not final.is_file():
        with _temporary_file(final) as temporary, Writer(temporary) as writer:
            _insert_provenance(writer, store, entries, snapshot_id, bundled)
            if any(entry.kind != kinds.QUOTED.name for entry in of_regimes):
                _insert_results(writer, store, of_regimes, on_progress, replace(how, beside=temporary))
            else:
                quoted.insert(writer, store, of_regimes)
            studied = citation_tables.insert(writer, store, citations, people.rows)
            if studied:
                writer.insert("person", people.people)
                _insert_findings(writer, findings.citation_findings(*studied))
    published.point_to(target, final, evaluator.evaluator_id())
    published.remove_old(target, final)
    return final


def _last(target: Path) -> Path | None:
    try:
        return published.current_file(target)
    except HEvalError:  # damaged, or gone
        return None


def _check(store: ShardStore, entries: Sequence[Entry], on_progress: OnProgress) -> None:
    if not entries:
        raise HEvalError(f"The store {store.folder} has no finished shards; run: {program()} run --store {store.folder} …")
    on_progress(PublishProgress("Checking the stored files"))
    if damaged := [entry.where for entry in entries if not store.intact(entry)]:
        raise HEvalError(f"{len(damaged)} shards are damaged, the first is {damaged[0]}; run: {program()} verify.")


@contextmanager
def _temporary_file(final: Path) -> Iterator[Path]:
    """Yield the file to write a results file into; it is swapped in where that succeeds, and removed then."""
    temporary = final.with_name(f"{final.stem}.{os.getpid()}.tmp")
    try:
        yield temporary
        published.swap_in(temporary, final)
    finally:
        for path in (temporary, Path(f"{temporary}.wal")):
            path.unlink(missing_ok=True)


def _newest(store: ShardStore) -> list[Entry]:
    """Return the entries of the last run of each model, dataset and technique.

    Results from another revision of the model, another version of the data, or other settings must not be mixed with them:
    instances would be counted twice, or get each other's scores.
    """
    entries = [entry for entry in store.entries().values() if kinds.KINDS[entry.kind].of_regime]
    known = {(_key(line), _state(line)) for line in map(vars, entries)}
    newest, revision = dict[Any, Any](), dict[str, str]()
    for line in (*map(vars, entries), *store.journal("state")):
        if (_key(line), _state(line)) in known:
            newest[_key(line)] = _state(line)
            revision[line["model"]] = line["revision"]
    current = [
        entry
        for entry in entries
        if entry.revision == revision[entry.model] and _state(vars(entry)) == newest[_key(vars(entry))]
    ]
    # Of two searches that chose the same setting, the newest one is published.
    searches = {_key(vars(entry)): entry.key for entry in current if entry.kind == kinds.TRIAL.name}
    return [entry for entry in current if entry.kind != kinds.TRIAL.name or entry.key in searches.values()]


def left_out(store: ShardStore) -> Iterator[str]:
    """Yield a line for each model and dataset with results that are not published, because newer ones replace them."""
    current = _newest(store)
    keys, stands = {entry.key for entry in current}, {entry.cell[:2]: entry for entry in current}
    earlier: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in store.entries().values():
        if kinds.KINDS[entry.kind].of_regime and entry.kind != kinds.TRIAL.name and entry.key not in keys:
            earlier[entry.cell[:2]].append(entry)
    for where, old in earlier.items():
        differs = ("revision", "another revision of the model"), ("fingerprint", "other data"), ("settings", "other options")
        # A technique's own setting stands behind a point.
        values = {name: {getattr(entry, name).partition(".")[0] for entry in (*old, stands[where])} for name, _ in differs}
        why = " or ".join(text for name, text in differs if len(values[name]) > 1)
        yield f"left out: {len(old)} shards of {' · '.join(where)} with {why}: of an earlier run, and the newest counts"


_key = itemgetter("model", "dataset", "technique")
_state = itemgetter("revision", "fingerprint", "settings")


def _snapshot_id(entries: list[Entry], bundled: bool, beside: Iterable[str] = ()) -> str:
    """Hash what is published. beside: what is published that is in no shard."""
    lines = sorted(f"{entry.kind}|{entry.key}|{entry.content}" for entry in entries) + sorted(beside)
    return hashlib.sha256("\n".join([evaluator.evaluator_id(), str(bundled), *lines]).encode()).hexdigest()[:16]


def _insert_results(
    writer: Writer, store: ShardStore, entries: list[Entry], on_progress: OnProgress, how: parallel.How
) -> None:
    regimes = by_regime(store, entries)
    questions = _questions(store, entries)
    resamples = {dataset: Resamples(dataset, of_dataset) for dataset, of_dataset in questions.items()}
    of_regimes = earlier.recipes([shards[:2] for shards in regimes], questions) if how.keep else {}
    last = earlier.Earlier(writer, how.last, of_regimes)
    whole = Measuring(writer, store, resamples, how.keep, last)
    anew = [shards for shards in regimes if not last.whole(shards.key)]
    number = parallel.workers_for(anew, how.workers)
    steps = Steps([0 if last.whole(shards.key) else shards.size for shards in regimes], on_progress, number)
    job = parallel.Job(store.folder, questions, how.keep, how.last, of_regimes)
    with parallel.parts(job, anew, number, how.beside) if number > 1 else nullcontext() as parts:
        quoted.insert(writer, store, entries)  # while others evaluate
        whole.insert(regimes, steps.ended, parts)
    steps.last()
    compared = tables.insert(writer, store, entries, resamples)
    values = frame_of(whole.values)
    writer.insert_frame("cell_metric", values[writer.columns("cell_metric")])
    # Gold and off-topic documents belong to the comparison of techniques; the headline is about the paper's six regimes.
    of_paper = values[values["regime"].isin(REGIMES)]
    if len(of_paper):
        metrics, ks, controls = of_paper["metric"], of_paper["k"], controls_of(writer.reader())
        rows = headline(lambda measure, k: of_paper[(metrics == measure.metric) & (ks == k)], controls)
        writer.insert_frame("headline", rows)
    rule = RuleShares(*writer.rule_shares())
    _insert_findings(writer, findings.findings(whole.paired, compared, rule))
    writer.insert_contexts()
    shares = patterns.pattern_shares(writer.reader().pattern_counts(Filter()), resamples.__getitem__)
    writer.insert_frame("pattern_share", shares.assign(place=range(len(shares))))
    timings = ShardRows(store, entries, kinds.TIMING, kinds.TIMING.schema.names).rows
    writer.insert_frame("timing", timings[writer.columns("timing")])
    board = board_of_everything(writer.reader(), values)
    writer.insert("board", [{"json": board.to_json()}] if board.rows else [])


def _insert_findings(writer: Writer, stated: list[dict[str, Any]]) -> None:
    writer.insert("finding", [{"place": index, **row} for index, row in enumerate(stated)])


def _questions(store: ShardStore, entries: list[Entry]) -> dict[str, dict[str, str]]:
    """Return dataset ▶ fact ▶ its question: see `published.QUESTION`."""
    questions: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in entries:
        if entry.kind == kinds.INSTANCE.name:
            rows = store.read(entry, ["fact_id", "subject", "question"]).to_pylist()
            questions[entry.dataset] |= {row["fact_id"]: f"{row['subject']} {row['question']}" for row in rows}
    return dict(questions)


def _insert_provenance(writer: Writer, store: ShardStore, entries: list[Entry], snapshot_id: str, bundled: bool) -> None:
    """Write where the results come from: the snapshot, the batch job's journal, and the plug-ins."""
    now = datetime.now(UTC).replace(tzinfo=None)
    snapshot = {"snapshot_id": snapshot_id, "format": PUBLISHED_FORMAT, "bundled": bundled, "published_at": now}
    writer.insert("snapshot", [snapshot | {"evaluator": evaluator.evaluator_id()}])
    runs: dict[str, dict[str, Any]] = {}
    for line in store.journal("run"):
        runs.setdefault(line["run_id"], {}).update(line)
    models = {(line["model"], line["revision"]): line for line in store.journal("model")}
    writer.insert("run", list(runs.values()))
    writer.insert("model", list(models.values()))
    writer.insert("failure", store.failures())
    writer.insert("dataset", _datasets(store, entries))
    writer.insert("catalogue", _plugins(store, entries))


def _datasets(store: ShardStore, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return rows of the table `dataset`: those with results, and those of which no question is usable.

    The last run may have asked fewer questions than there are results of.
    """
    plugins, question_counts = catalogue.plugins("dataset"), Counter[str]()
    for entry in entries:
        question_counts[entry.dataset] = max(question_counts[entry.dataset], entry.stop)
    newest = {line["dataset"]: line | {"asked": question_counts[line["dataset"]]} for line in store.journal("dataset")}
    return [
        {**line, "unusable": json.dumps(line["unusable"]), "title": getattr(plugins.get(key.split("/")[0]), "title", key)}
        for key, line in sorted(newest.items())
        if line["asked"] or not line["usable"]
    ]


def _plugins(store: ShardStore, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return rows of the table `catalogue`: all plug-ins, the variants that the results use, and those that are not here."""
    used = plugin_keys(entries)
    rows = {
        (kind, plugin.key): {**catalogue.described(plugin, kind), "docstring": catalogue.docstring(plugin)}
        for kind in catalogue.KINDS
        for plugin in catalogue.variants(used[kind], kind).values()
    }
    return [{"kind": kind, **row} for (kind, _), row in (rows | _absent(store, entries)).items()]


def _absent(store: ShardStore, entries: Iterable[Entry]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return kind and key ▶ what runs noted of the plug-ins that the results use and that are not installed here."""
    used = plugin_keys(entries)
    here = {kind: catalogue.variants(used[kind], kind) for kind in catalogue.KINDS}
    noted = {
        (line.pop("of"), line["key"]): {**line, "docstring": "It is not installed here."} for line in store.journal("plugin")
    }
    return {(kind, key): line for (kind, key), line in noted.items() if key in used[kind] and key not in here[kind]}


def is_outdated(folder: Path) -> bool:
    """Return whether a folder's published results are by other code, or have another format; False if there are none."""
    pointer = folder / POINTER
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # nothing published, or damaged: reading the results reports that
    now = (PUBLISHED_FORMAT, evaluator.evaluator_id())
    return not isinstance(line, dict) or (line.get("format"), line.get("evaluator")) != now


def obstacle(source: Path, target: Path) -> str | None:
    """Say why the shards of `source` cannot be published into `target` now, as half a sentence; None if they can."""
    if not (source / "manifest.jsonl").is_file():
        return f"its shards are not in {source}"
    process = holder(source)
    if process is not None:
        return f"a run (process {process}) is writing to the store {source}"
    existing = next(folder for folder in (target, *target.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        return f"the folder {target} cannot be written"
    return None


def renew(source: Path, target: Path, bundled: bool, on_progress: OnProgress = _quiet) -> str | None:
    """Publish again. Returns None, or half a sentence that says why this was not possible."""
    why = obstacle(source, target)
    if why is None:
        try:
            publish(source, target, bundled, on_progress)
        except HEvalError as error:
            return str(error).rstrip(".")
        except OSError as error:
            return f"the folder {target} cannot be written ({error.strerror})"
    return why


def not_renewed(folder: Path, why: str) -> str:
    """Return the sentence for a page about results that could not be renewed."""
    return (
        f"Another version of this program evaluated these results, and they could not be published again: {why}. "
        f"Values computed live may differ from the stored ones. To fix this, run: {program()} publish "
        f"--store {folder}."
    )
