"""A study with people, kept in `annotations.sqlite` in the store's folder: who is asked what, and every answer ever given.

Only the page *Annotate*, and the command that makes a study, write to it. Copied, the file is the study elsewhere. A committed
answer survives kill -9 and a power cut (write-ahead log, every commit forced to disk). Each operation has a connection and a
transaction of its own, so that several processes can work on one file: one waits for the other.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from heval_core.citations.people.items import CONTROLS, PRACTICE, QUESTION, Item, ItemState, Quality, Turn, name_of, next_item
from heval_core.folders import data_folder, program, short
from heval_core.records import HEvalError

FILE = "annotations.sqlite"
# Where a study of the bundled explanations lies: what comes with the program is never written.
OF_BUNDLED = data_folder("people")
_SCHEMA = Path(__file__).with_name("annotations.sql")
_VERSION = 1
# Seconds that one process waits for another.
WAIT = 5.0
# How long an item is kept for somebody who has it before them.
LEASE = timedelta(minutes=15)


class Given(NamedTuple):
    """An answer of a person. predicted: places of the sentences chosen. helpfulness: 0 to 100."""

    item_id: str
    predicted: tuple[int, ...]
    helpfulness: float
    seconds: float


@dataclass(frozen=True)
class StudyProgress:
    """The progress of a study.

    answers: those to questions that count so far, of `wanted` ones. left_out: people whose answers do not.
    """

    questions: int
    controls: int
    people: int
    answers: int
    wanted: int
    left_out: dict[str, Quality]


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class AnnotationStore:
    """The study of a store. Safe to share between threads. Every method raises HEvalError where the file does not allow it.
    now: the time, UTC. wait: seconds to wait for other processes."""

    folder: Path
    now: Callable[[], datetime] = _now
    wait: float = WAIT

    @classmethod
    def open(cls, folder: Path) -> AnnotationStore:
        """Open the study of a store. Raises HEvalError if there is none."""
        store = cls(folder)
        with transaction(folder, writing=False) as db:
            if db.execute("SELECT 1 FROM item").fetchone() is None:
                raise HEvalError(f"The study in the store {folder} has no items yet; make it again.")
        return store

    @classmethod
    def make(cls, folder: Path, items: Iterable[Item]) -> tuple[AnnotationStore, int]:
        """Make the study with these items, or add those that it does not have.

        Returns how many were added, too. No answer is ever removed.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HEvalError(f"The folder {folder} cannot be made: {error.strerror or error}.") from error
        rows = [
            (item.item_id, item.kind, item.explanation_id, item.wanted, json.dumps(sorted(item.gold)), item.as_json())
            for item in items
        ]
        with transaction(folder, writing=True, making=True) as db:
            before = _count(db)
            # One that is there keeps its answers; more people are asked if more are wanted now.
            db.executemany(
                "INSERT INTO item (item_id, kind, explanation_id, wanted, gold, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT "
                "(item_id) DO UPDATE SET wanted = excluded.wanted, body = excluded.body WHERE excluded.wanted > wanted",
                rows,
            )
            return cls(folder), _count(db) - before

    def sign_in(self, name: str) -> str:
        """Return the person of this name, without regard to case; a new one if there is none.

        Raises HEvalError for no name.
        """
        cleaned = name_of(name)
        with self._transaction(writing=True) as db:
            db.execute("INSERT OR IGNORE INTO person VALUES (?, ?, ?)", [cleaned, cleaned.casefold(), self._time()])
        return self.person(cleaned) or cleaned

    def person(self, name: str) -> str | None:
        """Return a name as it was first written; None if nobody of this name was here."""
        with self._transaction() as db:
            row = db.execute("SELECT annotator FROM person WHERE folded = ?", [name.casefold()]).fetchone()
        return None if row is None else str(row["annotator"])

    def turn(self, person: str) -> Turn:
        """Return what this person gets next.

        It is reserved for them for some minutes, so that nobody else takes it. It stays the same until they answer, or until
        the time is over.
        """
        with self._transaction(writing=True) as db:
            now = self._time()
            db.execute("DELETE FROM lease WHERE until < ?", [now])
            answered = {row["item_id"] for row in db.execute("SELECT item_id FROM answer WHERE annotator = ?", [person])}
            turn = next_item(person, _standings(db, person), answered)
            lease = db.execute("SELECT item_id FROM lease WHERE annotator = ?", [person]).fetchone()
            if lease is not None and lease["item_id"] not in answered and turn.item_id is not None:
                turn = turn._replace(item_id=lease["item_id"])
            if turn.item_id is not None:
                until = (self.now() + LEASE).isoformat(timespec="microseconds")
                db.execute("INSERT OR REPLACE INTO lease VALUES (?, ?, ?)", [person, turn.item_id, until])
            return turn

    def save(
        self, person: str, item_id: str, chosen: Iterable[int], helpfulness: float, seconds: float, answer_id: str
    ) -> None:
        """Keep an answer. When this returns it is on the disk; the same answer_id again changes nothing. Raises HEvalError for
        an unknown item or person, a sentence that the item does not have, and numbers out of range."""
        indices = sorted(set(chosen))
        if not (0 <= helpfulness <= 100 and 0 <= seconds < float("inf")):
            raise HEvalError(f"The helpfulness is {helpfulness:g}; it should be from 0 to 100, and the seconds not negative.")
        with self._transaction(writing=True) as db:
            last = len(item_of(db, item_id).sentences) - 1
            if wrong := set(indices) - set(range(last + 1)):
                raise HEvalError(f"The answer names sentence {min(wrong)}; the item {item_id} has the sentences 0 to {last}.")
            if db.execute("SELECT 1 FROM person WHERE annotator = ?", [person]).fetchone() is None:
                raise HEvalError(f"Nobody is called {person!r} in this study; sign in first.")
            statement = "SELECT max(at) FROM answer WHERE annotator = ? AND item_id = ?"
            (changed_at,) = db.execute(statement, [person, item_id]).fetchone()
            at = self._time()
            if changed_at:  # after what it changes, whatever the clock says
                later = datetime.fromisoformat(changed_at) + timedelta(microseconds=1)
                at = max(at, later.isoformat(timespec="microseconds"))
            answer = [answer_id, item_id, person, json.dumps(indices), float(helpfulness), float(seconds), at]
            db.execute("INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)", answer)
            db.execute("DELETE FROM lease WHERE annotator = ? AND item_id = ?", [person, item_id])

    def item(self, item_id: str) -> Item:
        """Return an item. Raises HEvalError for an unknown one."""
        with self._transaction() as db:
            return item_of(db, item_id)

    def practice(self) -> list[str]:
        with self._transaction() as db:
            rows = db.execute("SELECT item_id FROM item WHERE kind = ? ORDER BY place", [PRACTICE])
            return [row["item_id"] for row in rows]

    def answers_of(self, person: str) -> list[Given]:
        """Return the last answer of a person to each item but those of the practice round, in the order in which they came."""
        with self._transaction() as db:
            rows = db.execute(
                "SELECT item_id, predicted, helpfulness, seconds FROM latest JOIN item USING (item_id) "
                "WHERE annotator = ? AND kind <> ? ORDER BY first, answer_id",
                [person, PRACTICE],
            )
            return [Given(item_id, tuple(json.loads(predicted)), *numbers) for item_id, predicted, *numbers in rows]

    def progress(self) -> StudyProgress:
        with self._transaction() as db:
            standings = _standings(db, "", leased=False)
            people = db.execute("SELECT count(*) FROM person").fetchone()[0]
            left_out = {name: quality for name, quality in quality_of(db).items() if not quality.counts}
        questions = [state for state in standings if state.kind == QUESTION]
        return StudyProgress(
            questions=len(questions),
            controls=sum(state.kind in CONTROLS for state in standings),
            people=people,
            answers=sum(min(state.taken, state.wanted or 0) for state in questions),
            wanted=sum(state.wanted or 0 for state in questions),
            left_out=left_out,
        )

    def _transaction(self, *, writing: bool = False) -> AbstractContextManager[sqlite3.Connection]:
        return transaction(self.folder, writing=writing, wait=self.wait)

    def _time(self) -> str:
        return self.now().isoformat(timespec="microseconds")


