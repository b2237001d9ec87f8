"""Writes a results file: takes its rows, and counts over them with SQL. See schema.sql."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pandas as pd
import pyarrow as pa

from heval_core.records import FOLLOWED, TECHNIQUE
from heval_core.store.earlier_file import AGAIN, EarlierFile
from heval_core.store.kinds import SCHEMA, TABLES
from heval_core.store.reader import Reader

_TEXT = "length(trim(array_to_string(tokens[document_starts[i] + 1:document_ends[i]], '')))"
_SPREAD = "avg({0}) AS {0}_mean, quantile_cont({0}, 0.05) AS {0}_low, quantile_cont({0}, 0.95) AS {0}_high"
_CONTEXTS = f"""
INSERT INTO context BY NAME
WITH sized AS (
    SELECT model, dataset, regime, technique, list_contains(document_origins, 'substituted') AS put_in,
        list_sum(document_ends) - list_sum(document_starts) AS tokens,
        list_sum([{_TEXT} for i in range(1, len(document_starts) + 1)]) AS characters
    FROM instance WHERE dropped_because IS NULL)
SELECT model, dataset, regime, technique, count(*) AS instances, {_SPREAD.format("characters")}, {_SPREAD.format("tokens")},
    count(*) FILTER (put_in) AS substituted
FROM sized GROUP BY ALL ORDER BY ALL
"""
# Of the instances for which a taught rule implies a group: how many there are, and the share that is of that group, of all, of
# the shortest and of the longest quarter of each regime; of those answered from one of two documents, the share of the second.
_FOLLOWED = """
WITH ruled AS (
    SELECT "group", ("group" = expected_group)::INT AS followed,
        ntile(4) OVER (PARTITION BY model, dataset, regime ORDER BY len(tokens), instance_id) AS quarter
    FROM instance WHERE dropped_because IS NULL AND expected_group IS NOT NULL AND technique = ? AND NOT contains(regime, '.'))
SELECT count(*), avg(followed), avg(followed) FILTER (quarter = 1), avg(followed) FILTER (quarter = 4),
    avg(("group" = 'C2')::INT) FILTER ("group" IN ('C1', 'C2'))
FROM ruled
"""
# Answers that techniques are compared by: to test questions, those included that no explainer was asked about.
_TESTED = "split = 'test' AND coalesce(dropped_because, 'not sampled') = 'not sampled'"
# Of techniques that were asked different questions, each would be compared on questions of its own.
_ALONE = f"""
WITH tested AS (
    SELECT instance_id, model, dataset, regime, technique, fact_id
    FROM behaviour JOIN instance USING (instance_id) WHERE {_TESTED}),
asked AS (SELECT model, dataset, regime, count(DISTINCT technique) AS techniques FROM tested GROUP BY ALL),
answered AS (SELECT model, dataset, regime, fact_id, count(DISTINCT technique) AS answers FROM tested GROUP BY ALL)
UPDATE behaviour SET split = 'alone'
FROM tested JOIN asked USING (model, dataset, regime) JOIN answered USING (model, dataset, regime, fact_id)
WHERE behaviour.instance_id = tested.instance_id AND answers < techniques
"""
_ANSWERS = f"""
SELECT model, dataset, regime, technique, fact_id, knew, bcu, ccu, correct, memory_kept, neither
FROM behaviour JOIN instance USING (instance_id) WHERE {_TESTED} ORDER BY model, dataset, regime, technique, fact_id
"""
_INPUTS = f"""
WITH judged AS (
    SELECT model, dataset, regime, fact_id, min_by(trace, technique) AS said
    FROM behaviour JOIN instance USING (instance_id) WHERE trace IS NOT NULL GROUP BY ALL)
