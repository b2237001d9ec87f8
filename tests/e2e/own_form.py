"""The form of *Your prompt* as tests fill it in, and the workers behind it."""

from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
from playwright.sync_api import TimeoutError

from tests.e2e.browser import settle, somebody_else, visit


def kill_workers(address):
    """Kill the worker processes of one explorer: other tests have theirs at the same time."""
    port = str(urlsplit(address).port)
    for worker in psutil.process_iter(["cmdline"]):
        if "heval_core.prompt_service.child" in (worker.info["cmdline"] or ()) and port in worker.parent().cmdline():
            worker.kill()


def choose(page, model):
    option = page.get_by_role("option", name=model, exact=False).first
    for _ in range(15):
        page.locator(".st-key-own_model input").first.click()
        with suppress(TimeoutError):  # a list that opens while the form is drawn anew is closed at once
            option.wait_for(timeout=20_000)
            break
    option.click()
    settle(page)


def ask(page, *documents, question="What is the capital of Kenya?"):
    """Fill in the form: as many documents as it has."""
    form = page.locator("[data-testid=stSidebar]")
    for number, text in enumerate(documents, start=1):
        form.locator(f".st-key-own_text_{number} textarea").fill(text)
    form.locator(".st-key-own_question textarea").fill(question)
    page.keyboard.press("Tab")
    settle(page)


def explain(page, at=".said .word"):
    """Send what stands in the form, and wait for the finished answer, which opens by its own address. at: what it has."""
    page.get_by_role("button", name="Explain", exact=True).click()
    page.wait_for_url(lambda url: "result" in parse_qs(urlsplit(url).query))
    settle(page)
    page.get_by_role("button", name="Explain", exact=True).wait_for()  # where Stop stood
    settle(page)
    page.wait_for_selector(at)


KENYA = ("According to a world atlas: The capital of Kenya is Lisbon.", "The village has a market and two wells.")


@pytest.fixture
def filled(address, page):
    """The page of somebody else, with the form filled in for demo-gpt2."""
    with somebody_else(page) as page:
        visit(page, f"{address}/your_prompt")
        choose(page, "demo-gpt2 ")
        ask(page, *KENYA)
        yield page
