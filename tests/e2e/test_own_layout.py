"""Your prompt with ten documents, in other scripts, with named answers, and two answers side by side."""

from dataclasses import replace

import pytest

from heval_core.ui import own_prompts
from tests.e2e.browser import IN_A_BROWSER, settle, somebody_else, visit
from tests.e2e.own_form import explain
from tests.pages.whole_answers import ASKED

pytestmark = IN_A_BROWSER
PLACES = ("Kenya", "Peru", "Chile", "Ghana", "Nepal", "Oman", "Qatar", "Samoa", "Togo", "Yemen")
TEN = replace(
    ASKED, model="demo-qwen2", documents=tuple(f"The lake of {place} is wide." for place in PLACES), question="Which lakes?",
    explainers=("attn",), answer="The lake of Kenya is wide. The lake of Yemen is wide.",
)  # fmt: skip


@pytest.fixture
def linked(address, page):
    """A function: opens the link of a prompt for somebody else, and explains it."""
    with somebody_else(page) as page:

        def ask(prompt, **how):
            visit(page, f"{address}/your_prompt?asked={own_prompts.packed(prompt)}")
            explain(page, **how)
            return page

        yield ask


def test_ten_documents_fit_every_width(linked):
    page = linked(replace(TEN, answer=None))
    for width in (900, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        cells = page.locator(".matrix tr").nth(1).locator("td").all()
        boxes = [cell.bounding_box() for cell in cells]
        assert len(boxes) == 11
        assert all(left["x"] + left["width"] <= right["x"] + 1 for left, right in zip(boxes[1:], boxes[2:], strict=False))
        assert all(box["width"] >= 40 for box in boxes)  # six fit, then it scrolls
    units = page.locator(".try .units button").all()
    assert len({round(unit.bounding_box()["y"]) for unit in units}) == 2
    numbered = page.locator(".word.d0")
    if numbered.count():
        assert numbered.first.get_attribute("data-number") in {"7", "8", "9", "10"}
    assert "7 to 10, with their number" in page.locator(".legend").inner_text()


SCRIPTS = {
    "chinese": ("湖水很深。湖在北方。", "湖在哪里？", "湖在北方。湖水很深。", "ltr"),
    "arabic": ("البحيرة عميقة. البحيرة في الشمال.", "أين البحيرة؟", "البحيرة في الشمال. البحيرة عميقة.", "rtl"),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_words_and_sentences_of_other_scripts_can_be_clicked_and_run_their_way(linked, script):
    text, question, answer, direction = SCRIPTS[script]
    page = linked(replace(TEN, documents=(text,), question=question, answer=answer))
    assert page.locator(".said .word").count() > 4
    assert page.locator(".said .sentence").count() == 2
    assert page.locator(".document .line").count() == 2
    for part in (".said", ".document .text"):
        assert page.locator(part).first.evaluate("one => getComputedStyle(one).direction") == direction
    page.locator(".said .word").nth(1).click()
    page.wait_for_url("**words=**")
    assert page.locator(".read b").first.inner_text() == f"“{page.locator('.said .word').nth(1).inner_text()}”"
    page.locator(".document .text").first.click()
    assert page.locator(".edit textarea").count() == 0  # of an answer that was given nothing is written again
    assert page.locator(".st-key-own_text_1 textarea").evaluate("one => getComputedStyle(one).unicodeBidi") == "plaintext"


def test_two_kept_answers_stand_side_by_side_and_one_that_is_removed_comes_back(linked):
    first = linked(replace(TEN, documents=TEN.documents[:2], answer="The lake of Kenya is wide."))
    page = linked(replace(TEN, documents=TEN.documents[:2], answer="The lake of Peru is wide."))
    assert page is first
    page.get_by_role("button", name="Kept").last.click()
    kept = page.locator(".kept .line")
    page.get_by_role("searchbox").fill("lake of Kenya")
    assert kept.filter(visible=True).count() == 1
    kept.filter(visible=True).get_by_role("button", name="remove").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").wait_for(state="detached")
    kept.filter(has_text="lake of Kenya").get_by_role("button", name="compare").first.click()
    page.wait_for_url("**beside=**")
    page.keyboard.press("Escape")
    page.get_by_text("in both").first.wait_for()
    settle(page)
    assert page.locator(".word.only").all_inner_texts() == ["Peru", "Kenya"]
    page.locator(".st-key-own_beside_close button").click()
    page.locator(".methods").first.wait_for()


def test_named_answers_open_on_the_surface_of_instances_with_ranks_and_heads(linked):
    documents = (
        "According to a world atlas: The capital of Kenya is Lisbon.",
        "The capital of Kenya is Nairobi, says a blog.",
    )
    word = {"mode": "word", "answers": ("Lisbon", "Nairobi"), "explainers": ("mechlight", "attn"), "answer": None}
    asked = replace(TEN, documents=documents, question="What is the capital of Kenya?", template="auto", **word)
    page = linked(asked, at=".t")
    assert "The model answers Lisbon, from document 1." in page.get_by_text("The model answers").first.inner_text()
    assert page.get_by_text("Rank of Lisbon").count() == 1
    page.locator(".square[data-name=L0H0]").click()
    page.wait_for_url("**pick=L0H0**")
    page.get_by_text("instead of").first.wait_for()
    page.get_by_text("does the answer need it?").click()
    page.get_by_text("all other heads kept as they were").first.wait_for()
