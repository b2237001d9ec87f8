"""The SQLite file of a study with people: how it is made and opened, and what is said where it cannot be.

A committed answer survives kill -9 and a power cut (write-ahead log, every commit forced to disk). Each operation has a
connection and a transaction of its own, so that several processes can work on one file: one waits for the other.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heval_core.records import HEvalError

FILE = "annotations.sqlite"
# Where a study of the bundled explanations lies: what comes with the program is never written.
OF_BUNDLED = Path("cache/people")
_SCHEMA = Path(__file__).with_name("annotations.sql")
_VERSION = 1
# Seconds that one process waits for another.
WAIT = 5.0


@contextmanager
def transaction(folder: Path, *, writing: bool, wait: float = WAIT) -> Iterator[sqlite3.Connection]:
    """One transaction on a store's study; all of it is kept if the block ends well, else none.

    Raises HEvalError, in a line, if there is no study, or if its file is locked, damaged, of another version or not writable.
    """
    file = folder / FILE
    if not file.exists():
        raise HEvalError(_none_in(folder))
    with _connected(file, "rw", wait) as db:
        # One who was killed while making it leaves an empty file.
        if _is_empty(db):
            raise HEvalError(_none_in(folder))
        _check(db, file)
        db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        yield db
        db.execute("COMMIT")


def make(folder: Path) -> None:
    """Make the file, unless it is there. Raises HEvalError if that is not possible."""
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HEvalError(f"The folder {folder} cannot be made: {error.strerror or error}.") from error
    with _connected(file, "rwc", WAIT) as db:
        if _is_empty(db):
            db.execute("PRAGMA journal_mode = WAL")
            # Another process may have made it meanwhile: nothing is made that is there.
            schema = _SCHEMA.read_text(encoding="utf-8")
            db.executescript(f"BEGIN IMMEDIATE;\n{schema}\nPRAGMA user_version = {_VERSION};\nCOMMIT;")
        _check(db, file)


def _none_in(folder: Path) -> str:
    return f"There is no study in the store {folder}. Make one: {command(folder)}"


def command(folder: Path, source: Path | None = None) -> str:
    """What makes a study in a store, of its own explanations or of those of another one; as it is typed."""
    taken = () if source is None else ("--from", str(source))
    return shlex.join(["python", "-m", "precompute", "citations", "study", "--store", str(folder), *taken])


def _is_empty(db: sqlite3.Connection) -> bool:
    return _version(db) == 0 and db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _check(db: sqlite3.Connection, file: Path) -> None:
    version = _version(db)
    if version != _VERSION:
        raise HEvalError(f"{file} has version {version} of the file of a study; this program reads {_VERSION}.")


@contextmanager
def _connected(file: Path, mode: str, wait: float) -> Iterator[sqlite3.Connection]:
    try:
        db = sqlite3.connect(f"{file.resolve().as_uri()}?mode={mode}", uri=True, timeout=wait, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            yield db
        finally:
            # What was not committed is rolled back.
            db.close()
    except sqlite3.Error as error:
        raise HEvalError(_said(error, file, wait)) from error


def _said(error: sqlite3.Error, file: Path, wait: float) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{file} is locked: another program has held it for {wait:g} seconds. Nothing was saved; try again."
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR")):
        return f"{file} cannot be written. Check the rights to the file and to its folder, and the disk. Nothing was saved."
    if name == "SQLITE_FULL":
        return f"{file} cannot be written: the disk is full. Nothing was saved."
    return f"{file} is damaged, or is not the file of a study with people ({error})."
