"""The reading surface in a real browser: what it draws, its keys, where the focus stays, and that the address holds it all."""

import pytest

from heval_core.evaluation.orders import SORTED_BY
from heval_core.present.names import names_of
from heval_core.statistics.scores import average_ranks
from heval_core.store.filters import Filter
from tests.e2e.browser import IN_A_BROWSER, arrive, query_of, settle, somebody_else, visit

pytestmark = IN_A_BROWSER

CHOSEN = Filter(("demo-qwen2",), ("world_capital",), ("mixed_swap",), ("C1",))
LIST = "model=demo-qwen2&dataset=world_capital&regime=mixed_swap&group=C1"


@pytest.fixture
def instance(reader):
    return reader.instance(reader.instance_ids(CHOSEN)[0])


def focused(page):
    """The element that holds the focus, wherever it is nested, as its data and label."""
    return page.evaluate(
        "() => { let a = document.activeElement; while (a.shadowRoot?.activeElement) a = a.shadowRoot.activeElement;"
        " return {...a.dataset, label: a.getAttribute('aria-label'), tag: a.tagName}; }"
    )


def places(page, tokens):
    """The places in the prompt of the tokens that a selector finds."""
    return page.eval_on_selector_all(tokens, "tokens => tokens.map(t => Number(t.dataset.index))")


def best(scores, k=5):
    """The places of the tokens that are framed."""
    return [index for index, rank in enumerate(average_ranks(scores)[0]) if rank <= k]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_prompt_is_drawn_whole_with_its_answers_and_the_best_of_the_painted_explainer(
    address, page, reader, instance, dark
):
    with somebody_else(page, dark) as page:
        visit(page, f"{address}/instances?instance={instance.instance_id}&painted=fa&k=3")
        drawn = "".join(page.locator(".prompt").all_text_contents())
        assert drawn.replace(" ", "").startswith(instance.prompt.replace(" ", ""))
        assert places(page, ".t.gold") == sorted(instance.answer_tokens)
        assert places(page, ".t.top") == best(reader.attributions(instance.instance_id)["fa"].scores, k=3)


def test_rows_stand_under_their_tokens_and_lines_that_hold_nothing_fold(address, page, reader, instance):
    visit(page, f"{address}/instances?instance={instance.instance_id}&mode=rows&controls=true")
    names = page.locator(".line:not(.folded) .names").first.locator(".name").all_inner_texts()
    titles = names_of(reader).titles("explainer", reader.attributions(instance.instance_id))
    assert set(names) == {title.removesuffix(" (control)") for title in titles.values()}
    row = names.index("Integrated gradients") + 1
    framed = page.eval_on_selector_all(
        ".rows .t",
        "(tokens, row) => tokens.filter(t => t.children[row].classList.contains('top')).map(t => +t.dataset.index)",
        row,
    )
    assert framed == best(reader.attributions(instance.instance_id)["ig"].scores)


def test_the_ranks_beside_it_are_those_of_the_used_answer_and_a_click_paints(address, page, reader, instance):
    visit(page, f"{address}/instances?instance={instance.instance_id}")
    gold = instance.documents[instance.used_document].answer_tokens
    for key, stored in reader.attributions(instance.instance_id).items():
        rank = min(average_ranks(stored.scores)[0][token] for token in gold)
        told = page.locator(f".rank[data-key='{key}'] .number").inner_text()
        assert told.rstrip("stndrh") == f"{rank:g}"
    page.locator(".rank[data-key='attn']").click()
    page.wait_for_url("**painted=attn**")
    assert page.locator(".rank[data-key='attn']").get_attribute("aria-checked") == "true"


