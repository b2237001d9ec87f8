"""SQL of what publishing takes over from the last published file, which is attached to the one that is written."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from heval_core.records import CELL, CellKey, HEvalError, RegimeKey

# In every results file; no page reads it, and no export has it. regime: in the order of its rows. made_from: see
# `evaluation/earlier.py`; metrics: JSON, metric ▶ the same. ends: JSON, table ▶ its rows up to the last of this regime.
AGAIN = """
CREATE SCHEMA again;
CREATE TABLE again.regime (model VARCHAR, dataset VARCHAR, regime VARCHAR, technique VARCHAR, made_from VARCHAR,
    metrics VARCHAR, ends VARCHAR);
CREATE TABLE again.drawn (model VARCHAR, dataset VARCHAR, regime VARCHAR, technique VARCHAR, explainer VARCHAR,
    metric VARCHAR, part VARCHAR, k INTEGER, drawn DOUBLE[]);
"""
_OF_REGIME = " AND ".join(f"{name} = ?" for name in CELL)
_VALUES = f"""
SELECT cell.*, drawn FROM earlier.cell_metric cell
LEFT JOIN (FROM earlier.again.drawn WHERE {_OF_REGIME}) USING ({", ".join(CellKey._fields)}, metric, part, k)
WHERE {_OF_REGIME} AND metric IN (SELECT unnest(?)) ORDER BY cell.rowid
"""


class Unreadable(HEvalError):
    """The earlier file is damaged."""


class EarlierFile:
    """The last published file, read through the connection of the one that is written. Methods raise Unreadable."""

    def __init__(self, writing: duckdb.DuckDBPyConnection, path: Path):
        self._db = writing
        literal = str(path).replace("'", "''")
        with self._readable():
            self._db.execute(f"ATTACH '{literal}' AS earlier (READ_ONLY)")

    def regimes(self) -> list[dict[str, Any]]:
        """Return rows of `again.regime`; none of a file by an older program."""
        there = "SELECT 1 FROM duckdb_tables() WHERE database_name = 'earlier' AND schema_name = 'again'"
        if not self._query(there).num_rows:
            return []
        return self._query("FROM earlier.again.regime ORDER BY rowid").to_pylist()

    def take(self, table: str, first: int, end: int) -> None:
        """Insert the rows of a table from one on and before another, counted from 0."""
        rows = f"SELECT * FROM earlier.{table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid"
        with self._readable():
            self._db.execute(f"INSERT INTO {table} {rows}", [first, end])

    def scores(self, first: int, end: int, metric: str) -> pa.Table:
        """Return rows of `score`, of one metric."""
        condition = "WHERE rowid >= ? AND rowid < ? AND metric = ? ORDER BY rowid"
        return self._query(f"SELECT * FROM earlier.score {condition}", [first, end, metric])

    def values(self, key: RegimeKey, metrics: Iterable[str]) -> list[dict[str, Any]]:
        """Return a regime's rows of `cell_metric`, of some metrics, with the replicates that were saved as `drawn`."""
        return self._query(_VALUES, [*key, *key, sorted(metrics)]).to_pylist()

    def _query(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        with self._readable():
            return self._db.sql(sql, params=list(values)).to_arrow_table()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise Unreadable(f"The last published file cannot be read: {error}") from error
