"""The page Annotate: only where it was asked for, what it shows at each step, and errors in one line."""

from __future__ import annotations

import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from heval_core.citations.people.annotations import FILE, AnnotationStore
from heval_core.citations.people.items import QUESTION, Item, practice
from heval_core.citations.records import Passage
from heval_core.folders import BUNDLED
from heval_core.records import HEvalError
from heval_core.ui import annotate
from tests.conftest import ROOT
from tests.pages.opening import links_of, open_page

HOSTILE = "</script><img src=x onerror=window.__pwn=1>"


def question(number: int) -> Item:
    passages = (Passage(1, f"{HOSTILE} one", HOSTILE), Passage(2, "two"), Passage(3, "three"))
    sentences = (f"{HOSTILE}.", "It rests on two [2, and 3].", "So it is [sic].")
    return Item(QUESTION, f"e{number}", f"Claim {number} {HOSTILE}", HOSTILE, passages, 1, sentences, frozenset({0}), 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    AnnotationStore.make(tmp_path, [*practice(), question(0), question(1)])
    monkeypatch.setenv("HEVAL_STORE", str(tmp_path))
    monkeypatch.setenv("HEVAL_ANNOTATE", "1")
    return tmp_path


class Page:
    """The page with a component that sends what a test says, and keeps what it is given to draw."""

    def __init__(self, monkeypatch, **query):
        self.drawn, self.messages = [], []
        monkeypatch.setattr(annotate, "component", self.draw)
        self.app = open_page("annotate", **query)

    def draw(self, name, key, data, did):
        self.drawn.append(data)
        if self.messages:
            did(self.messages.pop())

    def send(self, op, **message):
        """What is drawn after a message."""
        self.messages.append({"op": op, "token": f"t{len(self.drawn)}", **message})
        self.app.run()
        self.app.run()
        assert not self.app.exception
        return self.drawn[-1]

    def answer(self, chosen=(0,), helpfulness=60, **more):
        answer = {"item": self.drawn[-1]["id"], "chosen": list(chosen), "helpfulness": helpfulness, "seconds": 2.5}
        return self.send("save", **answer | more)


@pytest.fixture
def page(folder, monkeypatch):
    return Page(monkeypatch)


def practised(page):
    page.send("sign_in", name="Ada")
    for _ in practice():
        page.answer()
        page.send("onward")
    return page


def test_without_annotation_mode_its_address_says_so_and_nothing_is_written(folder, monkeypatch):
    monkeypatch.delenv("HEVAL_ANNOTATE")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    app = open_page("annotate", person="Ada")
    assert "HEVAL_ANNOTATE=1" in app.info[0].value
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
def test_the_command_that_the_page_prints_makes_a_study_of_the_bundled_results(tmp_path, monkeypatch):
    """As printed, and what it prints in turn; what comes with the program stays as it was."""

    def typed(command):
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip().splitlines()[-1]

    def files():
        return {path: path.stat().st_mtime_ns for folder in BUNDLED["demo"] for path in folder.glob("*")}

    before = files()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "demo").symlink_to(BUNDLED["demo"][1])
    monkeypatch.setenv("HEVAL_STORE", str(BUNDLED["demo"][0]))
    with pytest.raises(HEvalError) as raised:
        annotate.study()
    start = typed(str(raised.value).partition("Make one: ")[2]).partition("people answer at: ")[2]
    *settings, program = shlex.split(start)[:3]
    assert program == "streamlit"
    for setting in settings:
        monkeypatch.setenv(*setting.split("="))
    monkeypatch.chdir(tmp_path)
    page = Page(monkeypatch)
    assert page.drawn[-1]["view"] == "sign_in"
    assert practised(page).drawn[-1]["left"] > 100
    assert files() == before


@pytest.mark.slow
@pytest.mark.parametrize("on", [True, False])
def test_the_navigation_has_it_in_annotation_mode_only(folder, few_cells, monkeypatch, on):
    monkeypatch.setenv("HEVAL_STORE", str(few_cells))
    monkeypatch.setenv("HEVAL_ANNOTATE", "1" if on else "0")
    links = links_of(open_page("overview"))
    assert ("Annotate" in links) == on
    assert "Citations" in links


