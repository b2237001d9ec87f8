"""The published file's place on disk: named by its content, pointed to, checked, and the last two kept.

A reader never meets a file that changes under it, and an explorer that is open stays on its snapshot.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from heval_core.records import HEvalError
from heval_core.store.shards import POINTER, PUBLISHED_FORMAT, sha256_of

KEPT_FILES = 2


def current_file(folder: Path) -> Path | None:
    """The published file a folder points to; None where nothing is published there."""
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
        named = folder / Path(line["file"]).name
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise HEvalError(f"The pointer {pointer} is damaged; publish again: python -m precompute publish.") from error
    if not named.is_file():
        raise HEvalError(f"The results file {named} is gone; publish again: python -m precompute publish.")
    if named.stat().st_size < line.get("size", 0):
        raise HEvalError(
            f"The results file {named} is not whole: {named.stat().st_size:,} of {line['size']:,} bytes. Publish again: "
            "python -m precompute publish."
        )
    return named


def check_published(folder: Path) -> str | None:
    """What is wrong with the published file of a folder; None where it is as it was published, or nothing is.

    A file that is not is set aside, so that the next `publish` builds it again. Not for a process that has it open: reading
    its bytes would drop the lock.
    """
    pointer = folder / POINTER
    if not pointer.is_file():
        return None
    try:
        line = json.loads(pointer.read_text(encoding="utf-8"))
        final = folder / Path(line["file"]).name
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
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
    """Give a file that is built its name. Raises HEvalError where the database was not closed properly."""
    wal = Path(f"{temporary}.wal")
    if wal.exists():
        raise HEvalError(f"{wal} is left after closing the database; nothing was published.")
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
    """What publishers that were killed have left; their files carry the number of their process."""
    for left in [*target.glob("*.tmp"), *target.glob("*.tmp.wal")]:
        process = left.name.split(".tmp")[0].rpartition(".")[2]
        if process.isdigit() and not _is_alive(int(process)):
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
    """All published files but the current one and the newest of the others."""
    others = sorted(
        (path for path in target.glob("results-*.duckdb") if path != final), key=lambda p: p.stat().st_mtime
    )
    for path in others[: max(0, len(others) - (KEPT_FILES - 1))]:
        path.unlink(missing_ok=True)
