"""The page Citations on a planted file: it can be read in every window, stepped through, and walked with the keys."""

from __future__ import annotations

import pytest

from tests.citations.published import HOSTILE, explanation_id, plant
from tests.e2e.browser import IN_A_BROWSER, arrive, somebody_else, visit
from tests.e2e.test_looks import hard_in_windows

pytestmark = IN_A_BROWSER

WINDOWS = ((900, 800), (1280, 800))


@pytest.fixture(scope="module")
def address(served, tmp_path_factory):
    folder = tmp_path_factory.mktemp("citations")
    plant(folder)
    return served(folder)


def of_claim(claim: str, writer: str = "careful", **more: str) -> str:
    view = {"tab": "claim", "explanation": explanation_id(claim, writer), **more}
    return "citations?" + "&".join(f"{name}={value}" for name, value in view.items())


def test_what_people_came_for_is_above_the_fold_and_can_be_read(address, page):
    assert hard_in_windows(page, address, ["citations"], WINDOWS) == {}
    figure = page.locator(".panels").first.bounding_box()
    assert figure["y"] + figure["height"] < 800
    assert hard_in_windows(page, address, [of_claim("finland")], WINDOWS) == {}
    last = page.locator(".line.foot").bounding_box()
    assert last["y"] + last["height"] < 800


def test_the_dark_page_can_be_read(address, page):
    with somebody_else(page, dark=True) as dark:
        assert hard_in_windows(dark, address, ["citations", of_claim("one")], WINDOWS) == {}


def test_a_passage_is_picked_with_keys_and_the_next_claim_is_stepped_to(address, page):
    visit(page, f"{address}/citations?tab=claim")
    assert page.locator(".gap").count() == 2
    page.locator('.pick[aria-pressed="true"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    arrive(page, "**passage=4**")
    assert page.locator('.pick[aria-pressed="true"]').text_content() == "[4]"
    assert page.locator(".pick:focus").text_content() == "[4]"
    assert page.locator(".line.should .gap").count() == page.locator(".gap").count() == 1
    page.keyboard.press("]")
    arrive(page, f"**{explanation_id('finland', 'sloppy')}**")
    assert "passage" not in page.url
    page.keyboard.press("[")
    arrive(page, f"**{explanation_id('finland', 'careful')}**")
    page.locator(".passage", has_text="Lakes of the north").click()
    arrive(page, "**passage=1**")
    # Marks are walked with the arrows, and say what they are.
    page.locator('.grid .mark[tabindex="0"]').focus()
    tip = page.locator(".claim .tip")
    assert "People" in tip.text_content()
    for key in (*["ArrowRight"] * 4, "ArrowDown"):
        page.keyboard.press(key)
    assert "Leave-one-out, sentence 2" in tip.text_content()
    assert "score" in tip.text_content()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator(".grid .mark").nth(12).hover()
    assert tip.is_visible()


def test_a_dot_leads_to_its_claims_and_the_list_opens_one(address, page):
    visit(page, f"{address}/citations?writer=sloppy")
    page.get_by_role("button", name="Entailment model, explanations by sloppy").first.click()
    page.get_by_role("button", name="The 13 claims of sloppy").click()
    arrive(page, "**tab=claim**")
    page.get_by_role("button", name="List").click()
    arrive(page, "**list=open**")
    page.locator(".row", has_text="Two hundred").click()
    arrive(page, f"**{explanation_id('many', 'sloppy')}**")
    masked = page.locator(".passage.masked").bounding_box()
    around = page.locator(".passages").bounding_box()
    assert around["y"] <= masked["y"] < around["y"] + around["height"]


def test_hostile_text_is_shown_as_text(address, page):
    page.on("dialog", lambda dialog: pytest.fail("a script of the data ran"))
    visit(page, f"{address}/{of_claim('hostile', list='open')}")
    assert page.locator(".claim h1").text_content() == HOSTILE
    assert page.locator(".claim :is(script, .said p :is(b, i), .passage .text b, .row b)").count() == 0
    assert page.locator(".verdict").text_content() == "✕ <i>False</i>"