SELECT model, dataset, regime, fact_id, relation, question, true_answer, document_answers[1] AS answer,
    array_to_string(tokens[document_starts[1] + 1:document_ends[1]], '') AS document,
    document_ends[1] - document_starts[1] AS length,
    (first_mention[1][1] - document_starts[1]) / (document_ends[1] - document_starts[1]) AS answer_position,
    first_value(CASE WHEN regime NOT IN {FOLLOWED} THEN alone_probability END IGNORE NULLS) OVER (
        PARTITION BY model, dataset, fact_id ORDER BY regime ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS memory_strength, said AS trace
FROM behaviour JOIN instance USING (instance_id) LEFT JOIN judged USING (model, dataset, regime, fact_id)
WHERE {_TESTED} AND technique = ? AND len(document_starts) = 1 ORDER BY model, dataset, regime, fact_id
"""


class Writer:
    """A new results file, as a context manager that closes it. `table` is never a value from outside."""

    def __init__(self, path: Path):
        path.unlink(missing_ok=True)
        # Beyond this, rows wait on the disk, beside the file. A query of 2,000 long prompts takes most of it in one thread.
        # A checkpoint writes the last rows of every table anew: with few of them a tenth of the time and of the file is saved.
        config = {"memory_limit": "1GiB", "threads": "1", "checkpoint_threshold": "256MiB"}
        self._db = duckdb.connect(str(path), config=config)
        self._path = path
        self._db.execute(SCHEMA + AGAIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._db.execute("CHECKPOINT")
        self._db.close()

    def reader(self) -> Reader:
        """Return a reader of what was inserted so far; the snapshot has to be."""
        return Reader(self._path, self._db)

    def columns(self, table: str) -> list[str]:
        return list(TABLES[table].names)

    def insert(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Insert rows by column name. Columns that a row lacks become NULL; fields that the table lacks are left out."""
        columns = self.columns(table)
        self.insert_arrow(table, pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows]))

    def insert_frame(self, table: str, frame: pd.DataFrame) -> None:
        self.insert_arrow(table, pa.Table.from_pandas(frame, preserve_index=False))

    def insert_arrow(self, table: str, rows: pa.Table) -> None:
        if rows.num_rows:
            self.insert_pieces(table, rows.schema, [rows])

    def insert_pieces(self, table: str, columns: pa.Schema, pieces: Iterable[pa.Table]) -> None:
        """Insert rows of which only one piece is in memory at a time.

        In one statement: after each of many, DuckDB would write the whole last group of rows anew.
        """
        batches = (batch for piece in pieces for batch in piece.to_batches())
        first = next(batches, None)
        if first is None:  # a statement that inserts nothing takes ten milliseconds
            return
        self._db.register("incoming", pa.RecordBatchReader.from_batches(columns, chain([first], batches)))
        self._db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
        self._db.unregister("incoming")

    def earlier(self, path: Path) -> EarlierFile:
        """Open the last published file beside this one."""
        return EarlierFile(self._db, path)

    def sizes(self, tables: Iterable[str]) -> dict[str, int]:
        """Return how many rows each table has."""
        counts = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables)
        return dict(self._db.execute(counts).fetchall())

    def take_over(self, path: Path, tables: Iterable[str]) -> None:
        """Insert the rows of some tables of another results file, in their order."""
        literal = str(path).replace("'", "''")
        self._db.execute(f"ATTACH '{literal}' AS other (READ_ONLY)")
        for table in tables:
            self._db.execute(f"INSERT INTO {table} SELECT * FROM other.{table} ORDER BY rowid")
        self._db.execute("DETACH other")
        path.unlink()

    def rule_shares(self) -> tuple[Any, ...]:
        """Return what `findings.claims.RuleShares` holds, of Regular's answers to prompts without options."""
        (shares,) = self._db.execute(_FOLLOWED, [TECHNIQUE]).fetchall()
        return shares

    def test_answers(self) -> pd.DataFrame:
        """Return the answers to test questions under every technique: model, dataset, regime, technique, fact_id, knew,
        metrics. Those that not every technique answered are marked, and are not among them: all are compared on the same
        questions.
        """
        self._db.execute(_ALONE)
        return self._db.execute(_ANSWERS).df()

    def inputs(self) -> pd.DataFrame:
        """Return what Regular was asked, by model, dataset, regime and fact_id of the test answers: question and document.

        answer_position: of the answer's first token in the document, from 0 to 1. memory_strength: where a document is to be
        ignored, the compared token is Regular's own without it; its probability is the question's everywhere. trace: of a
        technique that asks the model before it answers.
        """
        return self._db.execute(_INPUTS, [TECHNIQUE]).df()

    def insert_contexts(self) -> None:
        self._db.execute(_CONTEXTS)
