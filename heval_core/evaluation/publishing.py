"""Shards ▶ one DuckDB file, built in one ordered pass and swapped in; never written again.

The file is named by the hash of its content, so that a reader never meets a file that changes under it, and a small
pointer file names the current one. The last two files are kept: an explorer that is open stays on its snapshot.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from heval_core import __version__, catalogue
from heval_core.evaluation import cells, context_target, evaluator, findings, patterns
from heval_core.evaluation.kept import Kept
from heval_core.evaluation.regime import Regime, regime_of
from heval_core.evaluation.scored import Scored, control_attributions, with_means
from heval_core.metrics.shared.cell import Cell
from heval_core.records import REGIMES, TECHNIQUE, HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.store import summaries
from heval_core.store.shards import (
    ATTRIBUTION,
    FAITHFULNESS,
    HEAD_ATTENTION,
    INSTANCE,
    POINTER,
    PUBLISHED_FORMAT,
    SAMPLE,
    Entry,
    ShardStore,
    sha256_of,
)

KEPT_FILES = 2


def publish(
    source: Path,
    target: Path | None = None,
    bundled: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    keep: bool | None = None,
) -> Path:
    """Build the results file of a store and make it the current one.

    source: the store with the shards. target: the folder for the file and its pointer, the store itself by default.
    keep: whether values that take
    long are kept in the store for the next time (`kept`); of bundled results, which belong to the program, they are not.
    Returns the published file. Raises HEvalError where there is nothing to publish, or a shard is damaged.
    """
    store, target = ShardStore(source), target or source
    entries = _newest(store)
    if not entries:
        raise HEvalError(f"The store {source} has no finished shards; run: python -m precompute run --store {source} …")
    damaged = [entry.path for entry in entries if not store.intact(entry)]
    if damaged:
        raise HEvalError(f"{len(damaged)} shards are damaged, {damaged[0]} first; run: python -m precompute verify.")
    target.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(target)
    snapshot_id = _snapshot_id(entries, bundled)
    final = target / f"results-{snapshot_id}.duckdb"
    if not final.is_file():
        temporary = target / f"results-{snapshot_id}.{os.getpid()}.tmp"
        try:
            _build(temporary, store, entries, snapshot_id, bundled, progress, not bundled if keep is None else keep)
            _swap_in(temporary, final)
        finally:
            for left in (temporary, Path(f"{temporary}.wal")):
                left.unlink(missing_ok=True)
    _point(target, final)
    _remove_old(target, final)
    return final


def _newest(store: ShardStore) -> list[Entry]:
    """The entries that belong to what was run last of each model, dataset and technique.

    Results of another revision of the model, another state of the data, or other settings must not stand beside them: their
    instances would be counted twice, or be given the other's scores.
    """
    entries = [entry for entry in store.entries().values() if entry.kind != "memory"]
    there = {_asked(asdict(entry)): _state(asdict(entry)) for entry in entries}
    known = {(*_asked(asdict(entry)), *_state(asdict(entry))) for entry in entries}
    revision = {entry.model: entry.revision for entry in entries}
    for line in store.journal("state"):
        if (*_asked(line), *_state(line)) in known:
            there[_asked(line)] = _state(line)
            revision[line["model"]] = line["revision"]
    return [
        entry
        for entry in entries
        if entry.revision == revision[entry.model] and _state(asdict(entry)) == there[_asked(asdict(entry))]
    ]


def _asked(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["model"], line["dataset"], line["technique"]


def _state(line: dict[str, Any]) -> tuple[str, str, str]:
    return line["revision"], line["fingerprint"], line["settings"]


def _snapshot_id(entries: list[Entry], bundled: bool) -> str:
    lines = sorted(f"{e.kind}|{e.key}|{e.content}" for e in entries)
    schema = files("heval_core.store").joinpath("schema.sql").read_text(encoding="utf-8")
    evaluated = [schema, __version__, evaluator.evaluator_id(), str(bundled)]
    return hashlib.sha256("\n".join([*evaluated, *lines]).encode()).hexdigest()[:16]


def _build(
    path: Path,
    store: ShardStore,
    entries: list[Entry],
    snapshot_id: str,
    bundled: bool,
    progress: Callable[[str], None],
    keep: bool,
) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as db:
        db.execute(files("heval_core.store").joinpath("schema.sql").read_text(encoding="utf-8"))
        _insert(db, "snapshot", [{"snapshot_id": snapshot_id, "format": PUBLISHED_FORMAT, "bundled": bundled,
                                  "evaluator": evaluator.evaluator_id(),
                                  "published_at": datetime.now(UTC).replace(tzinfo=None)}])  # fmt: skip
        _insert_journal(db, store)
        _insert_catalogue(db, {entry.explainer for entry in entries})
        _insert_results(db, store, entries, progress, keep)
        db.execute("CHECKPOINT")


def _insert_results(
    db: duckdb.DuckDBPyConnection,
    store: ShardStore,
    entries: list[Entry],
    progress: Callable[[str], None],
    keep: bool,
) -> None:
    by_regime: dict[tuple[str, str, str, int], list[Entry]] = defaultdict(list)
    questions: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        by_regime[entry.model, entry.dataset, entry.technique, REGIMES.index(entry.regime)].append(entry)
        if entry.kind == "instance":
            questions[entry.dataset].update(store.read(entry).column("fact_id").to_pylist())
    resamples = {dataset: Resamples(dataset, found) for dataset, found in questions.items()}
    metric_rows: list[dict[str, Any]] = []
    headline_spread: dict[findings.Place, np.ndarray] = {}
    paired_rows: list[dict[str, Any]] = []
    paired_spread: dict[findings.Place, np.ndarray] = {}
    for (model, dataset, technique), keys in groupby(sorted(by_regime), key=lambda key: key[:3]):
        both_ways: dict[str, tuple[Regime, dict[str, Cell]]] = {}
        for key in keys:
            regime = REGIMES[key[3]]
            progress(" · ".join([model, dataset, *([technique] if technique != TECHNIQUE else []), regime]))
            found = _insert_regime(db, store, by_regime[key], resamples[dataset], keep)
            if found is None:
                continue
            both_ways[regime] = (found.whole, found.complete)
            metric_rows += found.evaluated.rows
            paired_rows += [
                row for row in found.paired.rows if (row["metric"], row["part"], row["k"]) in findings.WANTED
            ]
            headline_spread |= _kept(found.evaluated, found.whole)
            paired_spread |= _kept(found.paired, found.whole)
        for regime in both_ways:
            if f"{regime}_swap" in both_ways:
                metric_rows += cells.swap_rows(both_ways[regime], both_ways[f"{regime}_swap"])
    if metric_rows:
        _insert(db, "cell_metric", metric_rows)
        _insert(db, "headline", cells.headline_rows(pd.DataFrame(metric_rows), headline_spread))
    stated = findings.findings(
        pd.DataFrame(paired_rows, columns=_columns(db, "cell_metric")), paired_spread, summaries.rule_of(db)
    )
    _insert(db, "finding", [{"place": place, **row} for place, row in enumerate(stated)])
    summaries.insert_contexts(db)
    summaries.insert_pattern_shares(db, resamples)


def _kept(evaluated: cells.Evaluated, regime: Regime) -> dict[findings.Place, np.ndarray]:
    """The replicates that headline and findings need; of all metrics they would take a gigabyte for a large store."""
    return {
        (*regime.place, *place): values
        for place, values in evaluated.replicates.items()
        if place[1:] in findings.WANTED
    }


class _Measured(NamedTuple):
    """One model, dataset, regime and technique: its instances, the cells of explainers that have scores of all, all metrics.

    paired: what findings rest on, over the instances that all methods have scores of.
    """

    whole: Regime
    complete: dict[str, Cell]
    evaluated: cells.Evaluated
    paired: cells.Evaluated


def _insert_regime(
    db: duckdb.DuckDBPyConnection, store: ShardStore, entries: list[Entry], resamples: Resamples, keep: bool
) -> _Measured | None:
    """One model, dataset, regime and technique: instances, attributions, scores. None where every instance was dropped."""
    instances = _table(store, entries, "instance", INSTANCE)
    frame = instances.to_pandas().drop_duplicates("instance_id", keep="last").sort_values(["place", "instance_id"])
    frame = frame.reset_index(drop=True)
    found = _table(store, entries, "attribution", ATTRIBUTION).to_pandas()
    found = found.drop_duplicates(["instance_id", "explainer"], keep="last")
    frame = _without_unsampled(frame, set(found["instance_id"]), _table(store, entries, "sample", SAMPLE))
    _insert_arrow(db, "instance", pa.Table.from_pandas(frame, schema=INSTANCE, preserve_index=False))
    kept = frame[frame["dropped_because"].isna()].reset_index(drop=True)
    _insert_arrow(db, "head_attention", _table(store, entries, "head_attention", HEAD_ATTENTION))
    # Controls stand beside methods: on instances that no method has explained they would be measured on others.
    explained = kept[kept["instance_id"].isin(found["instance_id"])]
    controls = pd.DataFrame(control_attributions(explained), columns=ATTRIBUTION.names)
    attributions = pd.concat([found, controls], ignore_index=True) if len(controls) else found
    order = {instance_id: index for index, instance_id in enumerate(kept["instance_id"])}
    attributions = attributions[attributions["instance_id"].isin(order)]
    attributions = attributions.assign(order=attributions["instance_id"].map(order)).sort_values(["order", "explainer"])
    _insert_arrow(db, "attribution", pa.Table.from_pandas(attributions, schema=ATTRIBUTION, preserve_index=False))
    towards = context_target.rows_of(_table(store, entries, "context_attribution", ATTRIBUTION).to_pandas(), kept)
    _insert_arrow(db, "context_attribution", towards)
    if kept.empty:
        return None
    own_scores: dict[str, list[tuple[str, np.ndarray]]] = defaultdict(list)
    for row in attributions.itertuples():
        own_scores[row.instance_id].append((row.explainer, row.scores))
    for table, rows in zip(
        ("pattern", "pattern_chance"), patterns.rows_of(kept.to_dict("records"), own_scores), strict=True
    ):
        _insert(db, table, rows)
    faithful = _table(store, entries, "faithfulness", FAITHFULNESS).to_pandas()
    faithful = with_means(faithful.drop_duplicates(["instance_id", "explainer", "replacement"], keep="last"))
    whole = regime_of(kept.assign(length=kept["tokens"].map(len)), resamples)
    scored = Scored(attributions, faithful, towards.to_pandas())
    before = Kept(store.folder, whole.place, findings.WANTED, keep)
    complete, evaluated = cells.evaluate_all(whole, scored, kept=before)
    before.save()
    if evaluated.frames:
        _insert_frame(db, "score", pd.concat(evaluated.frames, ignore_index=True))
    return _Measured(whole, complete, evaluated, _paired(whole, complete, scored, evaluated))


def _paired(
    whole: Regime,
    complete: dict[str, Cell],
    scored: Scored,
    evaluated: cells.Evaluated,
) -> cells.Evaluated:
    """What findings rest on: where a method failed or is not done, all of them over the instances that it has."""
    there = set(scored.attributions["explainer"]) & set(findings.METHODS)
    if there <= set(complete):
        return evaluated
    regime, methods = scored.common(whole, there)
    if not len(regime.ids):
        return cells.Evaluated([], [], {})
    metrics = [plugin for key, plugin in catalogue.plugins("metric").items() if key in findings.METRICS]
    return cells.evaluate(regime, methods, metrics, (findings.K,))


def _without_unsampled(frame: pd.DataFrame, explained: set[str], sampled: pa.Table) -> pd.DataFrame:
    """Where a cap has left instances unexplained, they take no part in metrics, and say why."""
    if not len(sampled):
        return frame
    chosen = frame["instance_id"].isin(explained) | frame["fact_id"].isin(set(sampled.column("fact_id").to_pylist()))
    left_out = frame["dropped_because"].isna() & ~chosen
    return frame.assign(dropped_because=frame["dropped_because"].where(~left_out, "not sampled"))


def _table(store: ShardStore, entries: list[Entry], kind: str, schema: pa.Schema) -> pa.Table:
    tables = [store.read(entry) for entry in entries if entry.kind == kind]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _insert_journal(db: duckdb.DuckDBPyConnection, store: ShardStore) -> None:
    runs: dict[str, dict[str, Any]] = {}
    for line in store.journal("run"):
        runs.setdefault(line["run_id"], {}).update(line)
    models = {(line["model"], line["revision"]): line for line in store.journal("model")}
    _insert(db, "run", list(runs.values()))
    _insert(db, "model", list(models.values()))
    _insert(db, "failure", store.failures())
    known = catalogue.plugins("dataset")
    newest = {line["dataset"]: line for line in store.journal("dataset")}
    _insert(
        db,
        "dataset",
        [
            {
                **line,
                "unusable": json.dumps(line["unusable"]),
                "title": getattr(known.get(key.split("/")[0]), "title", key),
            }
            for key, line in sorted(newest.items())
        ],
    )


def _insert_catalogue(db: duckdb.DuckDBPyConnection, explainers: set[str]) -> None:
    """explainers: those of the results, some of which may be variants of one that comes along."""
    rows = []
    for kind in catalogue.KINDS:
        for plugin in (catalogue.variants(explainers) if kind == "explainer" else catalogue.plugins(kind)).values():
            rows.append(
                {
                    "kind": kind,
                    "key": plugin.key,
                    "title": plugin.title,
                    "signed": getattr(plugin, "signed", None),
                    "control": getattr(plugin, "control", None),
                    "reference": plugin.reference,
                    "docstring": catalogue.docstring(plugin),
                }
            )
    _insert(db, "catalogue", rows)


def _columns(db: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [row[0] for row in db.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]).fetchall()]  # fmt: skip  # noqa: E501


def _insert(db: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        columns = _columns(db, table)
        _insert_arrow(db, table, pa.Table.from_pylist([{c: row.get(c) for c in columns} for row in rows]))


def _insert_frame(db: duckdb.DuckDBPyConnection, table: str, frame: pd.DataFrame) -> None:
    _insert_arrow(db, table, pa.Table.from_pandas(frame, preserve_index=False))


def _insert_arrow(db: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert by column name; `table` is one of this module's own names, never a value from outside."""
    if not rows.num_rows:
        return
    db.register("incoming", rows)
    db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
    db.unregister("incoming")


