"""Published results: files named by their content, with a pointer to the current one, checked, and the last two kept; and one
of them, open read-only and hardened: no network, no other file, bounded memory.

A file never changes under its reader, and an open explorer stays on its snapshot.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa

from heval_core.folders import program
from heval_core.records import HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT, sha256_of

KEPT_FILES = 2
_HARDENING = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "threads": "2",
}
# The database keeps what it has read until it reaches its limit, so the limit is what browsing takes. Two threads read the
# scores of some 2,000 prompts each at a time: of prompts of more than LONG tokens they need the larger limit.
LONG, LIMIT, LIMIT_OF_LONG = 1000, "256MB", "768MB"


def current_file(folder: Path) -> Path | None:
    """Return the published file that a folder points to; None if nothing is published there."""
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        file, line = _pointed_to(pointer)
    except _DAMAGED as error:
        raise HEvalError(f"The pointer {pointer} is damaged; publish again: {program()} publish.") from error
    if not file.is_file():
        raise HEvalError(f"The results file {file} is gone; publish again: {program()} publish.")
    if file.stat().st_size < line.get("size", 0):
        raise HEvalError(
            f"The results file {file} is incomplete: {file.stat().st_size:,} of {line['size']:,} bytes. Publish again: "
            f"{program()} publish."
        )
    return file


_DAMAGED = (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError)


def _pointed_to(pointer: Path) -> tuple[Path, dict[str, Any]]:
    """Return the file that a pointer names, and the rest of the pointer. Raises one of _DAMAGED."""
    line = json.loads(pointer.read_text(encoding="utf-8"))
    return pointer.parent / Path(line["file"]).name, line


def published_file(store: Path) -> Path:
    """Return `current_file`. Raises HEvalError if nothing is published."""
    if path := current_file(store):
        return path
    raise HEvalError(f"Nothing is published in {store}; run: {program()} publish --store {store}")


def check_published(folder: Path) -> str | None:
    """Say what is wrong with a folder's published file; None if it is unchanged, or nothing is published.

    A damaged file is set aside, so that the next `publish` builds it again. Do not call this in a process that has the file
    open: reading its bytes would drop the lock.
    """
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        final, line = _pointed_to(pointer)
    except _DAMAGED:
        pointer.unlink()
        return f"{pointer} is damaged"
    if not final.is_file():
        return f"{final} is gone"
    if "sha256" in line and sha256_of(final) != line["sha256"]:
        aside = final.with_suffix(".bad")
        os.replace(final, aside)
        return f"{final} is damaged, set aside as {aside.name}"
    return None


def swap_in(temporary: Path, final: Path) -> None:
    """Rename a finished file to its final name. Raises HEvalError if the database was not closed properly."""
    wal = Path(f"{temporary}.wal")
    if wal.exists():
        raise HEvalError(f"{wal} still exists after the database was closed; nothing was published.")
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, final)


def point_to(target: Path, final: Path, evaluated_by: str) -> None:
    temporary = target / f"{POINTER}.{os.getpid()}.tmp"
    line = {
        "file": final.name,
        "format": PUBLISHED_FORMAT,
        "evaluator": evaluated_by,
        "size": final.stat().st_size,
        "sha256": sha256_of(final),
    }
    temporary.write_text(json.dumps(line) + "\n")
    os.replace(temporary, target / POINTER)


def remove_unfinished(target: Path) -> None:
    """Remove the files of killed publishers, and the folder of rows that DuckDB put beside such a file. A file's name has the
    number of its process."""
    for unfinished in [*target.glob("*.tmp"), *target.glob("*.tmp.wal")]:
        process = unfinished.name.split(".tmp")[0].rpartition(".")[2]
        if process.isdigit() and not psutil.pid_exists(int(process)):
            if unfinished.is_dir():
                shutil.rmtree(unfinished, ignore_errors=True)
            else:
                unfinished.unlink(missing_ok=True)


def remove_old(target: Path, final: Path) -> None:
    """Remove all published files except the current one and the newest of the others."""
    others = sorted((path for path in target.glob("results-*.duckdb") if path != final), key=lambda path: path.stat().st_mtime)
    for path in others[: max(0, len(others) - (KEPT_FILES - 1))]:
        path.unlink(missing_ok=True)


class Database:
    """Safe to share between threads, because every query has its own cursor. Every value is a bound parameter. Raises
    HEvalError if the file is missing, truncated, not a results file, or of another version."""

    def __init__(self, path: Path, writing: duckdb.DuckDBPyConnection | None = None):
        """Open a file. writing: the connection that still writes the file."""
        self.path = path
        try:
            self._db = writing or duckdb.connect(str(path), read_only=True, config=dict(_HARDENING))
        except duckdb.Error as error:
            raise HEvalError(
                f"{path} cannot be read as a results file (it is missing, truncated, or not a database). "
                f"Publish again: {program()} publish."
            ) from error
        try:
            snapshot = self.query("SELECT * FROM snapshot").iloc[0]
            version = int(snapshot["format"])
        except (duckdb.Error, IndexError) as error:
            raise HEvalError(f"{path} is a database, but holds no results of this program.") from error
        if version != PUBLISHED_FORMAT:
            raise HEvalError(f"{path} has format {version}; this program reads {PUBLISHED_FORMAT}. Publish it again.")
        if writing is None:
            self._limit()
        self.snapshot_id, self.evaluator = str(snapshot["snapshot_id"]), str(snapshot["evaluator"])
        self.published_at, self.bundled = snapshot["published_at"], bool(snapshot["bundled"])
        self._resamples: dict[str, Resamples] = {}

    def _limit(self) -> None:
        """Bound the memory by how long prompts are, and allow no other setting from now on. All who open a file in one process
        share one database: the first has done this."""
        if self.query("SELECT current_setting('lock_configuration') AS locked")["locked"].iloc[0]:
            return
        longest = self.query("SELECT coalesce(max(tokens_high), 0) AS tokens FROM context")["tokens"].iloc[0]
        self._db.execute("SET memory_limit = ?", [LIMIT_OF_LONG if longest > LONG else LIMIT])
        self._db.execute("SET lock_configuration = true")

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a cursor for one query. Raises HEvalError if the file turns out to be damaged."""
        try:
            yield self._db.cursor()
        except duckdb.IOException as error:
            raise HEvalError(f"{self.path} is damaged; publish again: {program()} publish.") from error

    def query(self, sql: str, values: list[Any] | None = None) -> pd.DataFrame:
        with self._cursor() as cursor:
            return cursor.execute(sql, values or []).df()

    def arrow(self, sql: str, values: list[Any]) -> pa.Table:
        """Query like `query`, for lists that would take several times their memory in a DataFrame."""
        with self._cursor() as cursor:
            return cursor.sql(sql, params=values).to_arrow_table()

    def tables(self) -> list[str]:
        return list(self.query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY 1")["table_name"])

    @contextmanager
    def batches(self, table: str, rows: int) -> Iterator[pa.RecordBatchReader]:
        """Yield a whole table in stored order, some rows at a time. Raises HEvalError for an unknown table."""
        if table not in self.tables():
            raise HEvalError(f"These results have no table {table!r}.")
        with self._db.cursor() as cursor:
            yield cursor.sql(f'SELECT * FROM "{table}"').to_arrow_reader(rows)

    def resamples(self, dataset: str) -> Resamples:
        """Return the resamples from which the published intervals of a dataset were computed."""
        if dataset not in self._resamples:
            facts = self.query(f"SELECT DISTINCT fact_id, {QUESTION} AS question FROM instance WHERE dataset = ?", [dataset])
            self._resamples[dataset] = Resamples(dataset, dict(zip(facts["fact_id"], facts["question"], strict=True)))
        return self._resamples[dataset]


# What facts are drawn together by: some data sets ask the same of every subject.
QUESTION = "subject || ' ' || question"
# Of an answer from memory, `source` has the mentions of the document's answer.
OF_DOCUMENTS = "\"group\" <> 'M'"


@dataclass(frozen=True, eq=False)
class StoredScores:
    """The scores that a table has of some instances. The scores themselves stay in the file until they are read. query: SQL
    and the values of its parameters ▶ all rows of the table. rows: instance_id, explainer, signed, and row, where the scores
    are stored; in stored order."""

    query: Callable[[str, list[Any]], pa.Table]
    table: str
    rows: pd.DataFrame

    def read(self, rows: np.ndarray) -> pa.ListArray:
        """Return the scores stored at some rows, in the order of these."""
        table = self.query(f"SELECT rowid AS row, scores FROM {self.table} WHERE rowid IN (SELECT unnest(?))", [rows.tolist()])
        stored_rows = table["row"].to_numpy()
        scores = table["scores"].combine_chunks()
        if not np.array_equal(stored_rows, rows):
            order = np.argsort(stored_rows)
            scores = scores.take(pa.array(order[np.searchsorted(stored_rows, rows, sorter=order)]))
        return scores
