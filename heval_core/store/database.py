"""One results file, open read-only and hardened: no network, no other file, bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from heval_core.records import HEvalError
from heval_core.statistics.bootstrap import Resamples
from heval_core.store.shards import PUBLISHED_FORMAT

_HARDENING = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "threads": "2",
}
# The database keeps what it has read until it reaches its limit, so the limit is what browsing takes. Two threads read the
# scores of some 2,000 prompts each at a time: of prompts of more than LONG tokens they need the larger limit.
LONG, LIMITS = 1000, ("256MB", "768MB")


class Database:
    """Safe to share between threads, because every query has its own cursor. Every value is a bound parameter.

    Raises HEvalError if the file is missing, truncated, not a results file, or of another version.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            self._db = duckdb.connect(str(path), read_only=True, config=dict(_HARDENING))
        except duckdb.Error as error:
            raise HEvalError(
                f"{path} cannot be read as a results file (it is missing, truncated, or not a database). "
                "Publish again: python -m precompute publish."
            ) from error
        try:
            snapshot = self.query("SELECT * FROM snapshot").iloc[0]
            version = int(snapshot["format"])
        except (duckdb.Error, IndexError) as error:
            raise HEvalError(f"{path} is a database, but holds no results of this program.") from error
        if version != PUBLISHED_FORMAT:
            raise HEvalError(f"{path} has format {version}; this program reads {PUBLISHED_FORMAT}. Publish it again.")
        self._limit()
        self.snapshot_id, self.evaluator = str(snapshot["snapshot_id"]), str(snapshot["evaluator"])
        self.published_at, self.bundled = snapshot["published_at"], bool(snapshot["bundled"])
        self._resamples: dict[str, Resamples] = {}

    def _limit(self) -> None:
        """Bound the memory by how long prompts are, and allow no other setting from now on.

        All who open a file in one process share one database: the first has done this.
        """
        if self.query("SELECT current_setting('lock_configuration') AS locked")["locked"].iloc[0]:
            return
        longest = self.query("SELECT coalesce(max(tokens_high), 0) AS tokens FROM context")["tokens"].iloc[0]
        self._db.execute("SET memory_limit = ?", [LIMITS[bool(longest > LONG)]])
        self._db.execute("SET lock_configuration = true")

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one query. Raises HEvalError if the file turns out to be damaged."""
        try:
            yield self._db.cursor()
        except duckdb.IOException as error:
            raise HEvalError(f"{self.path} is damaged; publish again: python -m precompute publish.") from error

    def query(self, sql: str, values: list[Any] | None = None) -> pd.DataFrame:
        with self._cursor() as cursor:
            return cursor.execute(sql, values or []).df()

    def arrow(self, sql: str, values: list[Any]) -> pa.Table:
        """Like `query`, for lists that would take several times their memory in a DataFrame."""
        with self._cursor() as cursor:
            return cursor.sql(sql, params=values).to_arrow_table()

    def tables(self) -> list[str]:
        """The names of all tables."""
        return list(self.query("SELECT table_name FROM duckdb_tables() ORDER BY table_name")["table_name"])

    @contextmanager
    def batches(self, table: str, rows: int) -> Iterator[pa.RecordBatchReader]:
        """A whole table in stored order, some rows at a time. Raises HEvalError for an unknown table."""
        if table not in self.tables():
            raise HEvalError(f"These results have no table {table!r}.")
        with self._db.cursor() as cursor:
            yield cursor.sql(f'SELECT * FROM "{table}"').to_arrow_reader(rows)

    def resamples(self, dataset: str) -> Resamples:
        """The resamples from which the published intervals of a dataset were computed."""
        if dataset not in self._resamples:
            questions = self.query("SELECT DISTINCT fact_id FROM instance WHERE dataset = ?", [dataset])
            self._resamples[dataset] = Resamples(dataset, questions["fact_id"])
        return self._resamples[dataset]


# SQL and the values of its parameters ▶ all rows.
Query = Callable[[str, list[Any]], pa.Table]


@dataclass(frozen=True, eq=False)
class StoredScores:
    """The scores that a table has of some instances. The scores themselves stay in the file until they are read.

    rows: instance_id, explainer, signed, and row, where the scores are stored; in stored order.
    """

    query: Query
    table: str
    rows: pd.DataFrame

    @classmethod
    def of(cls, query: Query, table: str, ids: list[str]) -> StoredScores:
        """Those of the instances with these ids. table: `attribution` or `context_attribution`."""
        found = query(
            f"SELECT instance_id, explainer, signed, rowid AS row FROM {table} "
            "WHERE instance_id IN (SELECT unnest(?)) ORDER BY rowid",
            [ids],
        )
        # Texts as Python's: pandas looks up Arrow's far more slowly.
        return cls(query, table, found.to_pandas().astype({"instance_id": object, "explainer": object}))

    def read(self, rows: np.ndarray) -> pa.ListArray:
        """The scores stored at some rows, in the order of these."""
        found = self.query(f"SELECT rowid AS row, scores FROM {self.table} WHERE rowid IN (SELECT unnest(?))", [rows.tolist()])
        there = found["row"].to_numpy()
        scores = found["scores"].combine_chunks()
        if not np.array_equal(there, rows):
            order = np.argsort(there)
            scores = scores.take(pa.array(order[np.searchsorted(there, rows, sorter=order)]))
        return scores