def _standings(db: sqlite3.Connection, person: str, *, leased: bool = True) -> list[ItemState]:
    """Return how far others than this person have brought every item; people who are left out count for nothing."""
    left_out = {name for name, quality in quality_of(db).items() if not quality.counts} | {person}
    holders = set(map(tuple, db.execute("SELECT DISTINCT item_id, annotator FROM answer")))
    if leased:
        holders |= set(map(tuple, db.execute("SELECT item_id, annotator FROM lease")))
    taken = Counter(item_id for item_id, name in holders if name not in left_out)
    rows = db.execute("SELECT item_id, kind, explanation_id, wanted FROM item ORDER BY place")
    return [
        ItemState(row["item_id"], row["kind"], row["explanation_id"], row["wanted"], taken[row["item_id"]]) for row in rows
    ]


def quality_of(db: sqlite3.Connection) -> dict[str, Quality]:
    """Return person ▶ quality, for all who answered a control item; of several answers to one the last."""
    # Not from `latest`, which would put the answers to all items in order for the sake of these few. Beside max(at) stands
    # what its row has.
    controls = "SELECT item_id FROM item WHERE kind IN (?, ?)"
    last = (
        f"SELECT annotator, item_id, predicted, max(at) FROM answer WHERE item_id IN ({controls}) GROUP BY annotator, item_id"
    )
    right = f"SELECT annotator, sum(predicted = gold), count(*) FROM ({last}) JOIN item USING (item_id) GROUP BY annotator"
    return {name: Quality(*counts) for name, *counts in db.execute(right, CONTROLS)}


