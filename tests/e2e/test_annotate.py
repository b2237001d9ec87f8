"""People annotate in real browsers: two at once on two servers of one store, of which one is killed; keys; looks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from urllib.parse import urlsplit

import pytest

from heval_core.citations.people.annotations import AnnotationStore, answers
from heval_core.citations.people.items import QUESTION, Item, practice
from heval_core.citations.records import Passage
from tests.e2e.browser import IN_A_BROWSER, explorer, page_of, reload, somebody_else, visit
from tests.e2e.test_looks import CONTRASTS, CUT_OFF

pytestmark = IN_A_BROWSER

HOSTILE = '<img src=x onerror="window.__pwn=1"></script><script>window.__pwn=1</script>'
QUESTIONS, WANTED = 3, 2


def question(number: int) -> Item:
    passages = (Passage(1, f"The tower is of iron. {HOSTILE}", HOSTILE), Passage(2, "It is 300 metres high. " * 12))
    sentences = ("Iron is what it is made of.", f"It is high [2]. {HOSTILE}", "So the claim holds.")
    return Item(
        QUESTION, f"e{number}", f"Claim {number}: {HOSTILE}", "Supported", passages, 1, sentences, frozenset({0}), WANTED
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "store"
    made, _ = AnnotationStore.make(folder, [*practice(), *(question(number) for number in range(QUESTIONS))])
    return made


@pytest.fixture(scope="module")
def addresses(store):
    """Two servers on one store."""
    settings = {"HEVAL_STORE": str(store.folder), "HEVAL_ANNOTATE": "1"}
    with explorer(**settings) as one, explorer(**settings) as other:
        yield one, other


def practised(store, *names):
    for name in names:
        for item in practice():
            store.save(store.sign_in(name), item.item_id, (), 50, 1, f"{name}{item.item_id}")


def sign_in(page, address, name):
    visit(page, f"{address}/annotate")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.locator(".item").wait_for()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def saved(page):
    return page.locator(".saved b").inner_text()


def answer(page, number, *keys):
    """Answer with keys, and wait until the page says that so many are saved."""
    press(page, *keys, "ArrowRight", "Enter")
    page.locator(".saved b", has_text=f"{number} saved").or_(page.locator(".finished")).wait_for()


def test_two_annotate_at_once_one_server_is_killed_and_nothing_acknowledged_is_lost(addresses, store, browser):
    practised(store, "Ada", "Bob")
    first, second = addresses
    with page_of(browser) as ada, somebody_else(ada) as bob:
        sign_in(ada, first, "Ada")
        sign_in(bob, second, "Bob")
        for number in (1, 2):
            answer(ada, number, "1", "3")
            answer(bob, number, "0")
        held = ada.locator("h1").inner_text()
        server = subprocess.run(
            ["pgrep", "-f", f"streamlit run app.py --server.port {urlsplit(first).port}"], capture_output=True, text=True
        )
        os.kill(int(server.stdout.split()[0]), signal.SIGKILL)
        press(ada, "2", "ArrowLeft", "Enter")
        ada.locator(".bar .said", has_text="Not saved yet").wait_for()
        # What was chosen is still there.
        assert ada.locator(".sentence[aria-checked=true]").count() == 1
        assert [(one.predicted, one.helpfulness) for one in store.answers_of("Ada")] == [((0, 2), 55)] * 2
        answer(bob, 3, "0")
        assert [one.predicted for one in store.answers_of("Bob")] == [()] * 3
        # At the other server she goes on with the item that she had.
        visit(ada, f"{second}/annotate?person=Ada")
        assert saved(ada) == "2 saved"
        assert ada.locator("h1").inner_text() == held
        for page, done in ((ada, 2), (bob, 3)):
            for number in range(done + 1, QUESTIONS + 1):
                answer(page, number, "1")
            page.locator(".finished").wait_for()
            assert not page.evaluate("() => window.__pwn")
    found = answers(store.folder)
    assert Counter(one["explanation_id"] for one in found.rows) == {f"e{number}": WANTED for number in range(QUESTIONS)}


def test_keys_alone_go_through_practice_and_items_back_and_again(addresses, store, browser):
    AnnotationStore.make(store.folder, [question(100 + number) for number in range(6)])
    with page_of(browser) as page:
        sign_in(page, addresses[1], "Cleo <b>")
        for number, keys in enumerate((["3"], ["1"], ["0"]), start=1):
            assert page.locator(".saved").inner_text() == f"Practice {number} of 3"
            press(page, *keys)
            # Half an answer is not sent, and it is said what is missing.
            press(page, "Enter")
            assert "Rate the explanation" in page.locator(".said").inner_text()
            press(page, "ArrowLeft", "Enter")
            said = page.locator(".why")
            said.wait_for()
            assert said.inner_text().startswith("Not quite." if number == 2 else "Right.")
            press(page, "Enter")
            page.locator(".helpful").wait_for()
        first = page.locator("h1").inner_text()
        press(page, "2", "2", "ArrowDown", "Space", "Shift+ArrowRight")
        assert page.locator("output").inner_text() == "51"
        # A page loaded again has what was chosen.
        reload(page)
        assert page.locator(".sentence[aria-checked=true]").get_attribute("data-place") == "0"
        press(page, "Enter")
        page.locator(".saved b", has_text="1 saved").wait_for()
        assert page.locator("h1").inner_text() != first
        press(page, "Backspace")
        page.locator(".changing").wait_for()
        assert page.locator("h1").inner_text() == first
        press(page, "0", "Enter")
        page.locator(".item:not(.changing)").wait_for()
        assert saved(page) == "1 saved"
        assert page.locator(".who").inner_text() == "Cleo <b>"
        assert [(one.predicted, one.helpfulness) for one in store.answers_of("Cleo <b>")] == [((), 51)]


def test_all_of_an_item_is_in_sight_and_can_be_read_whatever_the_window(addresses, store, browser):
    AnnotationStore.make(store.folder, [question(200)])
    practised(store, "Dan")
    with page_of(browser) as page, somebody_else(page, dark=True) as dark:
        for one in (page, dark):
            visit(one, f"{addresses[1]}/annotate")
            assert not one.evaluate(CONTRASTS) + one.evaluate(CUT_OFF)
            one.keyboard.type("Dan")
            one.keyboard.press("Enter")
            one.locator(".item").wait_for()
            press(one, "1")
        assert not dark.evaluate(CONTRASTS)
        wrong = {}
        for width, height in ((1280, 800), (900, 800), (853, 533)):
            page.set_viewport_size({"width": width, "height": height})
            wrong[f"{width}"] = page.evaluate(CONTRASTS) + page.evaluate(CUT_OFF)
            assert page.locator(".bar .primary").bounding_box()["y"] < height - 30
        assert not any(wrong.values()), wrong
        page.set_viewport_size({"width": 1280, "height": 800})
        # Nothing moves from one item to the next: passage and bar stay where they were.
        before = [page.locator(name).bounding_box() for name in (".here", ".bar")]
        press(page, "ArrowRight")
        assert [page.locator(name).bounding_box() for name in (".here", ".bar")] == before
        assert page.locator(".sentence").last.bounding_box()["y"] < 700
