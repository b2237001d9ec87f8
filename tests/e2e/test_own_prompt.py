"""A prompt of one's own in a real browser: form, progress, result, link, and what goes wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import ARCHITECTURES, DEMO_MODELS
from tests.e2e.browser import IN_A_BROWSER, explorer, open_form, reload, settle, somebody_else, visit
from tests.pages.test_own_template import JINJA

pytestmark = IN_A_BROWSER


def workers_of(address):
    """The worker processes of one explorer: other tests have theirs at the same time."""
    server = str(urlsplit(address).port)
    found = []
    for worker in subprocess.run(["pgrep", "-f", "heval_core.prompt_service"], capture_output=True, text=True).stdout.split():
        parent = subprocess.run(["ps", "-o", "ppid=", "-p", worker], capture_output=True, text=True).stdout.strip()
        command = subprocess.run(["ps", "-o", "args=", "-p", parent or "0"], capture_output=True, text=True).stdout
        found += [int(worker)] if server in command.split() else []
    return found


def explain(page):
    """Send what stands in the form, and wait for the result, which opens by itself."""
    page.get_by_role("button", name="Explain", exact=True).click()
    page.wait_for_url("**result=**", timeout=120_000)
    settle(page)
    page.wait_for_selector(".t:not(.unranked)")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_sidebar_explains_with_each_demo_model(address, page, architecture):
    visit(page, f"{address}/report")
    open_form(page)
    page.locator(".st-key-own_model input").first.click()
    page.get_by_role("option", name=f"demo-{architecture}", exact=True).click()
    settle(page)
    explain(page)
    assert page.locator(".lead").inner_text().startswith(f"demo-{architecture}: The model answers")
    assert page.locator(".rank").count() >= 4
    assert page.locator(".square.chosen").count() == 1


def test_a_result_stays_after_a_reload_and_its_link_shows_it_to_somebody_else(address, page):
    visit(page, f"{address}/your_prompt")
    settle(page)
    explain(page)
    told = page.locator(".lead").inner_text()
    page.locator(".rank[data-key='fa']").click()
    page.wait_for_url("**painted=fa**")
    reload(page)
    page.wait_for_selector(".t:not(.unranked)")
    assert page.locator(".lead").inner_text() == told
    assert page.locator(".rank[data-key='fa']").get_attribute("aria-checked") == "true"
    page.get_by_role("button", name="Link").last.click()
    link = page.get_by_label("Link to this view").input_value()
    page.keyboard.press("Escape")
    assert {"result", "asked", "painted"} <= set(parse_qs(urlsplit(link).query))
    with somebody_else(page) as other:
        visit(other, link)
        other.wait_for_selector(".t")
        assert other.locator(".lead").inner_text() == told
        # Where the result is gone the link still holds the question.
        visit(other, link.replace("result=", "gone="))
        other.get_by_text("This link asks").wait_for()
        assert "Kenya" in other.locator(".st-key-own_text_1 textarea").input_value()


def test_an_old_result_is_marked_as_soon_as_the_form_changes_and_stands_beside_the_new_one(address, page):
    with somebody_else(page) as page:
        visit(page, f"{address}/your_prompt")
        explain(page)
        assert page.get_by_text("The form has changed").count() == 0
        page.locator(".st-key-own_question input").fill("What is the capital of Peru?")
        page.keyboard.press("Tab")
        page.get_by_text("The form has changed").wait_for()
        explain_again = page.url
        page.get_by_role("button", name="Explain", exact=True).click()
        page.wait_for_url(lambda url: url != explain_again, timeout=120_000)
        settle(page)
        assert page.get_by_text("The form has changed").count() == 0
        both = [parse_qs(urlsplit(url).query)["result"][0] for url in (explain_again, page.url)]
        visit(page, f"{address}/your_prompt?result={both[0]}&result={both[1]}")
        page.locator(".lead").nth(1).wait_for()
        assert len(set(page.locator(".reading h1").all_inner_texts())) == 2


def test_documents_that_agree_are_explained(address, page):
    visit(page, f"{address}/your_prompt")
    for number in (1, 2):
        page.locator(f".st-key-own_text_{number} textarea").fill(
            f"According to source {number}: The capital of Kenya is Lisbon."
        )
        page.locator(f".st-key-own_answer_{number} input").fill("Lisbon")
    page.keyboard.press("Tab")
    settle(page)
    explain(page)
    page.get_by_text("Documents 1 and 2 agree on Lisbon").wait_for()


def test_tokens_are_counted_while_one_types(address, page):
    visit(page, address)
    open_form(page)
    form = page.locator("[data-testid=stSidebar]")
    text = form.locator(".st-key-own_text_1 textarea")
    before = form.get_by_text("of the 512 that").inner_text()
    text.press_sequentially(" And some more words.", delay=20)
    form.get_by_text("of the 512 that").filter(has_not_text=before.split(" ")[0]).wait_for()
    assert text.evaluate("field => field === document.activeElement")
    text.fill("Lisbon " * 600)
    form.get_by_text("reads at most 512. Shorten a document.").wait_for()


def test_what_is_chosen_in_the_sidebar_stays_on_other_pages_and_is_what_is_explained(address, page):
    with somebody_else(page) as page:
        visit(page, address)
        open_form(page)
        form = page.locator("[data-testid=stSidebar]")
        form.get_by_text("Options").click()
        for title in ("MechLight", "Integrated gradients", "Attention"):
            form.get_by_label(f"Remove {title}").click()
            settle(page)
        form.get_by_text("document 1's answer", exact=True).click()
        settle(page)
        page.locator(".st-key-navigation").get_by_role("link", name="Instances", exact=True).click()
        page.wait_for_url("**/instances**")
        settle(page)
        assert "Feature ablation" in form.locator(".st-key-own_explainers").inner_text()
        assert "MechLight" not in form.locator(".st-key-own_explainers").inner_text()
        explain(page)
        assert page.locator(".rank").count() == 1
        assert page.get_by_text("Explained: document 1's answer").count() == 1


def test_an_empty_question_is_said_in_the_sidebar_and_the_page_stays(address, page):
    visit(page, address)
    open_form(page)
    page.locator(".st-key-own_question input").fill("")
    page.keyboard.press("Tab")
    page.get_by_text("The question is empty; ask the model something.").wait_for()
    assert page.get_by_text("Something went wrong").count() == 0
    assert page.locator("h1").inner_text().startswith("Which highlight")


def test_a_worker_killed_in_mid_request_costs_that_request_only(address, page):
    from playwright.sync_api import TimeoutError as TooLate

    with somebody_else(page) as page:
        visit(page, f"{address}/your_prompt")

        def kill():
            for process in workers_of(address):
                os.kill(process, signal.SIGKILL)

        loading = page.get_by_text(": loading the model …")
        for _ in range(3):  # on a busy machine it may have loaded between two drawings of the page
            kill()
            page.get_by_role("button", name="Explain", exact=True).click()
            # One that ends before it has heard of the request is replaced: only what it says shows that it has.
            with suppress(TooLate):
                loading.wait_for(timeout=20_000)
                break
        assert loading.count() == 1
        kill()  # while it is loading libraries
        page.get_by_text("The worker process ended before it answered").wait_for(timeout=60_000)
        explain(page)


def test_a_request_can_be_cancelled(address, page):
    with somebody_else(page) as page:
        visit(page, f"{address}/your_prompt")
        page.locator(".st-key-own_text_1 textarea").fill("The capital of Kenya is Lisbon. " + "Some more words. " * 60)
        page.keyboard.press("Tab")
        settle(page)
        # So that there is something to wait for.
        for process in workers_of(address):
            os.kill(process, signal.SIGKILL)
        page.get_by_role("button", name="Explain", exact=True).click()
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_text("Cancelled.").wait_for(timeout=30_000)
        assert page.get_by_role("button", name="Explain", exact=True).is_enabled()


def test_a_chat_template_is_chosen_in_the_sidebar_and_shown_faint(page, few_cells, tmp_path):
    folder = shutil.copytree(DEMO_MODELS / "demo-qwen2", tmp_path / "chatty")
    (folder / "chat_template.jinja").write_text(JINJA)
    with explorer(HEVAL_STORE=str(few_cells), HEVAL_MODELS=str(folder)) as url, somebody_else(page) as page:
        visit(page, f"{url}/your_prompt")
        page.get_by_text("its own layout", exact=True).wait_for()
        assert page.get_by_text("chat template", exact=True).count() == 0  # the first model has none
        page.locator(".st-key-own_model input").first.click()
        page.get_by_role("option", name="chatty", exact=True).click()
        page.get_by_text("chat template", exact=True).click()
        settle(page)
        explain(page)
        page.locator(".layout > summary").first.click()
        assert "".join(page.locator(".t.unranked").all_inner_texts()) == "User:⏎Assistant:"
        assert page.locator(".faint-key").inner_text() == "Grey: the prompt’s layout, never ranked."
        assert page.get_by_text("Asked through the chat template.").count() == 1
