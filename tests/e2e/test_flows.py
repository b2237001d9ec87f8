"""Whole ways through the explorer, in a real browser: links there and back, files opened again, several people."""

import re
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

from heval_core.store.filters import Filter
from tests.e2e.browser import (
    IN_A_BROWSER,
    arrive,
    heard_alone,
    listed,
    number_in,
    query_of,
    save,
    settle,
    somebody_else,
    visit,
)
from tests.e2e.test_reading import DRAWN

pytestmark = IN_A_BROWSER

AS_HTML = "This instance as an HTML file"


def drawn(page):
    """Everything that a page says and draws, through its components; tables and the time of day left out."""
    settle(page)
    return page.locator("[data-testid=stMain]").evaluate(DRAWN)


def copied_link(page):
    """What the popover behind "Link" offers."""
    page.get_by_role("button", name="Link").last.click()
    link = page.get_by_label("Link to this view").input_value()
    page.keyboard.press("Escape")
    return link


VIEWS = {
    "overview": "?model=demo-gpt2",
    "memory": "leaderboard?tab=regime&question=memory&model=demo-qwen2&dataset=country_profiles&k=9&memory=MDL",
    "document": "leaderboard?tab=regime&question=document&model=demo-gpt2&regime=mixed&document=Position+bias",
    "token": "leaderboard?tab=regime&model=demo-gpt2&dataset=world_capital&k=3&token=Answer+in+the+top+k&unit=native",
    "faithful": "leaderboard?tab=faithful&model=demo-gpt2&faithful=Sufficiency&accuracy=Forced+choice",
    "pairs": "leaderboard?tab=against&model=demo-qwen2&first=mechlight&second=attn",
    "board": "leaderboard?model=demo-qwen2&dataset=world_capital&mark=fa&mark=RQ3&mark=%2A",
    "prompts": "leaderboard?tab=prompts&question=document&dataset=world_capital",
    "failures": "leaderboard?tab=failures&model=demo-qwen2&explainer=attn&pattern=question",
    "slice": "leaderboard?tab=regime&model=demo-qwen2&dataset=world_capital&regime=mixed&tokens=30&tokens=60",
    "report": "about?section=Which+token%3A+mean+reciprocal+rank+%28Fig.+7%29",
    "list": "instances?model=demo-qwen2&regime=mixed&group=C1&level=word&list=open&sort=1%2Frank+of+fa&descending=true",
    "head": "instances?model=demo-qwen2&regime=mixed&k=9&pick=L0H1&painted=head&mode=rows",
    "data": "about?tab=data&dataset=world_capital",
    "methods": "about?tab=methods",
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_copied_link_opens_the_same_view_for_somebody_else(address, page, reader, view):
    visit(page, f"{address}/{VIEWS[view]}")
    assert page.get_by_text("The link asks for").count() == 0
    here = drawn(page)
    link = copied_link(page)
    wanted, found = parse_qs(VIEWS[view].partition("?")[2]), parse_qs(urlsplit(link).query)
    assert found["snapshot"] == [reader.snapshot_id]
    assert {name: found.get(name) for name in wanted} == wanted
    with somebody_else(page) as other:
        visit(other, link)
        assert drawn(other) == here


def test_filters_of_a_deep_link_survive_every_click_in_the_navigation_and_back_goes_back_one_view(address, page):
    visit(page, f"{address}/leaderboard?tab=regime&question=document&model=demo-gpt2&k=9")
    for name in ("Instances", "About", "Overview", "Leaderboard"):
        page.locator(".st-key-navigation").get_by_role("link", name=name, exact=True).click()
        arrive(page, "**model=demo-gpt2**")
        assert query_of(page)["k"] == ["9"], name
    assert "question=document" in page.url
    for path in ("/", "/about", "/instances", "/leaderboard"):
        page.go_back()
        settle(page)
        assert urlsplit(page.url).path == path
        assert "model=demo-gpt2" in page.url
    page.get_by_role("button", name="Other measures").click()
    page.get_by_text("MDL", exact=True).click()
    arrive(page, "**document=MDL**")
    page.go_back()
    settle(page)
    assert "document=MDL" not in page.url


def middle_of(page, figure, place):
    """Where a part of a figure is, once the figure is in the middle of the window."""
    figure.wait_for()
    settle(page)
    figure.evaluate("figure => figure.scrollIntoView({block: 'center'})")
    settle(page)
    box = place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def rank_of(page, explainer):
    """The rank of the used answer that stands beside the prompt."""
    return float(page.locator(f".rank[data-key='{explainer}'] .number").inner_text().rstrip("stndrh"))


def test_a_newcomer_finds_sends_and_takes_away_an_instance_where_mechlight_fails_and_fa_does_not(
    address, page, reader, tmp_path
):
    """From the first page, by what is written on it."""
    visit(page, address)
    told = page.get_by_role("link", name=re.compile("See one go wrong"))
    promised = number_in(told.inner_text())
    told.click()
    assert listed(page) == promised
    page.wait_for_selector(".rank")
    right, wrong = (value.partition(":")[0] for value in query_of(page)["best"])
    assert rank_of(page, right) == 1
    assert rank_of(page, wrong) > 1
    page.keyboard.press("]")
    arrive(page, "**instance=**")
    wanted = query_of(page)["instance"][0]
    page.get_by_role("button", name="Save").click()
    file, head = save(page, AS_HTML, tmp_path), reader.attributions(wanted)["mechlight"].head_name
    assert wanted in file.name
    assert f"MechLight · {head}" in file.read_text("utf-8")
    page.keyboard.press("Escape")
    page.get_by_text(f"{head} chosen").first.wait_for()
    # What the answer needs of each head was computed by the batch.
    assert (page.locator(".need .mark").count(), page.locator(".square.most").count()) == (30, 5)
    with somebody_else(page) as other:
        visit(other, page.url)
        assert rank_of(other, "mechlight") == rank_of(page, "mechlight")


def test_a_bar_leads_to_its_instances(address, page, reader):
    visit(page, f"{address}/about?tab=data&model=demo-qwen2&regime=conflicting")
    bars = page.locator(".st-key-outcomes .js-plotly-plot")
    page.mouse.click(*middle_of(page, bars, bars.locator(".bars .point path").first))
    page.get_by_role("link", name=re.compile("Open the instances of Country profiles, Conflicting")).click()
    cell = Filter(("demo-qwen2",), ("country_profiles",), ("conflicting",), ("C",), technique=("regular",))
    assert listed(page) == len(reader.instance_ids(cell))


def stated(reader):
    """How many findings there are."""
    return sum(map(len, (reader.findings(), reader.findings("techniques"), reader.findings("citations"))))


def test_a_square_of_the_head_counts_leads_to_the_instances_it_was_chosen_in(address, page, reader):
    visit(page, f"{address}/instances?model=demo-qwen2&dataset=world_capital&more=heads")
    figure = page.locator(".st-key-head_counts .js-plotly-plot")
    counts = reader.chosen_heads(Filter(("demo-qwen2",), ("world_capital",)))
    heads = int(reader.models().set_index("model").loc["demo-qwen2", "heads"])
    most = counts.iloc[0]
    page.mouse.click(*middle_of(page, figure, figure.locator(".points path").nth(most["layer"] * heads + most["head"])))
    page.wait_for_url(f"**head=L{most['layer']}H{most['head']}**")
    assert listed(page) == most["instances"]


def test_tables_are_saved_and_read_back(address, page, reader, tmp_path):
    visit(page, f"{address}/leaderboard?tab=regime&model=demo-qwen2&dataset=world_capital")
    page.get_by_text("The numbers").click()
    settle(page)
    stored = reader.cells(Filter(("demo-qwen2",), ("world_capital",)), "mrr", 0)
    stored = stored[stored["part"].isin(["C", "balanced"])]
    csv, parquet, latex = files = [save(page, name, tmp_path) for name in ("CSV", "Parquet", "LaTeX")]
    assert all(reader.snapshot_id[:8] in file.name for file in files)
    for table in (pd.read_csv(csv), pd.read_parquet(parquet)):
        assert sorted(table["value"]) == pytest.approx(sorted(stored["value"]))
    assert "\\toprule" in latex.read_text("utf-8")
    assert reader.snapshot_id in latex.read_text("utf-8")


def test_an_instance_saved_as_html_opens_alone_and_asks_for_nothing(address, page, reader, tmp_path):
    instance = reader.instance(reader.instance_ids(Filter(("demo-qwen2",), regime=("mixed",)))[0])
    visit(page, f"{address}/instances?instance={instance.instance_id}")
    page.get_by_role("button", name="Save").click()
    fresh = page.context.new_page()
    wrong = heard_alone(fresh, save(page, AS_HTML, tmp_path))
    drawn = fresh.eval_on_selector_all(".grid .w", "words => words.map(w => w.textContent)")
    assert "".join(drawn) == instance.prompt
    assert not wrong  # the style is allowed by its hash, and there is nothing else to refuse
    assert fresh.evaluate("getComputedStyle(document.querySelector('.b')).outlineStyle") == "solid"
    fresh.close()


def test_the_report_saved_from_its_page_opens_alone_with_its_figures(address, page, reader, tmp_path):
    visit(page, f"{address}/about")
    # It is made then: fifteen seconds where nothing else runs.
    file = save(page, "The whole report as HTML", tmp_path)
    assert reader.snapshot_id[:8] in file.name
    with somebody_else(page) as fresh:
        wrong = heard_alone(fresh, file)
        fresh.locator("#mrr > summary").click()
        assert fresh.locator("#mrr figure svg circle").first.is_visible()
        assert fresh.locator(".finding").count() == stated(reader)
        fresh.locator(".finding summary").first.click()
        assert fresh.locator(".finding .more").first.is_visible()
        assert wrong == []
