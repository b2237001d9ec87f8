"""The file of a study: what is acknowledged is kept, who gets what, how it travels, and what is said where it fails."""

from __future__ import annotations

import dataclasses
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from heval_core.citations.people.annotations import FILE, LEASE, AnnotationStore, answers, transaction
from heval_core.citations.people.items import NEGATIVE, QUESTION, Item, practice
from heval_core.citations.records import Passage
from heval_core.records import HEvalError

HOSTILE = ["<b>x</b>", "=1+1", "'quoted", 'a\rb\nc\t,"', "\u202e", "\x00", "🦉", "", "-2", "\u2028", "null", "[1]"]


def item(number: int, kind: str = QUESTION, gold=(0,), wanted: int | None = 2, text: str = "") -> Item:
    passages = Passage(1, f"A passage. {text}", text), Passage(2, "Another one.")
    shown = f"Claim {number} {text}", text or "Supported", passages, 1, (f"First {text}", "Second [2].", "Third.")
    return Item(kind, f"e{number}", *shown, frozenset(gold), wanted if kind == QUESTION else None)


class Clock:
    def __init__(self):
        self.time = datetime(2026, 5, 1, 12)

    def __call__(self):
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
def store(tmp_path):
    made, added = AnnotationStore.make(tmp_path, [item(number) for number in range(4)])
    assert added == 4
    return dataclasses.replace(made, now=Clock(), wait=0.1)


def answer(store, person, item_id, chosen=(0,), helpfulness=50.0, name=""):
    store.save(person, item_id, chosen, helpfulness, 3.0, name or f"{person}-{item_id}-{store.now()}")


def test_an_answer_is_kept_and_the_same_one_sent_twice_is_one(store):
    ada = store.sign_in("Ada")
    first = store.turn(ada).item_id
    for _ in range(2):
        answer(store, ada, first, (2, 0, 2), 70, "token")
    (kept,) = AnnotationStore.open(store.folder).answers_of(ada)
    assert (kept.item_id, kept.predicted, kept.helpfulness, kept.seconds) == (first, (0, 2), 70, 3)
    assert store.turn(ada).item_id != first


def test_a_changed_answer_counts_and_the_earlier_one_is_kept_whatever_the_clock_says(store):
    ada = store.sign_in("Ada")
    first = store.turn(ada).item_id
    answer(store, ada, first, (0,))
    second = store.turn(ada).item_id
    answer(store, ada, second, (1,))
    store.now.time -= timedelta(days=1)
    answer(store, ada, first, ())
    assert [one.item_id for one in store.answers_of(ada)] == [first, second]
    assert store.answers_of(ada)[0].predicted == ()
    with sqlite3.connect(store.folder / FILE) as db:
        assert db.execute("SELECT count(*) FROM answer").fetchone() == (3,)
    asked_of = store.item(first).explanation_id
    (row,) = [one for one in answers(store.folder).rows if one["explanation_id"] == asked_of]
    assert (row["annotator"], row["predicted"], row["seconds"]) == ("person:Ada", [], 6.0)


def test_an_item_stays_with_who_has_it_and_returns_when_the_time_is_over(tmp_path):
    store, _ = AnnotationStore.make(tmp_path, [item(0, wanted=1)])
    store = dataclasses.replace(store, now=Clock())
    ada, bob = store.sign_in("Ada"), store.sign_in("Bob")
    only = store.turn(ada).item_id
    assert store.turn(ada) == (only, 1)
    assert store.turn(bob) == (None, 0)
    store.now.time += LEASE
    assert store.turn(bob).item_id == only
    # Who comes back late is not sent away with a finished answer.
    answer(store, ada, only)
    assert len(store.answers_of(ada)) == 1


def test_an_item_stays_though_others_answer_it_meanwhile(store):
    ada, bob = store.sign_in("Ada"), store.sign_in("Bob")
    held = store.turn(ada).item_id
    answer(store, bob, held)
    assert store.turn(ada).item_id == held


def test_who_begins_to_write_keeps_others_from_it_until_all_is_written(store):
    """Else an answer that is read, judged and then written could meet another one halfway, and be refused."""
    ada = store.sign_in("Ada")
    with (
        transaction(store.folder, writing=True),
        pytest.raises(HEvalError, match=r"is locked: .* for 0.1 seconds\. Nothing was saved"),
    ):
        answer(store, ada, item(0).item_id)
    with transaction(store.folder, writing=False):
        answer(store, ada, item(0).item_id)


