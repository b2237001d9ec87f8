"""Finds a dataset's raw file (at a given path, in the data folder, or on the hub), and reads it record by record.

The data folder is `cache/data/<dataset>/`, or `$HEVAL_DATA/<dataset>/`. Files from the hub come at a pinned revision and
stay in the hub library's own cache. Every error is one line that names the file.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from heval_core.datasets._records import Malformed
from heval_core.records import HEvalError

_CACHE = Path(__file__).resolve().parent.parent.parent / "cache" / "data"


@dataclass(frozen=True)
class Origin:
    """Where a dataset's file comes from.

    name: the file or folder to look for in the data folder. address: where a person finds it.
    repository, file, revision: the hub's dataset repository, the file in it, and the commit it is pinned to.
    option: of the command, which takes NAME=PATH.
    """

    name: str
    address: str
    repository: str | None = None
    file: str | None = None
    revision: str | None = None
    option: str = "--datasets"


def data_folder(dataset: str) -> Path:
    return Path(os.environ.get("HEVAL_DATA") or _CACHE) / dataset


def locate(dataset: str, path: str | None, origin: Origin) -> Path:
    """The file (or folder) of a dataset. Raises HEvalError, which says where to put which file."""
    if path is not None:
        given = Path(path).expanduser()
        if not given.exists():
            raise HEvalError(f"The data file {given} does not exist; {dataset} reads {origin.name}, from {origin.address}.")
        return given
    placed = data_folder(dataset) / origin.name
    if placed.exists():
        return placed
    problem = "it cannot be fetched from the hub"
    if origin.repository is not None and origin.file is not None:
        fetched = from_hub(origin.repository, origin.file, origin.revision)
        if fetched is not None:
            return fetched
        problem = f"{origin.repository} is neither cached nor can the hub be reached"
    raise HEvalError(
        f"The dataset {dataset} needs {origin.name}, and {problem}. Get it from {origin.address}, and put it at "
        f"{placed}, or give its path: {origin.option} {dataset}=PATH"
    )


def from_hub(repository: str, file: str, revision: str | None) -> Path | None:
    """A file of a dataset repository, from the hub library's cache or the hub; None if it is in neither.

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

    pinned = fetch(revision, cached=True) if revision else None
    if pinned is not None:
        return pinned
    try:
        # Asked first, because a download out of reach is tried again for half a minute.
        commit = huggingface_hub.HfApi().dataset_info(repository, revision=revision, timeout=10).sha
    except Exception:  # as above
        return fetch(revision, cached=True)
    if commit != revision:
        print(f"{file}: {repository} at commit {commit}", file=sys.stderr)
    return fetch(commit, cached=False)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"byte {error.start + 1} of the line is not UTF-8") from error


def _read_error(path: Path, error: Exception) -> HEvalError:
    return HEvalError(f"The data file {path} cannot be read: {getattr(error, 'strerror', None) or error}.")


# What a file, or a broken compressed one, may raise while it is read.
_UNREADABLE = (OSError, EOFError, zlib.error)


def _opened(path: Path) -> IO[bytes]:
    """A file's bytes; those of a file named `.gz` unpacked."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """(file:line, object) of every line that is not blank, one at a time; an unreadable line comes as a Malformed.

    A file named `.gz` is unpacked while it is read.

    Raises HEvalError if the file cannot be read, or is empty.
    """
    empty = True
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                empty = False
                yield f"{path.name}:{number}", _json_line(line)
    except _UNREADABLE as error:
        raise _read_error(path, error) from error
    if empty:
        raise HEvalError(f"The data file {path} is empty; it needs one JSON object per line.")


def _json_line(line: bytes) -> Any:
    try:
        # The file is not read as text: that would also split lines at other line ends, inside texts.
        return json.loads(_decoded(line))
    except Malformed as error:
        return error
    except (ValueError, RecursionError) as error:
        place = f", column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        return Malformed(f"the line is not JSON{place}")


def json_file(path: Path) -> Any:
    """What a JSON file holds. Raises HEvalError for a file that cannot be read, or is not JSON."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise _read_error(path, error) from error
    except UnicodeDecodeError as error:
        raise HEvalError(f"The data file {path} is not UTF-8 (byte {error.start + 1}).") from error
    if not text.strip():
        raise HEvalError(f"The data file {path} is empty; it needs a JSON list of records.")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise HEvalError(f"The data file {path} is not JSON: {place}.") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets within brackets within …
        raise HEvalError(f"The data file {path} is not JSON that can be read: {error}.") from error


def json_array(path: Path) -> Iterator[tuple[str, Any]]:
    """(file, record number) and record of a JSON list. Raises HEvalError for a file that is not a JSON list."""
    records = json_file(path)
    if not isinstance(records, list):
        raise HEvalError(f"The data file {path} should hold a JSON list of records.")
    for number, record in enumerate(records, start=1):
        yield f"{path.name}, record {number}", record


def tab_separated(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """(file, record number) and record, each a text by column, of a table with tabs and quotes, one at a time.

    Raises HEvalError if the file cannot be read, is not UTF-8 or lacks a needed column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter="\t")
            columns = next(rows, [])
            require(path, columns, needed)
            for number, row in enumerate(_rows(rows, columns), start=1):
                yield f"{path.name}, record {number}", row
    except csv.Error as error:
        raise HEvalError(f"The data file {path} is not a table with tabs: {error}.") from error
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


def require(path: Path, seen: Collection[str], needed: Collection[str]) -> None:
    """Raises HEvalError, which lists the fields that are there and those that are missing, if a needed one is missing."""
    missing = [name for name in needed if name not in seen]
    if missing:
        raise HEvalError(f"The data file {path} has the fields {', '.join(seen) or '(none)'}; it lacks {', '.join(missing)}.")
