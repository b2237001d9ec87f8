"""Exports the published tables as Parquet and CSV, so that others can use them without this program.

Both hold the same rows. CSV has no lists, so they become text: items apart by a space, lists of lists by a semicolon; inside
an item a space is ␣ and the end of a line ⏎. Text that a spreadsheet would take for a formula gets an apostrophe in front
(OWASP's advice on CSV injection).
"""

import csv
import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from heval_core.records import HEvalError
from heval_core.store.published import published_file
from heval_core.store.reader import Reader

FORMATS = ("parquet", "csv")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# Rows per batch: attributions of a large store do not fit into memory as CSV text.
_BATCH = 5000


def export(store: Path, folder: Path, formats: Iterable[str] = FORMATS, say: Callable[[str], None] = lambda _: None) -> None:
    """Write every table of a store's published results into a folder, one file per table and format. say: called with a line
    about each file. Raises HEvalError if nothing is published, or the folder cannot be written."""
    results = Reader(published_file(store))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for table in results.tables():
            for kind in formats:
                target = folder / f"{table}.{kind}"
                temporary = target.with_suffix(f".{kind}.tmp")
                rows = _write(results, table, temporary, kind)
                temporary.replace(target)
                say(f"{target}: {rows:,} rows")
    except OSError as error:
        raise HEvalError(f"The folder {folder} cannot be written: {error.strerror}.") from error


def _write(results: Reader, table: str, path: Path, kind: str) -> int:
    whole, rows = kind == "parquet", 0
    with results.batches(table, _BATCH) as batches:
        plain = [(field.name, pa.string() if pa.types.is_list(field.type) else field.type) for field in batches.schema]
        schema = batches.schema if whole else pa.schema(plain)
        with pq.ParquetWriter(path, schema, compression="zstd") if whole else pa.csv.CSVWriter(path, schema) as out:
            for batch in batches:
                rows += batch.num_rows
                out.write_table(pa.Table.from_batches([batch]) if whole else _as_cells(batch, schema))
    return rows


def _as_cells(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    columns = [
        pa.array(map(_cell, column.to_pylist()), pa.string()) if pa.types.is_string(field.type) else column
        for field, column in zip(schema, batch.columns, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _cell(value: Any) -> Any:
    return as_text(value) if _is_list(value) else guarded(value)


_INSIDE = str.maketrans({" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"})


def as_text(values: Sequence[Any]) -> str:
    """Write a list in a cell; guarded where it begins with text.

    >>> as_text([0.5, 2]), as_text(["a", " b"]), as_text([[1, 2], [3]])
    ('0.5 2', 'a ␣b', '1 2; 3')
    """
    if any(_is_list(value) for value in values):
        return "; ".join(as_text(value) for value in values)
    joined = " ".join("" if value is None else str(value).translate(_INSIDE) for value in values)
    return str(guarded(joined)) if any(isinstance(value, str) for value in values) else joined


def long_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Make a table from a page with plain columns only: what is kept as JSON becomes text or columns of its own.

    Sizes of groups become `C1 12, C2 14`; each detail of a metric a column `detail_…`; empty columns of details are left out.
    """
    plain = frame.rename(columns={f"above{end}": f"above_chance{end}" for end in ("", "_low", "_high")})
    if "group_sizes" in plain:
        plain["group_sizes"] = [", ".join(f"{group} {size}" for group, size in _opened(text)) for text in plain["group_sizes"]]
    if "details" in plain:
        details = pd.DataFrame([dict(_opened(text)) for text in plain.pop("details")], index=plain.index)
        plain = plain.join(details.add_prefix("detail_"))
    return plain


def _opened(text: Any) -> Iterable[tuple[str, Any]]:
    """Return the pairs of an object in JSON; none of a missing one."""
    return json.loads(text).items() if isinstance(text, str) and text else ()


def guarded(value: Any) -> Any:
    """Put an apostrophe in front of a text that a spreadsheet would take for a formula; anything else stays as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def as_csv(frame: pd.DataFrame) -> str:
    """Write a table from a page as CSV: guarded, without an index."""
    cells = frame.map(_cell)
    # Text is always quoted: a lone carriage return would otherwise end its line.
    return str(cells.rename(columns=guarded).to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray"


# Letters of a filter in a file's name.
LONGEST = 60


def in_a_name(chosen: str) -> str:
    """Write a filter for a file's name; where that says less than the filter, with a number that others do not have.

    >>> in_a_name("model: demo-gpt2; answer_at: 0 to 0.5; explained: yes")
    'model=demo-gpt2_answer_at=0-to-0.5'
    """
    parts = [part for part in chosen.split("; ") if part and not part.startswith("explained: ")]
    text = re.sub(r"[^\w.+=-]+", "-", "_".join(part.replace(": ", "=", 1).replace(", ", "+") for part in parts))
    whole = len(text) <= LONGEST and not re.search(r"[^\w.+,:; -]|search: ", chosen)
    return text if whole else f"{text[:LONGEST]}-{zlib.crc32(chosen.encode()):08x}"
