"""What the bundled results come to, in numbers: `python -m tests.store.content` writes them down, a test compares.

Of every table its rows, and of every numeric column (of `cell_metric` and `score` for each metric and part) how many values
there are, their mean and their mean absolute value. A change that is meant to leave numbers alone leaves these as they are.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import duckdb

FILE = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parent.parent.parent
# Timings, and what a store's journal says of runs, are no results.
LEFT_OUT = {"run", "snapshot", "catalogue", "failure"}
NO_RESULT = {"seconds"}
NUMERIC = ("DOUBLE", "FLOAT", "INTEGER", "BIGINT", "BOOLEAN")
GROUPED = {"cell_metric": ("metric", "part"), "score": ("metric", "part"), "headline": ("question",)}


def content(path: Path) -> dict[str, dict[str, list[float]]]:
    """Table, or table and group ▶ column ▶ [how many values, mean, mean absolute value]."""
    told: dict[str, dict[str, list[float]]] = {}
    with duckdb.connect(str(path), read_only=True) as db:
        tables = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()]
        for table in (name for name in tables if name not in LEFT_OUT):
            columns = db.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
                [table],
            ).fetchall()
            numbers = {name: f'"{name}"::DOUBLE' for name, kind in columns if kind in NUMERIC and name not in NO_RESULT}
            numbers |= {
                name: f'list_sum("{name}")::DOUBLE' for name, kind in columns if kind in ("FLOAT[]", "INTEGER[]")
            }
            sums = ", ".join(f"count({of}), avg({of}), avg(abs({of}))" for of in numbers.values())
            keys = GROUPED.get(table, ())
            group = f"concat_ws(' ', {', '.join(keys)})" if keys else "''"
            for name, rows, *values in db.execute(
                f'SELECT {group} AS name, count(*){", " + sums if sums else ""} FROM "{table}" GROUP BY name ORDER BY name'
            ).fetchall():
                each = {column: values[3 * i : 3 * i + 3] for i, column in enumerate(numbers)}
                told[f"{table} {name}".strip()] = {"": [rows], **each}
    return told


def main() -> None:
    from heval_core.evaluation.publishing import publish

    with tempfile.TemporaryDirectory() as folder:
        told = content(publish(ROOT / "cache" / "demo", Path(folder), bundled=True))
    lines = (f"{json.dumps(name)}: {json.dumps(rounded(columns))}" for name, columns in told.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def rounded(columns: dict[str, list[float]]) -> dict[str, list[float]]:
    return {
        name: [value if value is None or isinstance(value, int) else float(f"{value:.9g}") for value in values]
        for name, values in columns.items()
    }


if __name__ == "__main__":
    main()
