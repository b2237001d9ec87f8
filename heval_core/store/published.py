"""Published files on disk: named by their content, with a pointer to the current one, checked, and the last two kept.

A file never changes under its reader, and an open explorer stays on its snapshot.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from heval_core.records import HEvalError
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT, sha256_of

KEPT_FILES = 2


def current_file(folder: Path) -> Path | None:
    """The published file that a folder points to; None if nothing is published there."""
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        named, line = _pointed_to(pointer)
    except _DAMAGED as error:
        raise HEvalError(f"The pointer {pointer} is damaged; publish again: python -m precompute publish.") from error
    if not named.is_file():
        raise HEvalError(f"The results file {named} is gone; publish again: python -m precompute publish.")
    if named.stat().st_size < line.get("size", 0):
        raise HEvalError(
            f"The results file {named} is incomplete: {named.stat().st_size:,} of {line['size']:,} bytes. Publish again: "
            "python -m precompute publish."
        )
    return named


_DAMAGED = (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError)


def _pointed_to(pointer: Path) -> tuple[Path, dict[str, Any]]:
    """The file that a pointer names, and the rest of the pointer. Raises one of _DAMAGED."""
    line = json.loads(pointer.read_text(encoding="utf-8"))
    return pointer.parent / Path(line["file"]).name, line


def published_file(store: Path) -> Path:
    """As `current_file`. Raises HEvalError if nothing is published."""
    path = current_file(store)
    if path is None:
        raise HEvalError(f"Nothing is published in {store}; run: python -m precompute publish --store {store}")
    return path


def check_published(folder: Path) -> str | None:
    """What is wrong with a folder's published file; None if it is unchanged, or nothing is published.

    A damaged file is set aside, so that the next `publish` builds it again. Do not call this in a process that has the file
    open: reading its bytes would drop the lock.
    """
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        final, line = _pointed_to(pointer)
    except _DAMAGED:
        pointer.unlink()
        return f"{pointer} is damaged"
    if not final.is_file():
        return f"{final} is gone"
    if "sha256" in line and sha256_of(final) != line["sha256"]:
        aside = final.with_suffix(".bad")
        os.replace(final, aside)
        return f"{final} is damaged, set aside as {aside.name}"
    return None


def swap_in(temporary: Path, final: Path) -> None:
    """Rename a finished file to its final name. Raises HEvalError if the database was not closed properly."""
    wal = Path(f"{temporary}.wal")
    if wal.exists():
        raise HEvalError(f"{wal} still exists after the database was closed; nothing was published.")
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, final)


def point_to(target: Path, final: Path, evaluated_by: str) -> None:
    """Make a published file the current one."""
    temporary = target / f"{POINTER}.{os.getpid()}.tmp"
    line = {
        "file": final.name,
        "format": PUBLISHED_FORMAT,
        "evaluator": evaluated_by,
        "size": final.stat().st_size,
        "sha256": sha256_of(final),
    }
    temporary.write_text(json.dumps(line) + "\n")
    os.replace(temporary, target / POINTER)


def remove_unfinished(target: Path) -> None:
    """Remove the files of killed publishers, and the folder of rows that DuckDB put beside such a file.

    A file's name has the number of its process.
    """
    for left in [*target.glob("*.tmp"), *target.glob("*.tmp.wal")]:
        process = left.name.split(".tmp")[0].rpartition(".")[2]
        if process.isdigit() and not _is_alive(int(process)):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remove_old(target: Path, final: Path) -> None:
    """Remove all published files except the current one and the newest of the others."""
    others = sorted((path for path in target.glob("results-*.duckdb") if path != final), key=lambda p: p.stat().st_mtime)
    for path in others[: max(0, len(others) - (KEPT_FILES - 1))]:
        path.unlink(missing_ok=True)
