"""Finds a dataset's raw file (at a given path, in the data folder, or on the hub), and makes facts of its records.

The data folder is `cache/data/<dataset>/`, or `$HEVAL_DATA/<dataset>/`. Files from the hub come at a pinned revision and
stay in the hub library's own cache. Every error is one line that names the file. A record that breaks its format becomes a
`BadRecord`; a well-formed one that cannot be asked becomes an `Unusable`, with one of DROP_REASONS. Neither stops the others.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from heval_core import folders
from heval_core.datasets._forms import ANY, BOM, Form, check_bytes
from heval_core.prompting.prompts import mentions
from heval_core.records import Dropped, Fact, HEvalError, Passage


@dataclass(frozen=True)
class Origin:
    """Where a dataset's file comes from.

    name: the file or folder to look for in the data folder. address: where a person finds it.
    repository, revision: the hub's dataset repository that has it, and the commit it is pinned to.
    option: of the command, which takes NAME=PATH.
    """

    name: str
    address: str
    repository: str | None = None
    revision: str | None = None
    option: str = "--datasets"


def data_folder(dataset: str) -> Path:
    return Path(os.environ.get("HEVAL_DATA") or folders.data_folder("data")) / dataset


def locate(dataset: str, path: str | None, origin: Origin) -> Path:
    """Find the file (or folder) of a dataset. Raises HEvalError, which says where to put which file."""
    if path is not None:
        named = Path(path).expanduser()
        if not named.exists():
            raise HEvalError(f"The data file {named} does not exist; {dataset} reads {origin.name}, from {origin.address}.")
        return named
    placed = data_folder(dataset) / origin.name
    if placed.exists():
        return placed
    problem = "it cannot be fetched from the hub"
    if origin.repository is not None:
        if fetched := from_hub(origin.repository, origin.name, origin.revision):
            return fetched
        problem = f"{origin.repository} is neither cached nor can the hub be reached"
    raise HEvalError(
        f"The dataset {dataset} needs {origin.name}, and {problem}. Get it from {origin.address}, and put it at "
        f"{placed}, or give its path: {origin.option} {dataset}=PATH"
    )


def from_hub(repository: str, file: str, revision: str | None) -> Path | None:
    """Find a file of a dataset repository in the hub library's cache or on the hub; None if it is in neither.

    Without a revision, the hub's newest one is taken and its commit is printed; if the hub cannot be reached, the newest
    cached one is taken.
    """
    import huggingface_hub

    def fetch(commit: str | None, cached: bool) -> Path | None:
        try:
            return Path(
                huggingface_hub.hf_hub_download(
                    repository, file, repo_type="dataset", revision=commit, local_files_only=cached
                )
            )
        except Exception:  # the hub library raises nearly every class there is, for many reasons
            return None

    if revision and (pinned := fetch(revision, cached=True)):
        return pinned
    try:
        # Asked first, because a download out of reach is tried again for half a minute.
        commit = huggingface_hub.HfApi().dataset_info(repository, revision=revision, timeout=10).sha
    except Exception:  # as above
        return fetch(revision, cached=True)
    if commit != revision:
        print(f"{file}: {repository} at commit {commit}", file=sys.stderr)
    return fetch(commit, cached=False)


def _read_error(path: Path, error: Exception) -> HEvalError:
    return HEvalError(f"The data file {path} cannot be read: {getattr(error, 'strerror', None) or error}.")


# What a file, or a broken compressed one, may raise while it is read.
_UNREADABLE = (OSError, EOFError, zlib.error)


def json_lines(path: Path, form: Form = ANY) -> Iterator[tuple[str, Any]]:
    """Yield (file:line, object) of every line that is not blank, one at a time; an unreadable line comes as a Malformed.

    A JSON list of objects is read as well, all at once.

    A file named `.gz` is unpacked while it is read. Raises HEvalError, one sentence for the whole file, where its first record
    is of another form, or it cannot be read, is empty, or is no JSON lines.
    """
    opened: Any = gzip.open if path.suffix == ".gz" else open
    first = True
    try:
        with opened(path, "rb") as file:
            check_bytes(path, file.read(len(BOM) + 1))
            file.seek(0)
            for number, line in enumerate(file, start=1):
                line = line.removeprefix(BOM) if number == 1 else line
                if not line.strip():
                    continue
                record = _json_line(line)
                if first and not isinstance(record, dict):
                    after = file.tell()
                    objects = form.objects(path, (line + file.read()).decode("utf-8", "replace"))
                    if objects is not None:
                        yield from _numbered(path, objects, form)
                        return
                    file.seek(after)
                first = False
                if isinstance(record, dict):
                    form.check(path, record)
                    form = ANY
                yield f"{path.name}:{number}", record
    except _UNREADABLE as error:
        raise _read_error(path, error) from error
    if first:
        raise HEvalError(f"The data file {path} is empty; it needs one JSON object per line.")


def _json_line(line: bytes) -> Any:
    try:
        # The file is not read as text: that would also split lines at other line ends, inside texts.
        return json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Malformed(f"byte {error.start + 1} of the line is not UTF-8")
    except (ValueError, RecursionError) as error:
        where = f", column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        return Malformed(f"the line is not JSON{where}")


def json_file(path: Path) -> Any:
    """Read a JSON file. Raises HEvalError for a file that cannot be read, or is not JSON."""
    try:
        content = path.read_bytes()
        check_bytes(path, content)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise _read_error(path, error) from error
    except UnicodeDecodeError as error:
        raise HEvalError(f"The data file {path} is not UTF-8 (byte {error.start + 1}).") from error
    if not text.strip():
        raise HEvalError(f"The data file {path} is empty; it needs a JSON list of records.")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise HEvalError(f"The data file {path} is not JSON: {where}.") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets within brackets within …
        raise HEvalError(f"The data file {path} is not JSON that can be read: {error}.") from error


def json_array(path: Path, form: Form = ANY) -> Iterator[tuple[str, Any]]:
    """Yield (file, record number) and record of a JSON list.

    Raises HEvalError for a file that is not one, or of another form.
    """
    records = json_file(path)
    if not isinstance(records, list):
        raise HEvalError(f"The data file {path} should hold a JSON list of records.")
    yield from _numbered(path, records, form)


def _numbered(path: Path, records: Sequence[Any], form: Form) -> Iterator[tuple[str, Any]]:
    form.check(path, next((record for record in records if isinstance(record, dict)), None))
    return ((f"{path.name}, record {number}", record) for number, record in enumerate(records, start=1))


def table(path: Path, needed: Collection[str], delimiter: str = "\t") -> Iterator[tuple[str, Any]]:
    """Yield (file, record number) and record, each a text by column, of a table with quotes, one at a time.

    Raises HEvalError if the file cannot be read, is not UTF-8 or lacks a needed column.
    """
    try:
        with path.open("rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
            check_bytes(path, raw.peek(4))
            rows = csv.reader(file, delimiter=delimiter)
            columns = next(rows, [])
            Form(needed).check(path, dict.fromkeys(columns))
            for number, row in enumerate(_rows(rows, columns), start=1):
                yield f"{path.name}, record {number}", row
    except csv.Error as error:
        raise HEvalError(f"The data file {path} is not such a table: {error}.") from error
    except UnicodeDecodeError as error:
        raise HEvalError(f"The data file {path} is not UTF-8.") from error
    except OSError as error:
        raise _read_error(path, error) from error


def _rows(rows: Iterator[list[str]], columns: list[str]) -> Iterator[dict[str, str] | Malformed]:
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Malformed(f"the record cannot be read: {error}")
            continue
        if len(row) == len(columns):
            yield dict(zip(columns, row, strict=True))
        elif row:
            yield Malformed(f"the record has {len(row)} fields, and the file {len(columns)} columns")


@dataclass(frozen=True)
class BadRecord:
    """A record that breaks its format. location: file and line, file and record number, or an id. reason: in plain English."""

    location: str
    reason: str


@dataclass(frozen=True)
class Unusable:
    """A record of the right form that cannot be used.

    location: as above. reason: one of `DROP_REASONS`.
    """

    location: str
    reason: str


Record = Fact | BadRecord | Unusable


@dataclass(frozen=True)
class Listing:
    """All facts of a data set that makes them by rule, before any of them is made; a run of few questions makes few.

    fingerprint: of all facts, as reading them gives it; a test compares. ids, pairs: each fact's id, and its subject with its
    first false answer. relations: how many facts each has. make: the fact of a number. offering: the numbers of a few facts
    that offer other questions what all do (`regimes.Pool`).
    """

    fingerprint: str
    ids: list[str]
    pairs: list[tuple[str, str]]
    relations: Mapping[str, int]
    make: Callable[[int], Fact]
    offering: Sequence[int]


Converted = TypeVar("Converted")


class Malformed(ValueError):
    """A record breaks its format; the message says what was expected."""


def read_one(location: str, raw: Any, convert: Callable[[dict[str, Any]], Converted]) -> Converted | BadRecord | Unusable:
    """Convert a raw record. It may itself be a Malformed that reading it raised."""
    try:
        if isinstance(raw, Malformed):
            raise raw
        if not isinstance(raw, dict):
            raise Malformed(f"expected a JSON object, found {_kind(raw)}")
        json.dumps(raw, ensure_ascii=False).encode()
        return convert(raw)
    except UnicodeEncodeError as error:  # JSON can write it, and no file can hold it
        half = f"\\u{ord(error.object[error.start]):04x}"
        return BadRecord(location, f"a text of the record holds half a character, {half}; write it whole")
    except Malformed as error:
        return BadRecord(location, str(error))
    except RecursionError:
        return BadRecord(location, "the record has brackets within brackets, too many to be read")
    except Dropped as dropped:
        return Unusable(location, dropped.reason)


def read_each(
    records: Iterable[tuple[str, Any]], convert: Callable[[dict[str, Any]], Converted]
) -> Iterator[Converted | BadRecord | Unusable]:
    """Convert (place, raw record) pairs one by one."""
    return (read_one(location, raw, convert) for location, raw in records)


def with_document(fact: Fact, kind: str, answer: str, text: str, stated: bool = True) -> Fact:
    """Add one document to a fact. kind: `gold`, `conflicting` or `irrelevant`, which says nothing. answer: what it answers.

    Raises Dropped where the text should state its answer, and does not.
    """
    if kind == "irrelevant":
        return replace(fact, irrelevant=Passage("", "", text, stated=False))
    if stated and not mentions(answer, text):
        raise Dropped("answer not in document")
    passage = Passage(fact.subject, answer, text, stated)
    return replace(fact, own=passage) if kind == "gold" else replace(fact, conflicting=(passage,))


def text_of(record: dict[str, Any], *path: str) -> str:
    """Return the text at `path`, without white space around it. Raises Malformed if it is missing, empty or not a text."""
    value: Any = record
    for depth, name in enumerate(path, start=1):
        if not isinstance(value, dict):
            raise Malformed(f"{_dotted(path[: depth - 1])} should be an object, but is {_kind(value)}")
        if value.get(name) is None:
            raise Malformed(f"the record has no {_dotted(path[:depth])}")
        value = value[name]
    if not isinstance(value, str):
        raise Malformed(f"{_dotted(path)} should be a text, but is {_kind(value)}")
    if not value.strip():
        raise Malformed(f"{_dotted(path)} is empty")
    return value.strip()


def optional_text(record: dict[str, Any], name: str) -> str:
    """Return the text called `name`, without white space around it; "" where there is none."""
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"{name!r} should be a text")
    return (value or "").strip()


def spelt(record: dict[str, Any], *names: str) -> None:
    """Raise Malformed for a field whose name is one of these misspelt: what it holds would be left out without a word."""
    for name in record:
        near = difflib.get_close_matches(name.lower(), names, 1, 0.94)
        if name not in names and near and record.get(near[0]) is None:
            raise Malformed(f"the record has no {near[0]!r}, but {name!r}")


def id_of(record: dict[str, Any], name: str = "id") -> str:
    """Return the text or the whole number called `name`, as a text."""
    value = record.get(name)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(record, name)


def texts_of(record: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return the list of texts called `name`; a single text counts as a list of one."""
    value = record.get(name)
    if isinstance(value, str):
        value = [value]
    if not are_texts(value) or not value or not all(map(str.strip, value)):
        raise Malformed(f"{name!r} should be a list of texts, but is {_kind(value)}")
    return tuple(text.strip() for text in value)


def are_texts(value: Any) -> TypeGuard[list[str]]:
    """Return whether it is a list of texts; they may be empty."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _dotted(path: tuple[str, ...]) -> str:
    return repr(".".join(path))


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "nothing")
