"""The components' scripts by themselves, called as Streamlit calls them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

import heval_core.ui.components
from tests.e2e.browser import chromium, page_of

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")]

# Called anew in the frame in which the width changes: what Streamlit does when a picked head widens the column.
DRAW_TWICE = """
async (url) => {
  const grid = (await import(url)).default;
  const row = (title) => ({ title, short: title, note: "", color: "#888", signed: false, raw: [1], scores: [1], share: [1],
                            ranks: [1], strength: [1], largest: 1, top: [0] });
  const data = (...titles) => ({ tokens: ["one"], blocks: [{ kind: "text", start: 0, end: 1, caption: "" }], gold: [],
                                 rows: titles.map(row), first_ranked: 0, dense: false, level: "token" });
  const parentElement = document.querySelector("#parent");
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  grid({ data: data("before"), parentElement, setTriggerValue() {} });
  await frames();
  parentElement.style.width = "700px";
  grid({ data: data("now", "and this"), parentElement, setTriggerValue() {} });
  await frames();
  const same = [...document.querySelectorAll(".item")].map((item) => item.textContent);
  parentElement.style.width = "500px";
  await frames();
  return [same, [...document.querySelectorAll(".item")].map((item) => item.textContent)];
}
"""


def test_a_token_grid_given_new_data_never_shows_the_old_again():
    script = (Path(heval_core.ui.components.__file__).parent / "token_grid.js").read_bytes()
    with page_of() as page:
        page.set_content('<div id="parent" style="width: 900px"><div class="host"></div></div>')
        shown = page.evaluate(DRAW_TWICE, "data:text/javascript;base64," + base64.b64encode(script).decode())
    assert shown == [["now", "and this"]] * 2