def test_keys_work_again_and_again_and_the_focus_stays_where_it_was(address, page, instance):
    visit(page, f"{address}/instances?{LIST}&instance={instance.instance_id}")
    page.locator(".t[data-index='4']").focus()
    for key in "tttkkk":
        page.keyboard.press(key)
        page.wait_for_timeout(120)
        assert focused(page)["index"] == "4", key
    settle(page)
    assert focused(page)["index"] == "4"
    assert query_of(page)["mode"] == ["rows"]
    page.keyboard.press("t")
    settle(page)
    assert "mode" not in query_of(page)
    for key, index in (("ArrowRight", "5"), ("ArrowRight", "6"), ("ArrowLeft", "5")):
        page.keyboard.press(key)
        assert focused(page)["index"] == index
    page.keyboard.press("ArrowDown")
    below = int(focused(page)["index"])
    assert below > 5
    page.keyboard.press("ArrowUp")
    assert abs(int(focused(page)["index"]) - 5) <= 1
    page.keyboard.press("Enter")
    settle(page)
    assert "pin" in query_of(page)
    page.keyboard.press("Escape")
    settle(page)
    assert "pin" not in query_of(page)


PRESSED = """() => {
  const hosts = [...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')];
  const root = hosts.map(host => host.shadowRoot).find(root => root.querySelector('.t'));
  const press = key => document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  press('t');
  const rows = root.querySelectorAll('.cell').length > 10;
  press('t');
  press('2');
  const second = [...root.querySelectorAll('.rank')].findIndex(rank => rank.getAttribute('aria-checked') === 'true');
  press('k');
  return [rows, second, root.querySelectorAll('.t.top').length];
}"""


def test_keys_answer_within_a_tenth_of_a_second_without_the_server(address, page, instance):
    """No timed assertion: the page is drawn in the same task as the key, before anything can come back."""
    visit(page, f"{address}/instances?instance={instance.instance_id}")
    drawn = page.evaluate(PRESSED)
    assert drawn[:2] == [True, 1]
    assert 1 <= drawn[2] <= 9


def test_next_and_previous_walk_the_list_in_its_order(address, page, reader):
    order = reader.instance_ids(CHOSEN, SORTED_BY["1/rank of mechlight"], False)
    visit(page, f"{address}/instances?{LIST}&sort=1/rank+of+mechlight&list=open")
    for step, place in (("]", 1), ("]", 2), ("[", 1)):
        page.keyboard.press(step)
        arrive(page, f"**instance={order[place]}**")
        assert page.get_by_text(f"{place + 1} of {len(order)}", exact=True).count() == 1
        assert page.locator(".row[aria-current]").get_attribute("data-id") == order[place]
    page.locator(".st-key-next button").first.click()
    page.wait_for_url(f"**instance={order[2]}**")
    page.locator(".row").nth(4).click()
    page.wait_for_url(f"**instance={order[4]}**")
    assert query_of(page)["sort"] == ["1/rank of mechlight"]
    page.go_back()
    settle(page)
    assert query_of(page)["instance"] == [order[2]]


def kept_instance(reader):
    """An instance whose heads are all stored, with the head MechLight chose and another one."""
    row = reader.query("SELECT instance_id FROM head_attention ORDER BY instance_id LIMIT 1").iloc[0]
    found = reader.attributions(row["instance_id"])["mechlight"]
    chosen = (found.layer, found.head)
    other = next((layer, head) for layer in range(5) for head in range(6) if (layer, head) != chosen)
    return row["instance_id"], chosen, other


def test_what_a_step_or_back_has_undone_can_be_done_again(address, page, reader):
    ids = reader.instance_ids(CHOSEN)
    visit(page, f"{address}/instances?{LIST}&instance={ids[0]}")
    for instance_id in ids[:2]:
        arrive(page, f"**instance={instance_id}**")
        page.locator(".t[data-index='5']").click()
        arrive(page, "**pin=5**")
        page.locator(".square:not(.chosen)[data-name='L0H0'], .square:not(.chosen)[data-name='L0H1']").first.click()
        arrive(page, "**pick=L0H**")
        page.keyboard.press("]")
    arrive(page, f"**instance={ids[2]}**")
    for _ in range(2):
        page.keyboard.press("t")
        arrive(page, "**mode=rows**")
        page.go_back()
        page.wait_for_selector(".prompt")
        settle(page)


