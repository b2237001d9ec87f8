"""The components' scripts by themselves, called as Streamlit calls them."""

import base64

from heval_core.present.html import scripts_of
from tests.e2e.browser import IN_A_BROWSER, page_of

pytestmark = IN_A_BROWSER

# Called anew in the frame in which the width changes: what Streamlit does when something beside it widens the column.
# An answer of the page that is out of date must not undo what was pressed since.
DRAW_TWICE = """
async (url) => {
  const surface = (await import(url)).default;
  const row = (key) => ({ key, title: key, short: key, about: "", control: false, picked: false, color: "#888", signed: false,
                          raw: [1], scores: [1], share: [1], ranks: [1], strength: [1], largest: 1, top: { 3: [0], 5: [0] }, rank: 1 });
  const view = { mode: "text", painted: ["one"], k: 5, level: "token", drawn: [], controls: false, pick: "", pin: null };
  const data = (id, view, ...keys) => ({ id, title: id, lead: [["", "said"]], tokens: ["one"], gold: [], rows: keys.map(row), first_ranked: 0,
    blocks: [{ kind: "text", start: 0, end: 1, caption: "", used: false }], ranked: 1, answer: { text: "a", share: "1 %", from: "from memory" },
    used: true, chance: 1, sources: [], heads: null, level: "token", levels: ["token"], ks: [3, 5], view });
  const parentElement = document.querySelector("#parent");
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const sent = [];
  const call = (data) => surface({ data, parentElement, setStateValue: (name, value) => sent.push(value), setTriggerValue() {} });
  const names = () => [...document.querySelectorAll(".rank .name")].map((name) => name.textContent);
  call(data("first", view, "one"));
  await frames();
  parentElement.style.width = "700px";
  call(data("second", view, "one", "two"));
  await frames();
  const shown = [document.querySelector("h1").textContent, names()];
  parentElement.style.width = "500px";
  await frames();
  shown.push(names());
  document.querySelectorAll(".rank")[1].click();
  document.querySelector(".segments button").nextSibling.click();
  call(data("second", { ...view, painted: ["two"] }, "one", "two"));  // the answer to the first of the two
  shown.push(document.querySelectorAll(".cell").length > 0, sent.length);
  const { at, ...last } = sent[1];
  call(data("second", last, "one", "two"));
  shown.push(document.querySelectorAll(".cell").length > 0);
  call(data("second", view, "one", "two"));  // Back
  shown.push(document.querySelectorAll(".cell").length);
  return shown;
}
"""  # noqa: E501


def test_a_surface_given_new_data_never_shows_the_old_again_and_keeps_what_was_pressed_since(browser):
    script = "\n".join(path.read_text("utf-8") for path in scripts_of("reading")).encode()
    with page_of(browser) as page:
        page.set_content('<div id="parent" style="width: 900px"><div class="host"></div></div>')
        shown = page.evaluate(DRAW_TWICE, "data:text/javascript;base64," + base64.b64encode(script).decode())
    assert shown == ["second", ["one", "two"], ["one", "two"], True, 2, True, 0]
