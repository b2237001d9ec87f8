"""A log of somebody's answers in a browser: dropped, traced as a job that outlives its page, and read row by row."""

import json

from tests.e2e.browser import IN_A_BROWSER, query_of, settle, somebody_else, visit

pytestmark = IN_A_BROWSER

KENYA, PERU = "According to a world atlas: The capital of Kenya is Lisbon.", "The village has a market and two wells."
ROWS = [
    {
        "id": "kenya",
        "question": "What is the capital of Kenya?",
        "contexts": [KENYA, PERU],
        "answer": "Lisbon [1]. It has 7 hills.",
    },
    {"id": "village", "question": "What has the village?", "contexts": [PERU, KENYA], "answer": "A market and two wells."},
    {"id": "nothing", "question": "What has the town?", "contexts": [], "answer": "A mill."},
    {"id": "bad", "question": "", "contexts": [PERU], "answer": "A mill."},
]


def test_a_dropped_log_is_traced_while_nobody_looks_and_its_rows_are_read_kept_and_linked(address, page, tmp_path):
    (log := tmp_path / "answers of ours.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    with somebody_else(page) as page:
        visit(page, f"{address}/your_prompt")
        page.get_by_role("radio", name="Log", exact=True).or_(page.get_by_role("button", name="Log", exact=True)).first.click()
        page.locator("input[type=file]").set_input_files(log)
        page.get_by_text("read as: question = question, passages = contexts (a list of texts), answer = answer").wait_for()
        page.get_by_text("row 4 (answers_of_ours.jsonl:4): it has no question: 'question' is empty").wait_for()
        page.get_by_label("Read by").click()
        page.get_by_role("option", name="demo-qwen2", exact=True).click()
        settle(page)
        page.get_by_label("Written by").fill("our chatbot")
        page.keyboard.press("Tab")
        settle(page)
        page.get_by_text("Quick", exact=True).click()
        settle(page)
        page.get_by_role("button", name="Trace 3 rows").click()
        page.get_by_role("button", name="Stop").or_(page.locator(".log-rows")).first.wait_for()
        assert query_of(page)["log"][0].startswith("answers_of_ours.jsonl-")
        there = page.url
        visit(page, f"{address}/about")  # the page is left
        page.goto(there)
        page.locator(".log-rows").wait_for()
        settle(page)
        page.get_by_text("Read by demo-qwen2, written by our chatbot.").wait_for()
        assert page.locator(".log-rows tbody tr").count() == 3
        assert "it has no passages: not assessed" in page.locator(".log-rows tbody tr").last.inner_text()
        page.get_by_role("link", name="What is the capital of Kenya?").click()
        page.locator(".said .word").first.wait_for()
        page.locator(".word").first.click()
        assert "Lisbon" in page.locator(".read").inner_text()
        settle(page)
        page.get_by_role("button", name="Keep it").click()
        page.wait_for_url("**result=**")
        page.locator(".said .word").first.wait_for()
        visit(page, f"{address}/your_prompt?tab=log")
        page.get_by_role("link", name="answers of ours.jsonl").or_(
            page.get_by_role("link", name="answers_of_ours.jsonl")
        ).wait_for()
