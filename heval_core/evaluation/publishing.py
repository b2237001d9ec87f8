"""Shards ▶ one results file, built in one ordered pass, swapped in, and never written again.

Every model, dataset, regime and technique is evaluated by itself; averages over them (headline, findings) come last.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heval_core import __version__, catalogue
from heval_core.evaluation import cells, evaluator, findings, patterns
from heval_core.evaluation.measuring import Measured, insert_regime
from heval_core.records import REGIMES, TECHNIQUE, HEvalError, RegimeKey
from heval_core.statistics.bootstrap import Resamples
from heval_core.store import kinds, published
from heval_core.store.shards import PUBLISHED_FORMAT, Entry, ShardStore
from heval_core.store.writer import Writer, schema


def publish(
    source: Path,
    target: Path | None = None,
    bundled: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    keep: bool | None = None,
) -> Path:
    """Build the results file of a store and make it the current one.

    source: the store with the shards. target: the folder for the file and its pointer, by default the store itself.
    keep: whether to keep values that take long in the store for the next time (`kept`); by default yes, except for bundled
    results, which belong to the program.
    Returns the published file. Raises HEvalError if there is nothing to publish, or a shard is damaged.
    """
    store, target = ShardStore(source), target or source
    entries = _newest(store)
    if not entries:
        raise HEvalError(f"The store {source} has no finished shards; run: python -m precompute run --store {source} …")
    damaged = [entry.path for entry in entries if not store.intact(entry)]
    if damaged:
        raise HEvalError(f"{len(damaged)} shards are damaged, the first is {damaged[0]}; run: python -m precompute verify.")
    target.mkdir(parents=True, exist_ok=True)
    published.remove_unfinished(target)
    snapshot_id = _snapshot_id(entries, bundled)
    final = target / f"results-{snapshot_id}.duckdb"
    if not final.is_file():
        temporary = target / f"results-{snapshot_id}.{os.getpid()}.tmp"
        try:
            with Writer(temporary) as writer:
                _insert_provenance(writer, store, entries, snapshot_id, bundled)
                _insert_results(writer, store, entries, progress, not bundled if keep is None else keep)
            published.swap_in(temporary, final)
        finally:
            for left in (temporary, Path(f"{temporary}.wal")):
                left.unlink(missing_ok=True)
    published.point_to(target, final, evaluator.evaluator_id())
    published.remove_old(target, final)
    return final


def _newest(store: ShardStore) -> list[Entry]:
    """The entries of the last run of each model, dataset and technique.

    Results from another revision of the model, another version of the data, or other settings must not be mixed with them:
    instances would be counted twice, or get each other's scores.
    """
    entries = [entry for entry in store.entries().values() if kinds.KINDS[entry.kind].of_regime]
    newest = {_asked(asdict(entry)): _state(asdict(entry)) for entry in entries}
    known = {(*_asked(asdict(entry)), *_state(asdict(entry))) for entry in entries}
    revision = {entry.model: entry.revision for entry in entries}
    for line in store.journal("state"):
        if (*_asked(line), *_state(line)) in known:
            newest[_asked(line)] = _state(line)
            revision[line["model"]] = line["revision"]
    return [
        entry
        for entry in entries
        if entry.revision == revision[entry.model] and _state(asdict(entry)) == newest[_asked(asdict(entry))]
    ]


def _asked(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["model"], line["dataset"], line["technique"]


def _state(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["revision"], line["fingerprint"], line["settings"]


def _snapshot_id(entries: list[Entry], bundled: bool) -> str:
    lines = sorted(f"{entry.kind}|{entry.key}|{entry.content}" for entry in entries)
    evaluated = [schema(), __version__, evaluator.evaluator_id(), str(bundled)]
    return hashlib.sha256("\n".join([*evaluated, *lines]).encode()).hexdigest()[:16]


@dataclass
class _OverCells:
    """Collects the values for headline and findings while the cells are evaluated one after another."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    spread: dict[cells.ValueKey, np.ndarray] = field(default_factory=dict)
    paired_rows: list[dict[str, Any]] = field(default_factory=list)
    paired_spread: dict[cells.ValueKey, np.ndarray] = field(default_factory=dict)

    def add(self, measured: Measured) -> None:
        self.rows += measured.evaluated.rows
        self.spread |= measured.evaluated.replicates
        self.paired_rows += [row for row in measured.paired.rows if (row["metric"], row["part"], row["k"]) in findings.WANTED]
        self.paired_spread |= measured.paired.replicates

    def insert(self, writer: Writer) -> None:
        if self.rows:
            writer.insert("cell_metric", self.rows)
            writer.insert("headline", cells.headline_rows(pd.DataFrame(self.rows), self.spread))
        paired = pd.DataFrame(self.paired_rows, columns=writer.columns("cell_metric"))
        stated = findings.findings(paired, self.paired_spread, findings.rule_of(writer.rule_shares()))
        writer.insert("finding", [{"place": place, **row} for place, row in enumerate(stated)])