def _count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM item").fetchone()[0])


def item_of(db: sqlite3.Connection, item_id: str) -> Item:
    """Return an item. Raises HEvalError for an unknown one."""
    row = db.execute("SELECT body FROM item WHERE item_id = ?", [item_id]).fetchone()
    if row is None:
        raise HEvalError(f"The study has no item {item_id[:40]!r}; it may be an answer to another study.")
    return Item.of_json(row["body"])


class Answers(NamedTuple):
    """What people answered. rows: of `recovery` without what follows from gold, of people whose answers count; seconds: all
    that the person spent on it. people: rows of `person`, of everybody who answered."""

    rows: list[dict[str, Any]]
    people: list[dict[str, Any]]


def answers(folder: Path) -> Answers:
    """Return what people answered in a store's study; nothing where there is none."""
    if not (folder / FILE).exists():
        return Answers([], [])
    with transaction(folder, writing=False) as db:
        qualities_of = quality_of(db)
        answered = db.execute(
            "SELECT explanation_id, json_extract(body, '$.passage') AS passage, annotator, predicted, helpfulness, "
            "total AS seconds FROM latest JOIN item USING (item_id) WHERE kind = ? ORDER BY place, first, annotator",
            [QUESTION],
        ).fetchall()
    qualities_of |= {row["annotator"]: qualities_of.get(row["annotator"], Quality(0, 0)) for row in answered}
    rows = [
        {**row, "annotator": f"person:{row['annotator']}", "predicted": json.loads(row["predicted"])}
        | {"scores": None, "problem": None}
        for row in map(dict, answered)
        if qualities_of[row["annotator"]].counts
    ]
    given = Counter(row["annotator"] for row in rows)
    people = [
        {"annotator": name, "answers": given[name], "controls": one.controls, "correct": one.right, "counts": one.counts}
        for name, one in sorted((f"person:{name}", quality) for name, quality in qualities_of.items())
    ]
    return Answers(rows, people)


@contextmanager
def transaction(folder: Path, *, writing: bool, wait: float = WAIT, making: bool = False) -> Iterator[sqlite3.Connection]:
    """Open one transaction on a store's study; all of it is saved if the block ends well, else none.

    making: make the file where there is none. Raises HEvalError if there is no study, or its file is locked, damaged, not
    writable or newer.
    """
    file = folder / FILE
    if not (making or file.exists()):
        raise HEvalError(_none_in(folder))
    try:
        db = sqlite3.connect(
            f"{file.resolve().as_uri()}?mode=rw{'c' if making else ''}", uri=True, timeout=wait, isolation_level=None
        )
        with closing(db):  # what was not committed is rolled back
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            _open(db, file, making)
            db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            yield db
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise HEvalError(_message(error, file, wait)) from error


def _open(db: sqlite3.Connection, file: Path, making: bool) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == 0 and db.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        # One who was killed while making it leaves an empty file.
        if not making:
            raise HEvalError(_none_in(file.parent))
        db.execute("PRAGMA journal_mode = WAL")
        # Another process may have made it meanwhile: nothing is made that is there.
        schema = _SCHEMA.read_text(encoding="utf-8")
        db.executescript(f"BEGIN IMMEDIATE;\n{schema}\nPRAGMA user_version = {_VERSION};\nCOMMIT;")
    elif version != _VERSION:
        raise HEvalError(f"{file} has version {version} of the file of a study; this program reads {_VERSION}.")


def _none_in(folder: Path) -> str:
    return f"There is no study in the store {folder}. Make one: {command(folder)}"


def command(folder: Path, source: Path | None = None) -> str:
    """Return the command that makes a study in a store, of its own explanations or of those of another one; as it is typed."""
    options = () if source is None else ("--from", str(short(source)))
    return shlex.join([*program().split(), "citations", "study", "--store", str(short(folder)), *options])


def _message(error: sqlite3.Error, file: Path, wait: float) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{file} is locked: another program has held it for {wait:g} seconds. Nothing was saved; try again."
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR", "SQLITE_FULL")):
        return f"{file} cannot be written. Check the rights to the file and to its folder, and the disk. Nothing was saved."
    return f"{file} is damaged, or is not the file of a study with people ({error})."
