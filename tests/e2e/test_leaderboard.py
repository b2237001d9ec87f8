"""The figure of the question tabs in a browser: marks are picked by mouse and keys, and nothing is cut off at any width."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import ROOT
from tests.e2e.browser import IN_A_BROWSER, arrive, listed, number_in, query_of, settle, visit

pytestmark = IN_A_BROWSER

MARK = ["mechlight", "demo-gpt2", "world_capital", "mixed_swap", "C1"]


def mark(page, id):
    return page.locator(f".mark[data-id='{json.dumps(id, separators=(',', ':'))}']")


def test_a_click_on_a_mark_says_what_it_is_and_stands_in_the_link(page, address):
    visit(page, f"{address}/leaderboard?tab=regime&question=document&document=Instance+margin")
    one = mark(page, MARK)
    box = one.locator(".hit").bounding_box()
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # Others overlap it: the one whose middle is nearest is meant.
    page.mouse.move(*at)
    assert "used document first" in page.locator(".tip").inner_text()
    page.mouse.click(*at)
    page.wait_for_selector(".picked")
    settle(page)
    assert query_of(page)["cell"] == MARK
    assert "MechLight · demo-gpt2 · World Capital" in page.locator(".picked").inner_text()
    assert one.get_attribute("aria-pressed") == "true"
    page.get_by_role("link", name=re.compile("Open its [0-9,]+ instances")).click()
    arrive(page, "**/instances?**")
    assert query_of(page)["sort"] == ["margin of mechlight"]
    assert query_of(page)["model"] == ["demo-gpt2"]


def test_marks_are_reached_and_picked_by_keys_and_keep_the_focus(page, address):
    visit(page, f"{address}/leaderboard?tab=regime")
    first = page.locator(".mark[tabindex='0']")
    assert first.count() == 1
    first.focus()
    before = first.get_attribute("data-id")
    page.keyboard.press("ArrowRight")
    ids = [page.evaluate(FOCUSED)]
    page.keyboard.press("ArrowDown")
    ids.append(page.evaluate(FOCUSED))
    assert len({before, *ids}) == 3
    page.keyboard.press("Enter")
    page.wait_for_selector(".picked")
    settle(page)
    assert query_of(page)["cell"] == json.loads(ids[1])
    assert page.evaluate(FOCUSED) == ids[1]


# Components live in shadow roots.
FOCUSED = """() => { let at = document.activeElement; while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at?.dataset?.id ?? null; }"""

# Texts of the figure that stand outside the window, and panels per line.
LAID_OUT = """() => {
  const found = { outside: [], lines: {}, wide: document.querySelector('[data-testid=stMain]').scrollWidth };
  const walk = (root) => { for (const one of root.querySelectorAll('*')) {
    if (one.shadowRoot) walk(one.shadowRoot);
    const box = one.getBoundingClientRect();
    const cut = box.left < -1 || box.right > innerWidth + 1;
    if (cut && one.matches(".figure text, .figure b, .name")) found.outside.push(one.textContent);
    if (one.matches('.panel')) found.lines[Math.round(box.top)] = (found.lines[Math.round(box.top)] ?? 0) + 1;
  } };
  walk(document); return found; }"""


@pytest.mark.parametrize(("asked", "width", "lines"), [
    ("tab=overall", 1280, [3]), ("tab=overall", 900, [3]), ("tab=overall", 1920, [3]),
    ("tab=regime&question=document", 1280, [4]), ("tab=regime&question=document", 900, [2, 2]), ("tab=regime", 1280, [6]),
    ("tab=failures", 1280, [7]),
])  # fmt: skip
def test_panels_stand_side_by_side_as_far_as_there_is_room(page, address, asked, width, lines):
    page.set_viewport_size({"width": width, "height": 800})
    visit(page, f"{address}/leaderboard?{asked}")
    page.wait_for_selector(".panel")
    found = page.evaluate(LAID_OUT)
    assert list(found["lines"].values()) == lines
    assert found["outside"] == []
    assert found["wide"] <= width


def test_a_click_on_a_kind_of_failure_lists_its_instances(page, address):
    visit(page, f"{address}/leaderboard?tab=failures")
    mark(page, ["attn", "function_word", "*"]).click()
    page.wait_for_function("location.search.includes('function_word')")
    settle(page)
    assert query_of(page)["explainer"] == ["attn"]
    assert mark(page, ["attn", "function_word", "*"]).get_attribute("aria-pressed") == "true"


def test_a_rows_name_and_its_dot_are_one_choice_and_open_what_they_count(page, address, reader):
    visit(page, f"{address}/leaderboard")
    mark(page, ["fa", "quality", "*"]).first.locator(".hit").click()
    page.wait_for_selector(".picked")
    settle(page)
    assert query_of(page)["mark"] == ["fa", "quality", "*"]
    assert page.locator(".row").count() == 1
    mark(page, ["fa", "RQ3", "*"]).locator(".hit").click(force=True)
    page.wait_for_function("location.search.includes('RQ3')")
    settle(page)
    promised = page.get_by_role("link", name=re.compile("Open its [0-9,]+ instances"))
    count = number_in(promised.inner_text())
    promised.click()
    assert listed(page) == count


@pytest.mark.parametrize("width", [1920, 1280, 900, 620])
def test_the_bar_on_top_is_one_row_and_reaches_every_page(page, address, width):
    page.set_viewport_size({"width": width, "height": 800})
    visit(page, f"{address}/leaderboard")
    bar = page.locator(".st-key-navigation")
    assert bar.bounding_box()["height"] <= 62
    if width <= 860:
        bar.get_by_role("button", name="Leaderboard").click()
    links = page.locator("[class*=st-key-here_] a:visible, [class*=st-key-there_] a:visible")
    files = re.findall(r'st\.Page\("pages/(\w+)\.py", title=', (ROOT / "app.py").read_text(encoding="utf-8"))
    names = [name.replace("_", " ").capitalize() for name in files if name != "annotate"]
    assert links.all_inner_texts() == names
    assert len(names) > 5


def test_a_dot_of_the_overview_opens_the_leaderboard_with_it_and_a_door_its_list(page, address):
    visit(page, f"{address}/?model=demo-gpt2")
    page.locator(".mark[aria-label^='AttnLRP · Which token?'] .hit").click()
    page.wait_for_url("**/leaderboard**")
    assert query_of(page)["model"] == ["demo-gpt2"]
    assert query_of(page)["mark"] == ["attnlrp", "RQ3", "*"]
    visit(page, address)
    door = page.locator(".o-door").nth(1)
    promised = number_in(door.inner_text())
    loaded = page.evaluate("performance.timeOrigin")
    door.focus()
    page.keyboard.press("Enter")
    assert listed(page) == promised
    assert page.evaluate("performance.timeOrigin") == loaded  # the same after a link inside the explorer