def test_whoever_comes_signs_in_first_and_an_unknown_name_in_the_link_is_only_filled_in(folder, monkeypatch):
    page = Page(monkeypatch, person="Eve")
    assert (page.drawn[-1]["view"], page.drawn[-1]["name"]) == ("sign_in", "Eve")
    assert AnnotationStore.open(folder).person("Eve") is None
    assert "1 to 60 characters" in page.send("sign_in", name=" ")["error"]
    assert page.send("sign_in", name="Ada")["person"] == "Ada"
    assert page.app.query_params["person"] == "Ada"


def test_practice_comes_first_each_with_its_answer_explained_and_counts_for_nothing(page):
    shown = page.send("sign_in", name="Ada")
    for number, item in enumerate(practice(), start=1):
        assert shown["practice"] == {"number": number, "of": 3}
        assert shown["feedback"] is None
        shown = page.answer((1,))
        assert (shown["feedback"], shown["gold"], shown["why"]) == ([1], sorted(item.gold), item.feedback)
        shown = page.send("onward")
    assert (shown["practice"], shown["answered"], shown["left"]) == (None, 0, 2)


def test_what_is_right_is_told_of_practice_items_only_and_text_goes_as_it_is(page):
    shown = practised(page).drawn[-1]
    assert shown["gold"] is None
    assert shown["why"] == ""
    assert HOSTILE in shown["claim"]
    assert shown["verdict"] == HOSTILE
    # Markers apart, so that the browser reads none.
    assert shown["sentences"] == [
        [("", f"{HOSTILE}.")],
        [("", "It rests on two "), ("cite", "[2, and 3]"), ("", ".")],
        [("", "So it is [sic].")],
    ]
    assert shown["passages"][0] == {"number": 1, "title": HOSTILE, "text": f"{HOSTILE} one"}


def test_an_answer_brings_the_next_item_back_the_one_before_and_a_change_is_kept(folder, page):
    first = practised(page).drawn[-1]["id"]
    second = page.answer((0, 2), 70)
    assert (second["answered"], second["left"], second["can_go_back"]) == (1, 1, True)
    assert second["id"] != first
    again = page.send("back", item=second["id"])
    assert (again["id"], again["earlier"], again["can_go_back"]) == (first, {"chosen": [0, 2], "helpfulness": 70.0}, False)
    assert page.answer((), 10)["id"] == second["id"]
    done = page.answer()
    assert (done["view"], done["answered"]) == ("done", 2)
    # From the end it goes back step by step, and returns without a change.
    assert page.send("back", item="")["id"] == second["id"]
    assert page.send("back", item=second["id"])["earlier"] == {"chosen": [], "helpfulness": 10.0}
    assert page.send("onward")["view"] == "done"
    assert [one.predicted for one in AnnotationStore.open(folder).answers_of("Ada")] == [(), (0,)]


def test_what_cannot_be_saved_is_said_in_a_line_and_the_item_stays(folder, page):
    first = practised(page).drawn[-1]["id"]
    for wanted, message in (
        ("from 0 to 100", {"helpfulness": 101}),
        ("cannot be read", {"helpfulness": None}),
        ("cannot be read", {"seconds": "<b>"}),
    ):
        shown = page.answer(**message)
        assert wanted in shown["error"]
        assert (shown["id"], shown["answered"]) == (first, 0)
    assert page.answer()["error"] == ""


def test_a_locked_file_is_said_and_the_answer_can_be_sent_again(folder, page, monkeypatch):
    practised(page)
    monkeypatch.setattr(annotate, "study", lambda: AnnotationStore(folder, wait=0.05))
    holder = sqlite3.connect(folder / FILE, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    first = page.drawn[-1]["id"]
    shown = page.answer()
    assert "is locked" in shown["error"]
    assert (shown["id"], shown["answered"]) == (first, 0)
    holder.execute("ROLLBACK")
    holder.close()
    assert page.answer()["answered"] == 1


@pytest.mark.parametrize("bad", [None, b"no database " * 100, b""])
def test_a_store_without_a_study_says_so_in_a_line(folder, monkeypatch, bad):
    (folder / FILE).unlink()
    if bad is not None:
        (folder / FILE).write_bytes(bad)
    with pytest.raises(HEvalError) as raised:
        annotate.study()
    assert ("is damaged, or is not the file" if bad else "There is no study in the store") in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_other_file_of_the_store_is_written(folder, page):
    practised(page).answer()
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in folder.iterdir()} == {FILE}
