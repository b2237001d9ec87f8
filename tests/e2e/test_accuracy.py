"""The figure of the question tabs in a browser: marks are picked by mouse and keys, and nothing is cut off at any width."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.browser import IN_A_BROWSER, settle, visit

pytestmark = IN_A_BROWSER

MARK = ["mechlight", "demo-gpt2", "world_capital", "mixed_swap", "C1"]


def mark(page, id):
    return page.locator(f".mark[data-id='{json.dumps(id, separators=(',', ':'))}']")


def asked(page):
    return parse_qs(urlsplit(page.url).query)


def test_a_click_on_a_mark_says_what_it_is_and_stands_in_the_link(page, address):
    page.set_viewport_size({"width": 1280, "height": 800})
    four = "explainers=mechlight&explainers=fa&explainers=ig&explainers=attn"
    visit(page, f"{address}/accuracy?tab=document&document=Instance+margin&{four}")
    one = mark(page, MARK)
    box = one.locator(".hit").bounding_box()
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # Others overlap it: the one whose middle is nearest is meant.
    page.mouse.move(*at)
    assert "used document first" in page.locator(".tip").inner_text()
    page.mouse.click(*at)
    page.wait_for_selector(".picked")
    settle(page)
    assert asked(page)["cell"] == MARK
    assert "MechLight · demo-gpt2 · World Capital" in page.locator(".picked").inner_text()
    assert one.get_attribute("aria-pressed") == "true"
    page.get_by_role("link", name="Open its instances, worst first").click()
    page.wait_for_url("**/instances?**")
    settle(page)
    assert asked(page)["sort"] == ["margin of mechlight"]
    assert asked(page)["model"] == ["demo-gpt2"]


def test_marks_are_reached_and_picked_by_keys_and_keep_the_focus(page, address):
    visit(page, f"{address}/accuracy?tab=token")
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
    assert asked(page)["cell"] == json.loads(ids[1])
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


@pytest.mark.parametrize(("tab", "width", "lines"), [
    ("document", 1280, [4]), ("document", 900, [2, 2]), ("document", 600, [2, 2]), ("token", 1280, [6]),
    ("token", 900, [3, 3]), ("memory", 1920, [2]), ("failures", 1280, [7]),
])  # fmt: skip
def test_panels_stand_side_by_side_as_far_as_there_is_room(page, address, tab, width, lines):
    page.set_viewport_size({"width": width, "height": 800})
    visit(page, f"{address}/accuracy?tab={tab}")
    page.wait_for_selector(".panel")
    found = page.evaluate(LAID_OUT)
    assert list(found["lines"].values()) == lines
    assert found["outside"] == []
    assert found["wide"] <= width


def test_a_click_on_a_kind_of_failure_lists_its_instances(page, address):
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, f"{address}/accuracy?tab=failures")
    mark(page, ["attn", "function_word", "*"]).click()
    page.wait_for_function("location.search.includes('function_word')")
    settle(page)
    assert asked(page)["explainer"] == ["attn"]
    assert mark(page, ["attn", "function_word", "*"]).get_attribute("aria-pressed") == "true"
