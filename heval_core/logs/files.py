"""Files of logs ▶ their records, as they stand there: JSON lines, JSON, CSV, Parquet; packed by gzip too. And the answers of
data sets that people wrote or marked, named as `--datasets` names them: `wice=FILE`.

Every error is one line that names the file. A record that cannot be read comes as a `Malformed`; the others are read.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heval_core.datasets._quoted import Quoted
from heval_core.datasets._reading import BadRecord, Malformed, json_file, json_lines, table
from heval_core.plugins import catalogue
from heval_core.records import HEvalError

if TYPE_CHECKING:
    from heval_core.plugins.protocols import Dataset

TABLES = {".csv": ",", ".tsv": "\t"}
LINES, JSON, PARQUET = (".jsonl", ".ndjson"), ".json", ".parquet"
# Where a JSON object holds its list of records.
_WRAPPERS = ("results", "data", "rows", "samples", "test_results", "testCases", "test_cases", "examples", "traces", "spans")
# What has one of these is a record, or columns of records.
_OF_RECORDS = {"question", "query", "user_input", "answer", "response", "actual_output"}
# A cell of a table may hold all that was retrieved.
csv.field_size_limit(100_000_000)

LogRecord = tuple[str, Any]


def records(path: Path) -> list[LogRecord]:
    """Return (file and line or number, record) of a log, all of them.

    Raises HEvalError for a file that is missing, empty, of none of these forms, or changes while it is read; and for a data
    set without answers.
    """
    if (marked := _marked(path)) is not None:
        return list(_of_people(*marked))
    if not path.is_file():
        what = "is a folder; name the file in it" if path.is_dir() else "does not exist"
        raise HEvalError(f"The log {path} {what}.")
    if not path.stat().st_size:
        raise HEvalError(f"The log {path} is empty; it needs a question, passages and an answer in each record.")
    with _unchanged(path):
        read = list(_read(path))
    if not read:
        raise HEvalError(f"The log {path} holds no record; each needs a question, passages and an answer.")
    return read


def name_of(path: Path) -> str:
    """Return what a log is called: its file's name, behind the data set's where it is one."""
    return f"{marked[0].key}={Path(marked[1]).name}" if (marked := _marked(path)) else path.name


def whole_path(path: Path) -> str:
    """Return where a log is, whatever the folder that the program is called in; behind its name where it is a data set."""
    return f"{marked[0].key}={Path(marked[1]).resolve()}" if (marked := _marked(path)) else str(path.resolve())


def _marked(path: Path) -> tuple[Dataset, str] | None:
    """Return the data set and its file where a log is named so; None for a file."""
    key, equals, file = str(path).partition("=")
    dataset = catalogue.plugins("dataset").get(key) if equals and not path.is_file() else None
    return None if dataset is None else (dataset, file)


def _of_people(dataset: Dataset, file: str) -> Iterator[LogRecord]:
    """Yield the answers of a data set; what it cannot use, such as a claim that nothing supports, is no row."""
    if not getattr(dataset, "of_people", False):
        have = sorted(key for key, one in catalogue.plugins("dataset").items() if getattr(one, "of_people", False))
        raise HEvalError(f"{dataset.title} has no answers that can be traced; there are: {', '.join(have)}.")
    for fact in dataclasses.replace(dataset, path=file).facts():  # type: ignore[type-var, call-arg]
        if isinstance(fact, Quoted):
            texts = {"question": fact.question, "passages": list(fact.documents), "answer": fact.answer}
            yield fact.id, {"id": fact.id, **texts}
        elif isinstance(fact, BadRecord):
            yield fact.location, Malformed(fact.reason)


@contextmanager
def _unchanged(path: Path) -> Iterator[None]:
    """Raise HEvalError for a file that another program writes while it is read."""
    before = path.stat()
    yield
    after = path.stat()
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise HEvalError(f"The log {path} changed while it was read; try again when nothing writes it.")


def _read(path: Path) -> Iterator[LogRecord]:
    suffix = Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower()
    if suffix in TABLES:
        yield from _table(path, TABLES[suffix])
    elif suffix == PARQUET:
        yield from _parquet(path)
    elif suffix in (*LINES, JSON):
        yield from _json(path)
    else:
        known = ", ".join((*LINES, JSON, *TABLES, PARQUET))
        raise HEvalError(f"The log {path} has none of the endings {known}; name it by what it holds.")


def _table(path: Path, delimiter: str) -> Iterator[LogRecord]:
    if path.suffix == ".gz":
        raise HEvalError(f"The log {path} is a packed table; unpack it first: gunzip {path}")
    with path.open("rb") as file:
        first = file.readline().decode("utf-8", "replace")
    others = sorted({",", ";", "\t"} - {delimiter}, key=first.count, reverse=True)
    return table(path, (), others[0] if first.count(others[0]) > first.count(delimiter) else delimiter)


def _parquet(path: Path) -> Iterator[LogRecord]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path.name}, record {number}", row
    except (pa.ArrowException, OSError) as error:
        raise HEvalError(f"The log {path} is no Parquet file that can be read: {str(error).splitlines()[0]}.") from error


def _json(path: Path) -> Iterator[LogRecord]:
    """Read JSON lines, a JSON list, or an object that holds one."""
    if _begins_a_line(path):
        read = list(json_lines(path))
        if len(read) > 1 or _inside(read[0][1]) is None:
            yield from read
            return
        content = read[0][1]
    elif path.suffix == ".gz":
        raise HEvalError(f"The log {path} is packed, and no JSON lines; unpack it first: gunzip {path}")
    else:
        content = json_file(path)
    listed = content if isinstance(content, list) else _inside(content)
    if listed is None:
        raise HEvalError(f"The log {path} is one JSON object; it needs a list of records, as it is or under {_WRAPPERS[0]!r}.")
    yield from ((f"{path.name}, record {number}", record) for number, record in enumerate(listed, start=1))


def _begins_a_line(path: Path) -> bool:
    """Return whether the first line that is not blank is a JSON value of its own, as in JSON lines; or nothing is known."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            line = next((line for line in file if line.strip()), b"")
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (OSError, EOFError, UnicodeDecodeError):
        return True  # reading it says what is wrong
    except (ValueError, RecursionError):
        return _suffix_says_lines(path)


def _suffix_says_lines(path: Path) -> bool:
    """Return whether the name says that there are lines: a first one that is broken costs itself alone then."""
    with path.open("rb") as file:
        starts_list = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    return path.name.removesuffix(".gz").endswith(LINES) and not starts_list


def _inside(content: Any) -> list[Any] | None:
    """Return the list of records that an object holds, under a name or as columns; None for a record of its own."""
    if not isinstance(content, dict):
        return None
    if {*content} & _OF_RECORDS:
        columns = [*content.values()]
        lengths = {len(column) if isinstance(column, list) else -1 for column in columns}
        if len(columns) > 1 and len(lengths) == 1 and min(lengths) > 0:
            return [dict(zip(content, line, strict=True)) for line in zip(*columns, strict=True)]
        return [content]
    named = (content.get(name) for name in _WRAPPERS)
    return next((value for value in named if isinstance(value, list) and all(isinstance(one, dict) for one in value)), None)
