"""A real browser on some of the demo results: what only it can see."""

from heval_core.records import CELL
from heval_core.store.filters import Filter
from tests.e2e.browser import IN_A_BROWSER, arrive, explorer, listed, query_of, settle, visit

pytestmark = IN_A_BROWSER

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
        arrive(page, "**/instances?**regime=**")
        cell = Filter(**{name: tuple(query_of(page)[name]) for name in CELL})
        assert cell.dataset == ("world_capital",)
        assert listed(page) == len(reader.instance_ids(cell))
    page.locator(".st-key-navigation").get_by_role("link", name="About").click()
    settle(page)
    assert page.locator("h1").inner_text().startswith("What were the models asked")
