"""The page Techniques on a planted store: its figure can be read, clicked and walked with the keys."""

from __future__ import annotations

import pytest

from tests.e2e.browser import IN_A_BROWSER, arrive, somebody_else, visit
from tests.e2e.test_looks import SIZES, hard_in_windows
from tests.techniques.planted import MEMORY, Answer, blind, perfect, plant, published

pytestmark = IN_A_BROWSER

PATHS = ("techniques", "techniques?right=0&pay=training", "techniques?measure=ccu", "instances?technique=acd")
# Boxes of what the figure says, in pixels of the window; each with its text.
LABELS = """(SELECTOR) => {
  const roots = [...document.querySelectorAll("[data-testid^=stBidiComponent]")].map((one) => one.shadowRoot ?? one);
  const texts = roots.flatMap((root) => [...root.querySelectorAll(SELECTOR)]);
  return texts.map((one) => {
    const box = one.getBoundingClientRect();
    return [one.textContent, box.left, box.top, box.right, box.bottom];
  });
}"""


def halfway(case):
    return Answer(case.follows if case.number % 2 or case.regime == "gold" else MEMORY)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    asked = {"regular": halfway, "acd": blind(0.3), "cad": halfway, "adacad": halfway, "coiecd": perfect}
    trials = [{"technique": "multi_agent", "setting": None, "regime": None, "bcu": None, "n": None, "chosen": None,
               "tied": None, "unavailable": "follows no instructions"}]  # fmt: skip
    folder = tmp_path_factory.mktemp("techniques")
    return published(plant(folder, asked, test=40, trials=trials))


@pytest.fixture(scope="module")
def address(served, store):
    return served(store.path.parent)


def overlapping(boxes) -> list[tuple[str, str]]:
    found = []
    for place, (one, left, top, right, bottom) in enumerate(boxes):
        for other, left2, top2, right2, bottom2 in boxes[place + 1 :]:
            wide, tall = min(right, right2) - max(left, left2), min(bottom, bottom2) - max(top, top2)
            if wide > 2 and tall > 3:
                found.append((one, other))
    return found


@pytest.mark.parametrize("width", [900, 1280, 1920])
def test_labels_do_not_overlap_even_where_points_coincide(address, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for right in (0, 75, 100):
        visit(page, f"{address}/techniques?right={right}&pay=2")
        boxes = [box for box in page.evaluate(LABELS, "text.label") if box[0]]
        assert {one[0] for one in boxes} == {"Regular, CAD and AdaCAD", "ACD", "COIECD"}
        assert overlapping(boxes) == []
        assert overlapping(page.evaluate(LABELS, "text:not(.label)")) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_can_be_read_in_every_window(address, page, dark):
    with somebody_else(page, dark) as page:
        assert hard_in_windows(page, address, PATHS, SIZES) == {}


def test_both_figures_are_above_the_fold(address, page):
    visit(page, f"{address}/techniques")
    plots = [plot.bounding_box() for plot in page.locator(".plot").all()]
    assert len(plots) == 2
    assert all(plot["y"] + plot["height"] < 800 for plot in plots)


CLICKS = {
    # What is clicked, its mark in the address, the link to follow, what the list's address has, and how many it holds.
    "a card": ("COIECD: ", "coiecd", "Its 120 answers", ("regime=conflicting", "regime=irrelevant", "changed=counted"), 120),
    "a difference": ("COIECD, conflicting", "conflicting", "gained over", ("regime=conflicting", "changed=gained"), 20),
}


@pytest.mark.parametrize("what", CLICKS)
def test_a_click_leads_to_exactly_the_answers_that_it_counted(address, page, what):
    button, point, link, parts, count = CLICKS[what]
    visit(page, f"{address}/techniques?measure=bcu")
    page.get_by_role("button", name=button).click()
    arrive(page, f"**point={point}**")
    page.get_by_role("link", name=link).click()
    arrive(page, "**/instances**")
    assert all(part in page.url for part in ("technique=coiecd", *parts))
    assert page.get_by_text(f"of {count}", exact=False).count() >= 1
    page.get_by_role("button", name="Regular: Oslo").click()
    page.wait_for_url(lambda url: "technique=" not in url)


def test_the_slider_goes_by_the_keys_and_the_cards_follow(address, page):
    visit(page, f"{address}/techniques?right=40")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**right=41**")
    page.get_by_text("41 of 100").wait_for()


def test_keys_walk_along_the_marks_and_pick_one(address, page):
    visit(page, f"{address}/techniques")
    page.locator('.mark[tabindex="0"]').first.focus()
    seen = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
        seen.add(page.locator(".mark:focus").get_attribute("data-id"))
        assert page.locator(".tip").first.is_visible()
    assert len(seen) >= 4
    page.keyboard.press("Enter")
    page.wait_for_url("**point=**")