def test_names_are_the_same_whatever_their_case_and_spaces(store):
    assert store.sign_in("  Ada   Lovelace ") == "Ada Lovelace"
    assert store.sign_in("ada lovelace") == "Ada Lovelace"
    assert store.person("ADA LOVELACE") == "Ada Lovelace"
    assert store.person("Bob") is None
    for wrong in ("", "  ", "x" * 61, "a\u202eb", "\x00"):
        with pytest.raises(HEvalError, match="1 to 60 characters"):
            store.sign_in(wrong)


def controls_of(store, person, right, wrong):
    controls = [item(100 + number, NEGATIVE, ()) for number in range(right + wrong)]
    AnnotationStore.make(store.folder, controls)
    for number, one in enumerate(controls):
        answer(store, person, one.item_id, () if number < right else (0,))


def test_people_under_70_percent_on_control_items_are_left_out_and_their_items_are_asked_of_others(store):
    ada, bob = store.sign_in("Ada"), store.sign_in("Bob")
    controls_of(store, ada, 7, 3)
    controls_of(store, bob, 6, 4)
    first = item(0).item_id
    for person in (ada, bob):
        answer(store, person, first)
    found = answers(store.folder)
    assert [one["annotator"] for one in found.rows] == ["person:Ada"]
    assert [tuple(one.values()) for one in found.people] == [("person:Ada", 1, 10, 7, True), ("person:Bob", 0, 10, 6, False)]
    progress = store.progress()
    assert (progress.answers, progress.wanted, progress.left_out, progress.people) == (1, 8, {"Bob": (6, 10)}, 2)
    # The last answer to a control item is the one that tells.
    answer(store, bob, item(109, NEGATIVE, ()).item_id, ())
    assert {one["annotator"] for one in answers(store.folder).rows} == {"person:Ada", "person:Bob"}
    assert all(one["counts"] for one in answers(store.folder).people)


def test_an_item_comes_back_as_it_was_whatever_its_text(tmp_path):
    items = [*practice(), *(item(number, text=text) for number, text in enumerate(HOSTILE))]
    store, added = AnnotationStore.make(tmp_path, items)
    assert added == len(items)
    assert [store.item(one.item_id) for one in items] == items


def test_errors_are_one_line_each(store, tmp_path):
    ada = store.sign_in("Ada")
    for wanted, given in (
        ("no item 'nothing'", (ada, "nothing", (), 5, 1, "a")),
        ("has the sentences 0 to 2", (ada, item(0).item_id, (3,), 5, 1, "b")),
        ("from 0 to 100", (ada, item(0).item_id, (), 101, 1, "c")),
        ("from 0 to 100", (ada, item(0).item_id, (), float("nan"), 1, "d")),
        ("Nobody is called 'Eve'", ("Eve", item(0).item_id, (), 5, 1, "e")),
    ):
        with pytest.raises(HEvalError, match=wanted):
            store.save(*given)
    assert store.answers_of(ada) == []
    for name in ("empty", "bad", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "dir" / FILE).mkdir(parents=True)
    (tmp_path / "bad" / FILE).write_bytes(b"no database " * 100)
    with sqlite3.connect(tmp_path / "new" / FILE) as db:
        db.execute("PRAGMA user_version = 9")
    told = {"empty": "no study in the store", "dir": "cannot be written", "bad": "damaged", "new": "version 9"}
    for name, wanted in told.items():
        with pytest.raises(HEvalError, match=wanted):
            AnnotationStore.open(tmp_path / name)


def test_many_at_once_wait_for_each_other(tmp_path):
    made, _ = AnnotationStore.make(tmp_path, [item(number, wanted=2) for number in range(6)])
    store = dataclasses.replace(made, wait=300)

    def work(name):
        person = store.sign_in(name)
        while (turn := store.turn(person)).item_id:
            store.save(person, turn.item_id, (0,), 5, 1, f"{name}{turn.item_id}")

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(work, (f"p{number}" for number in range(4))))
    found = answers(tmp_path).rows
    assert sorted(one["explanation_id"] for one in found) == sorted(f"e{number}" for number in range(6) for _ in range(2))


def test_more_people_can_be_wanted_later_and_never_fewer(store):
    more = [dataclasses.replace(item(number), wanted=5) for number in range(4)]
    assert AnnotationStore.make(store.folder, more)[1] == 0
    assert {one.wanted for one in items_of(store)} == {5}
    assert AnnotationStore.make(store.folder, [item(0)])[1] == 0
    assert {one.wanted for one in items_of(store)} == {5}


def items_of(store):
    return [store.item(item(number).item_id) for number in range(4)]
