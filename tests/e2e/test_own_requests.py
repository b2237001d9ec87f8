"""A request for an answer outlives a reload, a closed page, a second tab and its worker, and each page can stop it."""

import pytest

from tests.e2e.browser import IN_A_BROWSER, held, query_of, reload, settle, somebody_else, visit
from tests.e2e.own_form import KENYA, ask, choose, explain, kill_workers

pytestmark = IN_A_BROWSER


def test_a_worker_killed_in_mid_request_costs_that_request_only(address, filled):
    with held(address):
        kill_workers(address)  # so that one has to load its model
        filled.get_by_role("button", name="Explain", exact=True).click()
        # One that ends before it has heard of the request is replaced: only what it says shows that it has.
        filled.get_by_text("Loading the model …").wait_for()
        kill_workers(address)
        filled.get_by_text("The worker process ended before it answered").wait_for()
    explain(filled)


def test_a_request_can_be_stopped(address, filled):
    send = filled.get_by_role("button", name="Explain", exact=True)
    with held(address):
        kill_workers(address)
        send.click()
        stop = filled.get_by_test_id("stSidebar").get_by_role("button", name="Stop", exact=True)
        stop.wait_for()
        filled.wait_for_timeout(1600)  # a press where Explain stood a moment ago is none
        stop.click()
        send.wait_for()
        assert send.is_enabled()
        filled.get_by_text("Stopped: what was known by then is kept").wait_for()


# What the page says while the worker is held at a step.
PHASES = {
    "torch": "Loading the model",
    "token": "Word by word",
    "now level": "the random level",
    "now attnlrp": "Now: AttnLRP",
}


@pytest.mark.parametrize("at", PHASES)
def test_a_reload_and_a_second_tab_take_the_request_up_in_every_phase_and_each_can_stop_it(address, filled, at):
    page = filled
    with held(address, at):
        if at == "torch":
            kill_workers(address)
        page.get_by_role("button", name="Explain", exact=True).click()
        page.get_by_text(PHASES[at]).first.wait_for()
        asked = query_of(page)["result"]
        written = page.locator(".said .word").count()
        page.reload()
        page.get_by_text(PHASES[at]).first.wait_for()
        assert query_of(page)["result"] == asked
        assert page.locator(".said .word").count() == written
        assert page.locator(".st-key-own_text_1 textarea").input_value() == KENYA[0]
        with somebody_else(page) as tab:
            tab.goto(page.url)
            tab.get_by_text(PHASES[at]).first.wait_for()
            if at == "now level":  # from the second tab
                tab.wait_for_timeout(1600)  # a press where Explain stood a moment ago is none
                tab.get_by_test_id("stSidebar").get_by_role("button", name="Stop", exact=True).click()
                page.get_by_text("Stopped: what was known by then is kept").wait_for()
                assert page.locator(".said .word").count() == written
    page.get_by_role("button", name="Explain", exact=True).wait_for()
    if at != "now level":
        settle(page)
        page.wait_for_selector(".matrix table")


def test_what_a_closed_page_has_asked_is_kept_and_a_draft_outlives_a_reload(address, filled):
    with held(address, "now level"), somebody_else(filled) as page:
        visit(page, f"{address}/your_prompt")
        choose(page, "demo-gpt2 ")
        ask(page, *KENYA, question="What is the capital of Kenya, and what has the village?")
        page.get_by_role("button", name="Explain", exact=True).click()
        page.get_by_text("the random level").first.wait_for()
        link = page.url
    visit(filled, link)
    filled.get_by_role("button", name="Explain", exact=True).wait_for()
    filled.wait_for_selector(".cite")
    ask(filled, "The capital of Kenya is Oslo.", question="Typed, not asked?")
    reload(filled)
    assert filled.locator(".st-key-own_question textarea").input_value() == "Typed, not asked?"
    filled.get_by_text("This is still the old answer").wait_for()
    visit(filled, f"{address}/your_prompt?result=3-memory")  # another link: what was typed is offered
    filled.get_by_role("button", name="Put back what you had typed").click()
    settle(filled)
    assert filled.locator(".st-key-own_question textarea").input_value() == "Typed, not asked?"
