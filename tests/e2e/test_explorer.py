"""A real browser on some of the demo results: what only it can see."""

from urllib.parse import parse_qs, urlparse

import pytest

from heval_core.records import CELL
from heval_core.store.filters import Filter
from tests.e2e.browser import IN_A_BROWSER, explorer, settle, somebody_else, visit

pytestmark = IN_A_BROWSER

PAGES = (
    "", *(f"leaderboard?tab={tab}" for tab in ("regime", "prompts", "faithful", "failures", "against")), "leaderboard",
    "techniques", "instances", "instances?mode=rows&list=open&more=tokens", "your_prompt", "about", "about?tab=data",
    "about?tab=methods",
)  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens_by_its_link_and_asks_nobody_outside(address, page, path):
    opens(page, address, path)


def test_in_the_dark_they_open_too(address, page):
    with somebody_else(page, dark=True) as dark:
        for path in ("", "leaderboard", "instances", "techniques", "your_prompt", "about?tab=data"):
            opens(dark, address, path)


def opens(page, address, path):
    outside, wrong = [], []
    page.on("request", lambda r: outside.append(r.url) if r.url.startswith("http") and address not in r.url else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    visit(page, f"{address}/{path}")
    assert page.locator("h1").first.inner_text().endswith("?")
    assert page.locator("[data-testid=stException]").count() == 0
    assert not wrong
    assert not outside


# Counts what the browser lists of page files, from its first moment on.
LISTED = """window.listed = 0; new MutationObserver(() => {
    window.listed += document.querySelectorAll("[data-testid=stSidebarNavLink]").length;
}).observe(document, { childList: true, subtree: true });"""


def test_a_link_opens_whole_on_a_server_that_has_just_started(few_cells, page):
    fresh = page.context.new_page()
    fresh.add_init_script(LISTED)
    with explorer(HEVAL_STORE=str(few_cells)) as url:
        visit(fresh, f"{url}/instances")
        assert fresh.evaluate("window.listed") == 0
        assert fresh.locator(".st-key-navigation a").first.inner_text() == "Overview"
    fresh.close()


def test_a_click_on_a_row_of_datasets_opens_its_instances_and_the_way_back_stays_open(address, page, reader):
    for _ in range(2):
        visit(page, f"{address}/about?tab=data&dataset=world_capital")
        table = page.locator(".st-key-cells [data-testid=stDataFrame]")
        table.scroll_into_view_if_needed()
        settle(page)
        box = table.bounding_box()
        page.mouse.click(box["x"] + 60, box["y"] + 35 * 4.5)  # below the header, the fourth row
        page.wait_for_url("**/instances?**regime=**")
        settle(page)
        asked = parse_qs(urlparse(page.url).query)
        cell = Filter(**{name: tuple(asked[name]) for name in CELL})
        assert cell.dataset == ("world_capital",)
        size = f"{len(reader.instance_ids(cell)):,}"
        assert page.get_by_text(f"1 of {size}", exact=True).count() == 1
    page.locator(".st-key-navigation").get_by_role("link", name="About").click()
    settle(page)
    assert page.locator("h1").inner_text().startswith("What were the models asked")