def _insert_results(
    writer: Writer, store: ShardStore, entries: list[Entry], progress: Callable[[str], None], keep: bool
) -> None:
    by_regime: dict[RegimeKey, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_regime[entry.cell.of_regime].append(entry)
    resamples = _resamples(store, entries)
    whole = _OverCells()
    for _, keys in groupby(sorted(by_regime, key=_order), key=lambda key: _order(key)[:3]):
        mirrored: dict[str, cells.Mirrored] = {}
        for key in keys:
            progress(" · ".join([*key[:2], *([key.technique] if key.technique != TECHNIQUE else []), key.regime]))
            found = insert_regime(writer, store, by_regime[key], resamples[key.dataset], keep)
            if found is not None:
                mirrored[key.regime] = found.mirrored
                whole.add(found)
        whole.rows += _swaps(mirrored)
    whole.insert(writer)
    writer.insert_contexts()
    shares = patterns.pattern_shares(writer.pattern_counts(), resamples.__getitem__)
    writer.insert_frame("pattern_share", shares.assign(place=range(len(shares))))


def _order(key: RegimeKey) -> tuple[str, str, str, int]:
    return key.model, key.dataset, key.technique, REGIMES.index(key.regime)


def _resamples(store: ShardStore, entries: list[Entry]) -> dict[str, Resamples]:
    """Resamples by dataset, over all questions of the dataset."""
    questions: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if entry.kind == kinds.INSTANCE.name:
            questions[entry.dataset].update(store.read(entry).column("fact_id").to_pylist())
    return {dataset: Resamples(dataset, asked) for dataset, asked in questions.items()}


def _swaps(measured: Mapping[str, cells.Mirrored]) -> list[dict[str, Any]]:
    """Metrics that compare a regime with its mirror, in which the documents are swapped."""
    rows = []
    for regime, found in measured.items():
        swapped = measured.get(f"{regime}_swap")
        if swapped is not None:
            rows += cells.swap_rows(found, swapped)
    return rows


def _insert_provenance(writer: Writer, store: ShardStore, entries: list[Entry], snapshot_id: str, bundled: bool) -> None:
    """Where the results come from: the snapshot, the batch job's journal, and the plug-ins."""
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
    writer.insert("dataset", _datasets(store))
    writer.insert("catalogue", _plugins({entry.explainer for entry in entries}))


def _datasets(store: ShardStore) -> list[dict[str, Any]]:
    known = catalogue.plugins("dataset")
    newest = {line["dataset"]: line for line in store.journal("dataset")}
    return [
        {**line, "unusable": json.dumps(line["unusable"]), "title": getattr(known.get(key.split("/")[0]), "title", key)}
        for key, line in sorted(newest.items())
    ]


def _plugins(explainers: set[str]) -> list[dict[str, Any]]:
    """Rows of the table `catalogue`. explainers: keys in the results, which may be variants of this program's explainers."""
    plugins = [(kind, plugin) for kind in catalogue.KINDS for plugin in _of_kind(kind, explainers).values()]
    return [
        {
            "kind": kind,
            "key": plugin.key,
            "title": plugin.title,
            "signed": getattr(plugin, "signed", None),
            "control": getattr(plugin, "control", None),
            "reference": plugin.reference,
            "docstring": catalogue.docstring(plugin),
        }
        for kind, plugin in plugins
    ]


def _of_kind(kind: str, explainers: set[str]) -> Mapping[str, Any]:
    return catalogue.variants(explainers) if kind == "explainer" else catalogue.plugins(kind)
