"""What can be measured of a page's looks: contrast in both themes, and that nothing is cut off in narrow or zoomed windows."""

import re

import pytest

from tests.e2e.browser import IN_A_BROWSER, heard, open_form, page_of, settle, visit
from tests.e2e.test_reading import DRAWN

pytestmark = IN_A_BROWSER

PAGES = {
    "overview": "", "board": "leaderboard", "document": "leaderboard?tab=regime&question=document",
    **{tab: f"leaderboard?tab={tab}" for tab in ("source", "regime", "faithful", "failures", "against")},
    "instance": "instances?painted=fa", "rows": "instances?mode=rows&list=open&more=tokens", "techniques": "techniques",
    "your_prompt": "your_prompt", "answer": "your_prompt?result=1-copied&words=12-32", "report": "about",
    "data": "about?tab=data", "methods": "about?tab=methods",
}  # fmt: skip
TEXT, MARK = 4.5, 3.0

# Every visible text of the page with its contrast, through shadow roots; figures are drawn by a library.
CONTRASTS = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = colour => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const parent = node => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null;
  const ground = node => {
    const layers = [];
    for (let at = node; at; at = parent(at)) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const opacity = node => {
    let all = 1;
    for (let at = node; at; at = parent(at)) all *= Number(getComputedStyle(at).opacity);
    return all;
  };
  const light = colour => {
    const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = colour.slice(0, 3).map(v => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walk = root => {
    for (const node of root.querySelectorAll("*")) {
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.closest(".js-plotly-plot, [data-testid=stDataFrame], [data-testid=stIconMaterial]")) continue;
      if (node.closest("[disabled], svg, [data-testid^=stSliderT]")) continue;
      const says = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
      if (!says || node.closest("[data-collapsed=true]") || !node.checkVisibility()) continue;
      const below = ground(node), own = rgba(getComputedStyle(node).color);
      own[3] *= opacity(node);
      const [one, other] = [light(over(own, below)), light(below)].sort((a, b) => b - a);
      const ratio = (one + 0.05) / (other + 0.05);
      if (ratio < 4.5) found.push([Math.round(ratio * 100) / 100, node.textContent.trim().slice(0, 50), node.className]);
    }
  };
  walk(document.querySelector("[data-testid=stApp]"));
  return found;
}"""

# What reaches beyond the window, and texts that are cut off without dots.
CUT_OFF = """() => {
  const found = [], width = document.documentElement.clientWidth;
  const main = document.querySelector("[data-testid=stMain]");
  if (main.scrollWidth > main.clientWidth + 1) found.push(["the page scrolls sideways", main.scrollWidth - main.clientWidth]);
  const walk = root => {
    for (const node of root.querySelectorAll("*")) {
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.closest("[data-testid=stDataFrame], svg, canvas, .js-plotly-plot, .skip, .scrolls")) continue;
      if (!node.checkVisibility()) continue;
      const box = node.getBoundingClientRect();
      const outside = box.width && box.right > width + 1 && box.left < width;
      if (outside) found.push([node.tagName, node.className, Math.round(box.right)]);
      const style = getComputedStyle(node);
      const cut = node.scrollWidth > node.clientWidth + 2 && style.overflowX === "hidden" && style.textOverflow !== "ellipsis";
      const alone = node.childElementCount === 0 && node.textContent.trim();
      if (cut && alone) found.push(["cut off", node.textContent.slice(0, 40), node.className]);
    }
  };
  walk(main);
  return found.slice(0, 8);
}"""


# Texts that lie over each other. Of what is drawn token by token, figures and tables, other tests say what is where.
OVERLAPS = """() => {
  const boxes = [];
  const walk = root => {
    for (const node of root.querySelectorAll("*")) {
      if (node.shadowRoot) walk(node.shadowRoot);
      const drawn = "svg, canvas, .js-plotly-plot, [data-testid=stDataFrame], .prompt, .rows, .o-part, .strip, .ends";
      if (node.closest(drawn) || node.closest(".skip")) continue;
      if (node.closest("[data-testid=stIconMaterial], [data-collapsed=true]") || !node.checkVisibility()) continue;
      for (const child of node.childNodes) {
        if (child.nodeType !== 3 || !child.textContent.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(child);
        for (const box of range.getClientRects()) boxes.push([box, child.textContent.trim().slice(0, 40)]);
      }
    }
  };
  walk(document.querySelector("[data-testid=stMain]"));
  const found = [];
  boxes.forEach(([one, text], index) => {
    for (const [other, beside] of boxes.slice(index + 1)) {
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const tall = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 3 && tall > 6 && text !== beside) found.push([text, beside, Math.round(wide)]);
    }
  });
  return found.slice(0, 6);
}"""


def hard_to_read(page) -> list:
    """Contrasts below 4.5, what is cut off, and texts over one another."""
    return [*page.evaluate(CONTRASTS), *page.evaluate(CUT_OFF), *page.evaluate(OVERLAPS)]


def hard_in_windows(page, address: str, paths, windows) -> dict:
    """(Width, path) ▶ what is hard to read there. windows: (width, height) of each."""
    wrong = {}
    for path in paths:
        visit(page, f"{address}/{path}")
        for width, height in windows:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            if found := hard_to_read(page):
                wrong[width, path] = found
    return wrong


# What no page may say: Python's words, braces of JSON, keys with underscores, endless decimals.
UNSAYABLE = r"\bNone\b|\bnan\b|\{\"|\[\]|\b0\.0{5,}\d|\b(?:world_capital|country_profiles|double_conflicting|not_answer)\w*"
# What one types is set as code, and is a program's word by right.
PROSE = DRAWN.replace('"CANVAS"]', '"CANVAS", "CODE"]')
# At 150 % zoom a window of 1280 × 800 has 853 × 533 pixels of its own.
SIZES = ((900, 800), (853, 533), (1280, 800), (1920, 1080))
WINDOWS = {f"{size[0]}": (*size, False) for size in SIZES} | {"dark": (1280, 800, True)}
ROUNDS = [("few_cells", "1280"), *(pytest.param("demo_results", one, marks=pytest.mark.demo) for one in WINDOWS)]


@pytest.mark.parametrize(("results", "window"), ROUNDS)
def test_every_page_opens_by_its_link_asks_nobody_outside_and_can_be_read(request, served, browser, results, window):
    """Contrasts of at least 4.5, nothing cut off, no text over another, also beside the form, and no program's words."""
    width, height, dark = WINDOWS[window]
    assert PROSE != DRAWN
    wrong, address = {}, served(request.getfixturevalue(results))
    with page_of(browser, width, height, dark) as page:
        outside = heard(page, address)
        for name, path in PAGES.items():
            visit(page, f"{address}/{path}")
            said = page.locator("[data-testid=stMain]").evaluate(PROSE)
            found = [text for text in said if re.search(UNSAYABLE, text)]
            found += [title for title in page.locator("h1").first.all_inner_texts() if not title.endswith("?")]
            found += page.locator("[data-testid=stException]").all_inner_texts() + outside
            outside.clear()
            found += hard_to_read(page)
            if window == "1280":  # the system's colours may change while a page is open
                page.emulate_media(color_scheme="dark")
                settle(page)
                found += hard_to_read(page)
                page.emulate_media(color_scheme="light")
            if window == "1280" and not path.startswith("your_prompt"):
                open_form(page)
                found += page.evaluate(OVERLAPS)
            if found:
                wrong[name] = found[:8]
    assert wrong == {}


def test_what_people_came_for_is_above_the_fold(address, browser):
    """At 1280 × 800 and in a window as high as most laptops give."""
    with page_of(browser) as page:
        visit(page, f"{address}/instances?painted=fa")
        page.wait_for_selector(".t")
        assert page.locator(".t").first.bounding_box()["y"] < 400
        assert page.locator(".answer").first.bounding_box()["y"] < 800
        visit(page, f"{address}/leaderboard?tab=regime&question=document")
        settle(page)
        page.wait_for_selector(".figure .panel")
        assert page.locator(".figure").first.bounding_box()["y"] < 400
