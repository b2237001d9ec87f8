"""A prompt of one's own in a real browser: form, an answer as it grows, selection, link, files, and what goes wrong."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from heval_core.explaining.word_origins import verdict
from heval_core.figures.answer import SENTENCE, answer_page
from heval_core.prompting.units import Matrix, Unit
from heval_core.records import Span
from heval_core.ui import own_prompts
from tests.conftest import ARCHITECTURES
from tests.e2e.browser import IN_A_BROWSER, heard_alone, open_form, reload, save, settle, somebody_else, visit
from tests.e2e.own_form import KENYA, ask, choose, explain
from tests.pages.whole_answers import made_up, matrix, sentence, word

pytestmark = IN_A_BROWSER


@pytest.fixture
def asked(filled):
    """An answer of two sentences to two documents, given word for word, on its page."""
    choose(filled, "demo-qwen2 ")
    filled.get_by_text("Options: up to").click()
    filled.locator(".st-key-own_answer textarea").fill("Lisbon is the capital of Kenya. The village has a market.")
    filled.keyboard.press("Tab")
    settle(filled)
    explain(filled)
    return filled


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_explain_leads_from_any_page_to_the_answer_of_each_demo_model(address, page, architecture):
    visit(page, f"{address}/about")
    open_form(page)
    choose(page, f"demo-{architecture} ")
    ask(page, *KENYA)
    explain(page)
    assert "/your_prompt" in page.url
    assert page.locator(".methods button").count() == 8
    assert page.locator(".word.waits").count() == 0
    assert "nats" in page.locator(".matrix table").inner_html()


def test_words_are_chosen_by_mouse_and_keyboard_without_the_server(asked):
    page, word, read = asked, asked.locator(".word").first, asked.locator(".read")
    word.hover()
    assert read.locator("b").first.inner_text() == f"“{word.inner_text()}”"
    word.click()
    page.wait_for_url("**words=0-**")
    page.locator(".methods button").nth(1).hover()
    assert read.locator("b").first.inner_text() == f"“{word.inner_text()}”"  # it is pinned
    page.locator(".word").nth(3).click()
    page.wait_for_function("() => !location.search.includes('words=0-')")
    settle(page)
    page.go_back()
    read.get_by_text(f"“{word.inner_text()}”").wait_for()
    page.locator(".methods button").nth(1).hover()
    page.keyboard.press("Escape")
    assert "Click a word" in read.inner_text()
    word.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".word.chosen, .sentence.chosen .word").count() >= 2
    press = 'answer.querySelector(".word").dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));'
    units = 'for (const unit of [1, 0]) answer.querySelectorAll(".units button")[unit].click();'
    page.locator(".answer").evaluate(f"answer => {{ {press} {units} {press} }}")  # words are drawn again between two clicks
    assert "Sentence 1" in read.inner_text()
    assert page.locator(".document .first").count() == 1
    assert page.locator(".checks span").count() >= 3
    page.keyboard.press("2")
    assert page.locator(".methods button").nth(1).get_attribute("aria-pressed") == "true"
    assert "Sentence 1" in read.inner_text()  # the selection stays


def test_an_example_is_read_by_drag_shift_arrows_citation_and_matrix_and_its_span_is_checked(address, page):
    visit(page, f"{address}/your_prompt?result=4-wrong-citation")
    assert page.locator(".cite.wrong").all_inner_texts() == ["[2] not needed", "[1] not needed"]
    visit(page, f"{address}/your_prompt?result=3-memory&words=5-6")
    assert page.locator(".word.nowhere").all_inner_texts() == ["Madrid", "Tokyo"]
    assert page.locator(".cite.wrong").all_inner_texts() == ["Madrid: in no document", "Tokyo: in no document"]
    assert "1 of 4 numbers and names stand in your documents" in page.locator(".stands").inner_text()
    assert "the model would say this without your documents" in page.locator(".read").inner_text()
    visit(page, f"{address}/your_prompt?result=1-copied&words=900-901")  # which it does not have
    assert "Click a word" in page.locator(".read").inner_text()
    visit(page, f"{address}/your_prompt?result=1-copied")
    assert page.locator(".cite.wrong").count() == 0
    words, chosen, read = page.locator(".word"), page.locator(".word.chosen, .sentence.chosen .word"), page.locator(".read b")
    words.nth(1).hover()
    page.mouse.down()
    words.nth(3).hover()
    page.mouse.up()
    assert chosen.count() == 3
    words.nth(4).click(modifiers=["Shift"])
    assert chosen.count() == 4
    titles = " ".join(check.get_attribute("title") for check in page.locator(".checks span").all())
    assert all(number in titles for number in numbers_of_the_check("1-copied", words.nth(1), words.nth(4)))
    words.nth(2).focus()
    for key in ("Enter", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert words.nth(1).get_attribute("aria-pressed") == "true"
    assert chosen.count() == 1
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    assert read.first.inner_text() == "Sentence 1"
    assert "5 of 10 words rest on document 1, " in page.locator(".read").inner_text()
    page.keyboard.press("Escape")
    page.locator(".cite").first.click()
    assert read.first.inner_text() == "Sentence 1"
    page.locator(".matrix button").last.click()
    assert read.first.inner_text() == f"Sentence {page.locator('.sentence').count()}"


def numbers_of_the_check(name, first, last):
    """What `sources.verdict` says of a span without the sentence that it loses most without: nats, shares of tokens."""
    left = own_prompts.find(name).result.generated.matrix[SENTENCE]
    columns = Span(int(first.get_attribute("data-start")), int(last.get_attribute("data-end")))
    units = tuple(Unit(unit.start, unit.end, f"document {unit.document}") for unit in left.units)
    matrix = Matrix("sentence", units, np.array(left.values), changed=np.array(left.changed, dtype=bool))
    best = int(matrix.values[:, columns.start : columns.end].sum(1).argmax())
    stands = verdict([best], columns, matrix, units)["stands"]
    return [f"{stands['nats']:.1f} nats", *(f"{100 * stands[part]:.0f} %" for part in ("changed", "others_changed"))]


def test_an_explainer_that_waited_is_computed_at_a_click_and_the_selection_stays(asked):
    page = asked
    page.locator(".word").first.dblclick(delay=600)  # as two clicks arrive on a busy machine
    waits = page.locator(".methods button[data-key=contextcite]")
    waits.get_by_text("click: about ").wait_for()  # it says "waits" while others are computed
    waits.click()
    waits.locator("em").wait_for()
    assert "Sentence 1" in page.locator(".read").inner_text()
    # One that scored sentences is asked about a word alone.
    page.locator(".methods button[data-key=attnlrp]").click()
    page.locator(".word").nth(2).click()
    page.get_by_role("button", name="Explain this word").click()
    page.locator(".read").get_by_text("scored whole sentences").first.wait_for(state="detached")
    assert page.locator(".word").nth(2).get_attribute("aria-pressed") == "true"


def test_an_answer_survives_a_reload_and_its_link_shows_the_same_words_to_somebody_else(address, asked):
    page = asked
    page.locator(".word").nth(1).click()
    page.wait_for_url("**words=**")
    told = page.locator(".read").inner_text()
    reload(page)
    page.wait_for_selector(".word")
    assert page.locator(".read").inner_text() == told
    page.get_by_role("button", name="Link").last.click()
    link = page.get_by_label("Link to this view").input_value()
    page.keyboard.press("Escape")
    assert {"result", "asked", "words"} <= set(parse_qs(urlsplit(link).query))
    with somebody_else(page) as other:
        visit(other, link)
        other.wait_for_selector(".word")
        assert other.locator(".read").inner_text() == told
        # Where the answer is gone the link still holds the question.
        visit(other, link.replace("result=", "gone="))
        other.get_by_text("This link asks").wait_for()
        assert "Kenya" in other.locator(".st-key-own_text_1 textarea").input_value()


def test_an_old_answer_is_marked_and_one_without_a_document_stands_beside_it(asked):
    page = asked
    assert page.locator(".try button").count() == 0  # of an answer that the model did not write there is no other one
    page.locator(".st-key-own_answer textarea").fill("")
    page.keyboard.press("Tab")
    settle(page)
    explain(page)
    page.locator(".try button").first.click()
    page.locator(".without .pair p").last.get_by_text("", exact=False).first.wait_for()
    page.get_by_text("Without document 1").wait_for()
    settle(page)
    page.locator(".without").get_by_role("button", name="back").click()
    page.locator(".without").wait_for(state="detached")
    # A sentence of a document is changed in place; a hover meanwhile takes nothing away.
    page.locator(".line .text").first.click()
    page.get_by_label("Sentence 1 of document 1").fill("According to a world atlas: The capital of Kenya is Oslo.")
    page.locator(".word").first.hover()
    page.locator(".methods button[data-key=cdla]").focus()
    page.keyboard.press("Enter")
    settle(page)
    assert page.evaluate("() => document.activeElement.shadowRoot.activeElement.dataset.key") == "cdla"
    page.get_by_role("button", name="Try it changed").click()
    page.get_by_text("With another sentence 1 of document 1").wait_for()
    page.locator(".without mark").first.wait_for()
    settle(page)
    page.locator(".without").get_by_role("button", name="back").click()
    page.locator(".without").wait_for(state="detached")
    page.get_by_role("button", name="Another question").click()
    page.get_by_label("The question").fill("What does the village have?")
    page.get_by_role("button", name="Try it changed").click()
    page.get_by_text("With another question").wait_for()
    page.locator(".without .pair p").last.get_by_text("", exact=False).first.wait_for()
    settle(page)
    assert "without=question" in page.url
    page.locator(".without").get_by_role("button", name="back").click()
    page.locator(".without").wait_for(state="detached")
    ask(page, *KENYA, question="What is the capital of Peru?")
    page.get_by_text("This is still the old answer").wait_for()


def test_the_saved_file_works_by_itself_and_asks_nobody(asked, tmp_path):
    page = asked
    page.locator(".word").nth(1).click()
    page.wait_for_url("**words=**")
    told = page.locator(".read").inner_text()
    settle(page)
    page.get_by_role("button", name="Save").last.click()
    file = save(page, "One HTML file", tmp_path)
    with page.expect_download() as picture:
        page.get_by_role("button", name="A picture (PNG)").click()
    picture.value.save_as(drawn := tmp_path / picture.value.suggested_filename)
    assert (drawn.suffix, drawn.read_bytes()[:8], drawn.stat().st_size > 10_000) == (".png", b"\x89PNG\r\n\x1a\n", True)
    with somebody_else(page) as other:
        wrong = heard_alone(other, file)
        assert told.startswith(other.locator(".read b").first.inner_text())  # with the selection that was on screen
        other.locator(".word").first.click()
        assert any(said in other.locator(".read").inner_text() for said in ("rests on", "documents"))
        assert not wrong


@pytest.mark.parametrize(
    ("screen", "looked_at"), [("sentences:1", [[0, 1], [1, 2], [2, 3], [3, 4], [4, 8]]), ("cgim:1", [[5, 6]])]
)
def test_sentences_whose_tokens_a_screen_did_not_look_at_are_marked(page, tmp_path, screen, looked_at):
    kept, key = made_up(), f"fa(screen={screen})"
    units = [{"start": start, "end": end, "document": 1, "text": ""} for start, end in looked_at]
    more = {key: matrix("token", [[1.0] * 4] * len(units)) | {"units": units}}
    result = made_up(matrix=kept.result.generated.matrix | more).result
    (file := tmp_path / "answer.html").write_text(answer_page(result, "Where?"), encoding="utf-8")
    with somebody_else(page) as page:
        page.goto(f"file://{file}")
        page.locator(".word").first.click()
        page.locator(f'.methods button[data-key="{key}"]').click()
        marked = [text.evaluate("text => text.classList.contains('together')") for text in page.locator(".line .text").all()]
        assert marked == ([False, True] if screen == "sentences:1" else [True, True])


def test_a_sentence_in_two_documents_is_the_source_in_both_and_what_comes_from_neither_fades(page, tmp_path):
    tokens, sources = [" Ice", " is", " cold", " in", " all", " seas", "."] * 2, ["document 1"] * 5 + ["memory", "unclear"]
    words = [word(n, own, sources[n], 1.0) for n, own in enumerate([*tokens[:6], " [2]"])]
    units = [{"start": start, "end": start + 7, "document": 1 + start // 7, "text": ""} for start in (0, 7)]
    values = [[1, 1, 1, 0.2, 1, 1, 0], [0.5] * 3 + [0] * 4]
    whole = matrix("sentence", values) | {"units": units, "changed": [[0] * 7, [0] * 7]}
    left_out = {SENTENCE: whole, "fa": whole, "attn": whole | {"values": values[::-1]}}
    said = sentence(0, "".join(one["text"] for one in words), 1, 5.0, [5.0, 0.2]) | {"end": 7}
    texts = [own["text"] for own in words]
    prompt, answer = {"tokens": tokens, "documents": units}, {"tokens": texts, "words": words, "sentences": [said]}
    result = made_up(prompt=prompt, **answer, matrix=left_out, probabilities=[1.0] * 7).result
    page_text = answer_page(result, "Where?")
    (file := tmp_path / "answer.html").write_text(page_text, encoding="utf-8")
    with somebody_else(page) as page:
        page.goto(f"file://{file}")
        page.locator(".word").first.dblclick()
        page.locator('.methods button[data-key="fa"]').click()
        assert "document 1, sentence 1: 5.2 nats in all, its words left out one by one." in page.locator(".read").inner_text()
        page.locator('.methods button[data-key="attn"]').click()  # its first choice is 2.1
        wrong, right = (own.get_attribute("title") for own in page.locator(".wrong, .checks .yes").all()[:2])
        assert "but the model does not need it: the sentence loses .2 nats without it" in wrong
        assert "document 1, sentence 1 and document 2, sentence 1" in right
        page.keyboard.press("1")
        page.locator(".line .text").first.click()
        assert page.locator(".word.faded").all_inner_texts() == ["in", "seas", "[2]"]


def test_lists_code_and_tables_are_drawn_as_such(page, tmp_path):
    lines = [
        "| city | people |\n|---|---|\n",
        "| Oslo | 700,000 |\n\n",
        "```\n",
        "def f(x):\n",
        "    return  x\n",
        "```\n",
        "- one",
    ]
    units = [{"start": 0, "end": len(lines), "document": 1, "text": ""}]
    words = [word(n, text, "memory", 0.1) for n, text in enumerate(["So:", "\n\n```", "\n  x", "  =", " 1", "\n```"])]
    answer = {
        "tokens": [one["text"] for one in words],
        "words": words,
        "sentences": [],
        "probabilities": [1.0] * 6,
        "matrix": {},
    }
    result = made_up(prompt={"tokens": lines, "documents": units}, **answer).result
    (file := tmp_path / "answer.html").write_text(answer_page(result, "Where?"), encoding="utf-8")
    with somebody_else(page) as page:
        page.goto(f"file://{file}")
        rows = page.locator(".line.row .cells")
        cells = [[cell.strip() for cell in row.locator("span:visible").all_inner_texts()] for row in rows.all()]
        assert cells == [["city", "people"], ["Oslo", "700,000"]]
        left = [[cell.bounding_box()["x"] for cell in row.locator("span:visible").all()] for row in rows.all()]
        assert left[0] == left[1]  # in columns
        assert rows.first.evaluate("row => row.classList.contains('ruled')")
        code = page.locator(".line.code .text").filter(has_text="return")
        assert code.inner_text() == "return  x\n```"  # signs belong to what is before
        assert code.evaluate("text => getComputedStyle(text).marginInlineStart !== '0px'")
        assert page.locator(".line.item").inner_text().startswith("- one")
        assert page.locator(".said").evaluate("said => said.textContent.trim()") == "So:```  x  = 1```"
        assert "mono" in page.locator(".word.code").first.evaluate("word => getComputedStyle(word).fontFamily")


def test_tokens_are_counted_while_one_types(address, page):
    visit(page, f"{address}/your_prompt")
    choose(page, "demo-gpt2 ")
    form = page.locator("[data-testid=stSidebar]")
    form.locator(".st-key-own_question textarea").fill("Where?")
    text = form.locator(".st-key-own_text_1 textarea")
    text.fill("Kenya.")
    before = form.get_by_text("of 512 tokens").inner_text()
    text.press_sequentially(" And some more words.", delay=20)
    form.get_by_text("of 512 tokens").filter(has_not_text=before).wait_for()
    assert text.evaluate("field => field === document.activeElement")
    text.fill("Lisbon " * 600)
    form.get_by_text("reads 512. Shorten a document.").first.wait_for()
    assert page.get_by_role("button", name="Explain", exact=True).is_disabled()


def test_paragraphs_are_drawn_and_their_breaks_belong_to_no_word_and_stand_behind_citations(page, tmp_path):
    tokens = [" Yes", ".", "\n\n", "Ice", " is", "\n", "cold", "."]
    words = [word(n, text, "document 1", 1.0) for n, text in enumerate(tokens) if text.strip()]
    said = [
        sentence(0, " Yes.\n\n", 1, 5.0, [5.0, 0.2]) | {"end": 3},
        sentence(3, "Ice is\ncold.", 1, 5.0, [5.0, 0.2]) | {"end": 8},
    ]
    left_out = matrix("sentence", [[1.0, 1, 4, 1, 1, 1, 1, 1], [0.0] * 8]) | {"changed": [[0] * 8] * 2}
    result = made_up(
        words=words, tokens=tokens, sentences=said, matrix={SENTENCE: left_out}, refused={}, probabilities=[1.0] * 8
    ).result
    (file := tmp_path / "answer.html").write_text(answer_page(result, "Where?"), encoding="utf-8")
    with somebody_else(page) as page:
        page.goto(f"file://{file}")
        assert page.locator(".said").inner_text().split() == ["Yes.[1]", "5.0", "Ice", "is", "cold.[1]", "5.0"]
        tops = [own.bounding_box()["y"] for own in page.locator(".said .word").all()]
        assert tops[0] == tops[1] < tops[2] - 38 - 10  # a paragraph
        assert tops[2] == tops[3] < tops[4] == tops[5] < tops[3] + 45  # a line
        assert page.locator(".cite").first.bounding_box()["y"] < tops[2] - 38
        page.locator(".said .word").first.hover()
        page.mouse.down()
        page.locator(".said .word").nth(1).hover()
        page.mouse.up()
        assert "Sentence 1" in page.locator(".read").inner_text()
        assert "6.0 nats" in page.locator(".read").inner_text()  # with its white space
        page.locator(".said .word").nth(1).click()
        assert "1.0 nats" in page.locator(".read").inner_text()
