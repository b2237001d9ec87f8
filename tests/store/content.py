"""What the bundled results come to, in numbers: `python -m tests.store.content` writes them down, a test compares. Of every
table its rows, and of every numeric column (of `cell_metric` and `score` for each metric and part) how many values there are,
their mean and their mean absolute value. A change that is meant to leave numbers alone leaves these as they are."""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path

from heval_core.store.reader import Reader

FILE = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parent.parent.parent
# Timings, and what a store's journal says of runs, are no results.
LEFT_OUT = {"run", "snapshot", "catalogue", "failure", "timing"}
# Where no chat template is used, ranked_end is the number of tokens.
NO_RESULT = {"seconds", "ranked_end"}
NUMERIC = ("DOUBLE", "FLOAT", "INTEGER", "BIGINT", "BOOLEAN")
LISTS = ("FLOAT[]", "INTEGER[]")
GROUPED = {"cell_metric": ("metric", "part"), "score": ("metric", "part"), "headline": ("question",)}


def content(path: Path) -> dict[str, dict[str, list[float]]]:
    """Table, or table and group ▶ column ▶ [how many values, mean, mean absolute value]; NaN where there are none."""
    with closing(Reader(path)) as reader:
        tables = [table for table in reader.tables() if table not in LEFT_OUT]
        return {name: columns for table in tables for name, columns in _of_table(reader, table).items()}


def _of_table(reader: Reader, table: str) -> dict[str, dict[str, list[float]]]:
    columns = reader.query(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", [table]
    )
    numbers = {}
    for name, kind in columns.itertuples(index=False, name=None):
        if kind in NUMERIC and name not in NO_RESULT:
            numbers[name] = f'"{name}"::DOUBLE'
        elif kind in LISTS:
            numbers[name] = f'list_sum("{name}")::DOUBLE'
    sums = "".join(f", count({of}), avg({of}), avg(abs({of}))" for of in numbers.values())
    group = f"concat_ws(' ', {', '.join(GROUPED[table])})" if table in GROUPED else "''"
    rows = reader.query(f'SELECT {group} AS name, count(*){sums} FROM "{table}" GROUP BY name ORDER BY name')
    return {
        f"{table} {name}".strip(): {
            "": [count],
            **{column: values[3 * place : 3 * place + 3] for place, column in enumerate(numbers)},
        }
        for name, count, *values in rows.itertuples(index=False, name=None)
    }


def main() -> None:
    from heval_core.evaluation.publishing import publish

    with tempfile.TemporaryDirectory() as folder:
        results = content(publish(ROOT / "cache" / "demo", Path(folder), bundled=True))
    lines = (f"{json.dumps(name)}: {json.dumps(_rounded(columns))}" for name, columns in results.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _rounded(columns: dict[str, list[float]]) -> dict[str, list[float]]:
    return {name: [float(f"{value:.9g}") for value in values] for name, values in columns.items()}


if __name__ == "__main__":
    main()
