"""A study taken elsewhere and brought back, and the answers of people as rows for publishing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from heval_core.citations.people.exchange import FORMATS, Given, Person, Record, read, written
from heval_core.citations.people.items import CONTROLS, PRACTICE, QUESTION, Item
from heval_core.citations.people.quality import Quality
from heval_core.records import HEvalError
from heval_core.store.annotation_file import FILE, make, transaction
from heval_core.store.annotations import add_answer, add_items, add_person, given, item_of, quality_of


@dataclass(frozen=True)
class PersonAnswer:
    """One person's answer. annotator: `person:NAME`. predicted, gold: places of sentences, of the item's own ones.

    seconds: all that the person spent on it. when: of the answer that counts, UTC, in ISO form.
    """

    explanation_id: str
    passage: int
    annotator: str
    predicted: tuple[int, ...]
    helpfulness: float
    seconds: float
    when: str
    kind: str
    gold: tuple[int, ...]


@dataclass(frozen=True)
class Answers:
    """What people answered. questions: of those whose answers count. controls: of all. left_out: people under 70 % on control
    items, whose answers are not among the questions; dropped: how many answers these are."""

    questions: tuple[PersonAnswer, ...] = ()
    controls: tuple[PersonAnswer, ...] = ()
    left_out: dict[str, Quality] = field(default_factory=dict)
    dropped: int = 0


@dataclass(frozen=True)
class Imported:
    """How many were new, how many answers were there already, and what could not be used, a sentence each."""

    items: int
    people: int
    answers: int
    known: int
    problems: tuple[str, ...]


def answers(folder: Path) -> Answers:
    """What people answered in a store's study; nothing where there is none."""
    if not (folder / FILE).exists():
        return Answers()
    with transaction(folder, writing=False) as db:
        left_out = {name: one for name, one in quality_of(db).items() if not one.counts}
        rows = db.execute(
            "SELECT latest.*, kind, explanation_id, json_extract(body, '$.passage') AS passage, "
            "gold FROM latest JOIN item USING (item_id) WHERE kind <> ? "
            "ORDER BY place, first, annotator",
            [PRACTICE],
        )
        all_of_them = [
            PersonAnswer(
                explanation_id=row["explanation_id"],
                passage=row["passage"],
                annotator=f"person:{row['annotator']}",
                predicted=tuple(json.loads(row["predicted"])),
                helpfulness=row["helpfulness"],
                seconds=row["total"],
                when=row["at"],
                kind=row["kind"],
                gold=tuple(json.loads(row["gold"])),
            )
            for row in rows
        ]
    questions = [one for one in all_of_them if one.kind == QUESTION]
    kept = [one for one in questions if one.annotator.removeprefix("person:") not in left_out]
    controls = tuple(one for one in all_of_them if one.kind in CONTROLS)
    return Answers(tuple(kept), controls, left_out, len(questions) - len(kept))


def export(folder: Path, path: Path) -> int:
    """Write all of a study to a file, `.csv` or `.jsonl` by its ending. Returns the number of records."""
    form = _form(path)
    with transaction(folder, writing=False) as db:
        records: list[Record] = [
            item_of(db, row["item_id"]) for row in db.execute("SELECT item_id FROM item ORDER BY place").fetchall()
        ]
        records += [Person(*row) for row in db.execute("SELECT annotator, since FROM person ORDER BY since, annotator")]
        records += [given(row) for row in db.execute("SELECT * FROM answer ORDER BY at, answer_id")]
    path.write_text(written(records, form), encoding="utf-8", newline="")
    return len(records)


def bring_in(folder: Path, path: Path) -> Imported:
    """Add what a file holds to a store's study, which is made where there is none. What is there already stays as it is.

    A name that is there already is the same person. Raises HEvalError if the file cannot be read at all.
    """
    form = _form(path)
    try:
        # As it is written: a line end inside a text stays what it was.
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HEvalError(f"{path} cannot be read: {error}.") from error
    records, problems = read(text, form)
    make(folder)
    with transaction(folder, writing=True) as db:
        before = db.execute("SELECT count(*) FROM person").fetchone()[0]
        items = add_items(db, [one for one in records if isinstance(one, Item)])
        names = {one.annotator: add_person(db, one.annotator, one.since) for one in records if isinstance(one, Person)}
        new = known = 0
        for one in (one for one in records if isinstance(one, Given)):
            name = names.get(one.annotator) or add_person(db, one.annotator, one.at)
            try:
                added = add_answer(db, Given(**{**vars(one), "annotator": name}))
            except HEvalError as error:
                problems.append(f"answer {one.answer_id[:40]}: {error}")
                continue
            new, known = new + added, known + (not added)
        people = db.execute("SELECT count(*) FROM person").fetchone()[0] - before
    return Imported(items, people, new, known, tuple(problems))


def _form(path: Path) -> str:
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise HEvalError(f"{path.name} has the ending {path.suffix or 'of no format'}; it should be .csv or .jsonl.")
    return form
