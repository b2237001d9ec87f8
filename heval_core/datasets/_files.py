"""Finds a dataset's raw file (at a given path, in the data folder, or on the hub), and reads it record by record.

The data folder is `cache/data/<dataset>/`, or `$HEVAL_DATA/<dataset>/`. Files from the hub come at a pinned revision and
stay in the hub library's own cache. Every error is one line that names the file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heval_core.datasets._records import Malformed
from heval_core.records import HEvalError

_CACHE = Path(__file__).resolve().parent.parent.parent / "cache" / "data"


@dataclass(frozen=True)
class Origin:
    """Where a dataset's file comes from.

    name: the file or folder to look for in the data folder. address: where a person finds it.
    repository, file, revision: the hub's dataset repository, the file in it, and the commit it is pinned to.
    """

    name: str
    address: str
    repository: str | None = None
    file: str | None = None
    revision: str | None = None


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
        f"{placed}, or give its path: --datasets {dataset}=PATH"
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


def _read_error(path: Path, error: OSError) -> HEvalError:
    return HEvalError(f"The data file {path} cannot be read: {error.strerror}.")


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """(file:line, object) of every line that is not blank, one at a time; an unreadable line comes as a Malformed.

    Raises HEvalError if the file cannot be read, or is empty.
    """
    empty = True
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                empty = False
                yield f"{path.name}:{number}", _json_line(line)
    except OSError as error:
        raise _read_error(path, error) from error
    if empty:
        raise HEvalError(f"The data file {path} is empty; it needs one JSON object per line.")


def _json_line(line: bytes) -> Any:
    try:
        # The file is not read as text: that would also split lines at other line ends, inside texts.
        return json.loads(_decoded(line))
    except Malformed as error:
        return error
    except (json.JSONDecodeError, RecursionError) as error:
        place = f", column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        return Malformed(f"the line is not JSON{place}")


def json_array(path: Path) -> Iterator[tuple[str, Any]]:
    """(file, record number) and record of a JSON list. Raises HEvalError for a file that is not a JSON list."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise _read_error(path, error) from error
    except UnicodeDecodeError as error:
        raise HEvalError(f"The data file {path} is not UTF-8 (byte {error.start + 1}).") from error
    if not text.strip():
        raise HEvalError(f"The data file {path} is empty; it needs a JSON list of records.")
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise HEvalError(
            f"The data file {path} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error  # noqa: E501
    if not isinstance(records, list):
        raise HEvalError(f"The data file {path} should hold a JSON list of records.")
    for number, record in enumerate(records, start=1):
        yield f"{path.name}, record {number}", record