def check_published(folder: Path) -> str | None:
    """What is wrong with the published file of a folder; None where it is as it was published, or nothing is.

    A file that is not is set aside, so that the next `publish` builds it again. Not for a process that has it open: reading
    its bytes would drop the lock.
    """
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
        final = folder / Path(line["file"]).name
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
        pointer.unlink()
        return f"{pointer} is damaged"
    if not final.is_file():
        return f"{final} is gone"
    if "sha256" in line and sha256_of(final) != line["sha256"]:
        aside = final.with_suffix(".bad")
        os.replace(final, aside)
        return f"{final} is damaged, set aside as {aside.name}"
    return None


def _swap_in(temporary: Path, final: Path) -> None:
    wal = Path(f"{temporary}.wal")
    if wal.exists():
        raise HEvalError(f"{wal} is left after closing the database; nothing was published.")
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, final)


def _point(target: Path, final: Path) -> None:
    temporary = target / f"{POINTER}.{os.getpid()}.tmp"
    line = {
        "file": final.name, "format": PUBLISHED_FORMAT, "evaluator": evaluator.evaluator_id(),
        "size": final.stat().st_size, "sha256": sha256_of(final),
    }  # fmt: skip
    temporary.write_text(json.dumps(line) + "\n")
    os.replace(temporary, target / POINTER)


def _remove_unfinished(target: Path) -> None:
    """What publishers that were killed have left; their files carry the number of their process."""
    for left in [*target.glob("*.tmp"), *target.glob("*.tmp.wal")]:
        process = left.name.split(".tmp")[0].rpartition(".")[2]
        if process.isdigit() and not _is_alive(int(process)):
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove_old(target: Path, final: Path) -> None:
    others = sorted(
        (path for path in target.glob("results-*.duckdb") if path != final), key=lambda p: p.stat().st_mtime
    )
    for path in others[: max(0, len(others) - (KEPT_FILES - 1))]:
        path.unlink(missing_ok=True)
