"""A real browser on the demo results: what only it can see."""

from __future__ import annotations

import pytest

from heval_core.statistics.scores import average_ranks
from heval_core.store.filters import Filter
from tests.e2e.browser import chromium, explorer, page_of, settle, visit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no Chromium here, and it could not be installed"),
]

PAGES = ("", "context_or_memory", "which_document", "which_token", "length_and_position", "faithfulness", "compare", "report",
         "instances", "mechlight_head", "failures", "datasets", "about", "your_prompt")  # fmt: skip


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def page(request):
    with page_of(dark=request.param) as opened:
        yield opened


@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens_by_its_link_and_asks_nobody_outside(address, page, path):
    outside, wrong = [], []
    page.on("request", lambda r: outside.append(r.url) if r.url.startswith("http") and address not in r.url else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    visit(page, f"{address}/{path}")
    assert page.locator("h1").inner_text().endswith("?")
    assert page.get_by_text("Explain a prompt").count() == 1
    assert page.locator("[data-testid=stException]").count() == 0
    assert not wrong
    assert not outside


def test_the_token_grid_draws_every_token_with_its_gold_marks_and_best_tokens(address, page, reader):
    instance = reader.instance(reader.instance_ids(Filter(model=("demo-qwen2",), regime=("mixed",), group=("C1",)))[0])
    visit(page, f"{address}/instances?instance={instance.instance_id}")
    page.wait_for_selector(".token")
    drawn = page.eval_on_selector_all(".token > .word", "words => words.map(w => w.textContent)")
    assert "".join(drawn) == instance.prompt
    gold = page.eval_on_selector_all(".token.gold", "tokens => tokens.map(t => Number(t.dataset.index))")
    assert gold == sorted(instance.answer_tokens)
    attributions = reader.attributions(instance.instance_id)
    rows = page.eval_on_selector_all(".legend .item", "items => items.length")
    assert rows == 4
    mechlight = attributions["mechlight"].scores
    ranks = average_ranks(mechlight)[0]
    best = {int(i) for i in ranks.argsort(kind="stable")[:5]}
    ringed = page.eval_on_selector_all(
        ".token", "tokens => tokens.filter(t => t.children[1].classList.contains('top')).map(t => Number(t.dataset.index))"
    )
    assert set(ringed) == best


def test_pointing_at_a_token_tells_its_score_rank_and_share_and_a_click_keeps_it(address, page, reader):
    instance_id = reader.instance_ids(Filter(model=("demo-gpt2",)))[0]
    visit(page, f"{address}/instances?instance={instance_id}")
    page.hover(".token[data-index='3']")
    scores = reader.attributions(instance_id)["fa"].scores
    rank = average_ranks(scores)[0][3]
    assert f"rank {rank:g}" in page.inner_text(".detail")
    page.click(".token[data-index='3']")
    page.hover(".token[data-index='5']")
    assert page.inner_text(".detail").startswith("3:")
    page.click(".token[data-index='3']")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".detail").startswith("4:")


def kept_instance(reader):
    """An instance whose heads are all stored, with the head MechLight chose and another one."""
    row = reader.query("SELECT instance_id FROM head_attention ORDER BY instance_id LIMIT 1").iloc[0]
    found = reader.attributions(row["instance_id"])["mechlight"]
    chosen = (found.layer, found.head)
    other = next((layer, head) for layer in range(5) for head in range(6) if (layer, head) != chosen)
    return row["instance_id"], chosen, other


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_picking_another_head_shows_its_attention_and_what_it_changes(address, page, reader, by):
    instance_id, chosen, other = kept_instance(reader)
    visit(page, f"{address}/mechlight_head?instance={instance_id}")
    page.wait_for_selector(".square")
    assert page.get_attribute(".square.chosen", "data-name") == f"L{chosen[0]}H{chosen[1]}"
    assert page.locator(".square").count() == 30
    target = f".square[data-name='L{other[0]}H{other[1]}']"
    if by == "mouse":
        page.click(target)
    else:
        page.focus(".square.chosen")
        for _ in range(chosen[0] - other[0]):
            page.keyboard.press("ArrowUp")
        for _ in range(abs(chosen[1] - other[1])):
            page.keyboard.press("ArrowLeft" if chosen[1] > other[1] else "ArrowRight")
        page.keyboard.press("Enter")
    settle(page)
    page.wait_for_selector(f".square[aria-pressed=true][data-name='L{other[0]}H{other[1]}']")
    page.locator(".legend .item").nth(1).wait_for()
    attention = reader.head_attention(instance_id, *other)
    best = {int(i) for i in average_ranks(attention)[0].argsort(kind="stable")[:5]}
    ringed = page.eval_on_selector_all(
        ".token", "tokens => tokens.filter(t => t.children[1].classList.contains('top')).map(t => Number(t.dataset.index))"
    )
    assert set(ringed) == best


def test_a_click_on_a_bar_leads_to_the_instances_behind_it(address, page):
    visit(page, f"{address}/context_or_memory?model=demo-qwen2&dataset=world_capital")
    page.wait_for_selector(".barlayer .point path")
    page.wait_for_timeout(1000)
    first = page.locator(".barlayer .point path").first
    page.locator(".js-plotly-plot").first.evaluate("figure => figure.scrollIntoView({block: 'center'})")
    page.wait_for_timeout(250)
    bar = first.bounding_box()
    page.mouse.move(bar["x"] + 3, bar["y"] + bar["height"] / 2)
    page.mouse.click(bar["x"] + bar["width"] / 3, bar["y"] + bar["height"] / 2)
    page.get_by_text("Open the instances of demo-qwen2, world_capital, conflicting").click()
    page.wait_for_url("**/instances**")
    settle(page)
    page.wait_for_url("**regime=**")
    assert "model=demo-qwen2" in page.url
    assert "dataset=world_capital" in page.url
    assert "regime=" in page.url
    assert page.locator(".token").count() > 10
    regime = page.url.split("regime=")[1].split("&")[0]
    assert page.locator(".st-key-regime").get_by_text(regime, exact=True).count() == 1


def test_a_link_opens_whole_on_a_server_that_has_just_started(demo_results, page):
    fresh = page.context.new_page()
    with explorer(HEVAL_STORE=str(demo_results)) as url:
        visit(fresh, f"{url}/instances")
        assert fresh.get_by_text("Explain a prompt").count() == 1
        assert fresh.locator("[data-testid=stSidebarNavLink]").first.inner_text().endswith("Overview")
    fresh.close()


def test_a_click_on_a_row_of_datasets_opens_its_instances_and_the_way_back_stays_open(address, page, reader):
    for _ in range(2):
        visit(page, f"{address}/datasets?dataset=world_capital")
        table = page.locator(".st-key-cells [data-testid=stDataFrame]")
        table.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        box = table.bounding_box()
        page.mouse.click(box["x"] + 60, box["y"] + 35 * 5.5)  # below the header, the fifth row
        page.wait_for_url("**/instances?**regime=irrelevant**")
        settle(page)
        size = len(reader.instance_ids(Filter(("demo-gpt_neox",), ("world_capital",), ("irrelevant",))))
        assert page.get_by_text(f"instance 1 of {size}", exact=True).count() == 1
    page.get_by_role("link", name="Datasets").click()
    settle(page)
    assert page.locator("h1").inner_text().startswith("What were the models asked")
