"""The Overview in a browser: its links open what they promise without loading the explorer anew, by mouse and by keyboard."""

from __future__ import annotations

import re

import pytest

from heval_core.evaluation.means import leaderboard
from heval_core.store.filters import Filter
from tests.e2e.browser import IN_A_BROWSER, settle, visit

pytestmark = IN_A_BROWSER


def listed(page) -> int:
    """How many instances the list has that the Instances page goes through."""
    page.wait_for_url("**/instances?**")
    settle(page)
    text = page.get_by_text(re.compile(r"^1 of [\d,]+$")).first.inner_text()
    return int(text.rpartition(" ")[2].replace(",", ""))


def loaded(page) -> float:
    """When this document was loaded: the same after a link inside the explorer."""
    return page.evaluate("performance.timeOrigin")


def test_a_dot_lists_its_instances_worst_first_and_back_returns(address, page, reader):
    visit(page, f"{address}/?model=demo-gpt2")
    own = leaderboard(reader, Filter(("demo-gpt2",))).set_index(["question", "explainer"])
    before = loaded(page)
    page.locator(".mark[aria-label^='AttnLRP · Which token?'] .hit").click()
    assert listed(page) == own.loc[("RQ3", "attnlrp"), "n"]
    assert "model=demo-gpt2" in page.url
    assert "sort=1%2Frank+of+attnlrp" in page.url
    assert loaded(page) == before
    page.go_back()
    page.locator("a.mark").first.wait_for()
    assert page.url.endswith("/?model=demo-gpt2")


def test_a_door_opens_the_list_that_it_counts_by_keyboard(address, page):
    visit(page, address)
    door = page.locator(".o-door").first
    promised = int(re.search(r"[\d,]+", door.inner_text())[0].replace(",", ""))
    before = loaded(page)
    door.focus()
    page.keyboard.press("Enter")
    assert listed(page) == promised
    assert loaded(page) == before


def test_a_card_opens_its_prompt_with_its_explainer_painted(address, page):
    visit(page, address)
    answer = page.locator(".o-answer").inner_text()
    page.locator(".o-card", has_text="Attention").click()
    page.wait_for_url("**painted=attn**")
    settle(page)
    page.locator("[data-testid=stMain]").get_by_text(answer).first.wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_of_it_is_above_the_fold(address, page, dark):
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, address)
    for part in (".o-card", ".panel", ".o-door"):
        box = page.locator(part).last.bounding_box()
        assert box["y"] + box["height"] <= 800, part