def test_other_units_let_go_of_the_token_and_back_returns_to_it(address, page, instance):
    visit(page, f"{address}/instances?{LIST}&instance={instance.instance_id}")
    page.locator(".t[data-index='3']").click()
    arrive(page, "**pin=3**")
    units = page.get_by_role("group", name="What is scored as one")
    units.get_by_text("sentence").click()
    arrive(page, "**level=sentence**")
    assert "pin" not in query_of(page)
    assert page.locator(".t.pinned").count() == 0
    page.go_back()
    page.wait_for_selector(".t.pinned[data-index='3']")
    assert units.locator("[aria-pressed=true]").inner_text() == "token"


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_picking_a_head_repaints_the_prompt_and_says_what_it_changes(address, page, reader, by):
    instance_id, chosen, other = kept_instance(reader)
    visit(page, f"{address}/instances?instance={instance_id}")
    assert page.get_attribute(".square.chosen", "data-name") == f"L{chosen[0]}H{chosen[1]}"
    name = f"L{other[0]}H{other[1]}"
    if by == "mouse":
        page.click(f".square[data-name='{name}']")
    else:
        page.keyboard.press("h")
        for _ in range(chosen[0] - other[0]):
            page.keyboard.press("ArrowUp")
        for _ in range(abs(chosen[1] - other[1])):
            page.keyboard.press("ArrowLeft" if chosen[1] > other[1] else "ArrowRight")
        page.keyboard.press("Enter")
    page.wait_for_url(f"**pick={name}**")
    page.get_by_text(f"{name} instead of L{chosen[0]}H{chosen[1]}").wait_for()
    settle(page)
    assert places(page, ".t.top") == best(reader.head_attention(instance_id, *other))
    assert focused(page).get("name") == name
    page.get_by_role("button", name=f"Back to L{chosen[0]}H{chosen[1]}").click()
    settle(page)
    assert "pick" not in query_of(page)


# What is drawn by components and as text, with the frames of the best tokens.
DRAWN = """main => {
  const said = [];
  const walk = node => {
    for (const child of node.childNodes) {
      if (child.nodeType === 3 && child.textContent.trim()) said.push(child.textContent.trim());
      if (child.nodeType !== 1 || ["STYLE", "SCRIPT", "CANVAS"].includes(child.tagName)) continue;
      if (child.dataset?.testid === "stDataFrame" || child.classList.contains("js-plotly-plot")) continue;
      if (child.classList.contains("top")) said.push("[best]");
      if (["aria-checked", "aria-pressed"].some(name => child.getAttribute(name) === "true")) said.push("[held]");
      if (child.shadowRoot) walk(child.shadowRoot);
      walk(child);
    }
  };
  walk(main);
  return said;
}"""


def test_screen_readers_hear_names_for_tokens_ranks_and_heads(address, page, reader):
    instance_id, chosen, _ = kept_instance(reader)
    visit(page, f"{address}/instances?instance={instance_id}")
    tokens = page.eval_on_selector_all(".t", "all => all.map(t => [t.getAttribute('role'), t.getAttribute('aria-label')])")
    assert all(role == "button" and label.startswith("token ") for role, label in tokens)
    assert page.locator(".square.chosen").get_attribute("aria-label").endswith("chosen by MechLight")
    assert all(page.eval_on_selector_all(".square, .rank", "all => all.map(s => s.getAttribute('aria-label'))"))
    assert page.get_by_role("radiogroup", name="The explainer that is painted on the prompt").count() == 1


def test_the_first_stop_of_the_keyboard_skips_to_the_prompt(address, page, instance):
    visit(page, f"{address}/instances?instance={instance.instance_id}")
    page.evaluate("document.body.focus()")
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.shadowRoot?.activeElement?.textContent") == "Skip to the prompt":
            break
    page.keyboard.press("Enter")
    assert focused(page)["index"] == "0"
