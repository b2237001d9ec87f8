"""Text that would be markup or a script: from results, in a link, in a prompt of one's own; in a real browser."""

import shutil
from urllib.parse import quote

import duckdb
import pytest

from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.e2e.browser import IN_A_BROWSER, heard, somebody_else, visit
from tests.e2e.test_own_prompt import ask, choose, explain

pytestmark = IN_A_BROWSER

HOSTILE = [
    "</script><script>window.__pwn=1</script>",
    '<iframe srcdoc="<script>parent.__pwn=1</script>">',
    "<img src=x onerror=window.__pwn=1>",
    "![x](https://evil.example/a.png)",
    "<style>.stApp{display:none}</style>",
    "$\\href{javascript:1}{x}$", ":red[x]", "&lt;", "<s>", "</s>", "<|endoftext|>", "\n", "\t", "\u00a0", "\u202e", "\x00",
    "x'); drop table instance;--", '?i=99999999&explainer=zzz&model=evil">',
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_store(small_store, tmp_path_factory):
    """Published results in which every text is hostile: tokens, documents, answers, question, subject."""
    store = shutil.copytree(small_store, tmp_path_factory.mktemp("hostile") / "store")
    path = current_file(store)
    tokens = [HOSTILE[index % len(HOSTILE)] for index in range(40)]
    with duckdb.connect(str(path)) as db:
        db.execute(
            "UPDATE instance SET "
            "tokens = list_transform(range(len(tokens)), lambda i: list_extract(?::VARCHAR[], i % 40 + 1)), "
            "subject = ?, question = ?, predicted_text = ?, memory_answer = ?, "
            "document_answers = list_transform(document_answers, lambda a: ?), "
            "candidate_texts = list_transform(candidate_texts, lambda a: ?) WHERE dropped_because IS NULL",
            [tokens, HOSTILE[0], HOSTILE[2], HOSTILE[1], HOSTILE[4], HOSTILE[2], HOSTILE[3]],
        )
        db.execute("CHECKPOINT")
    return store


@pytest.mark.parametrize("path", [
    "", "instances", "instances?list=open&mode=rows&more=tokens", "leaderboard?tab=failures", "leaderboard?tab=regime",
    "leaderboard", "leaderboard?tab=against", "about?tab=data", "about",
])  # fmt: skip
def test_hostile_text_from_results_is_text_and_nothing_else(page, hostile_store, served, path):
    reader = Reader(current_file(hostile_store))
    url = served(hostile_store)
    with somebody_else(page) as page:
        wrong = heard(page, url)
        visit(page, f"{url}/{path}")
        assert page.evaluate("window.__pwn") is None
        assert page.locator(".stApp").is_visible()
        assert page.locator("[data-testid=stException]").count() == 0
        if path == "instances":
            page.wait_for_selector(".t")
            instance = reader.instance(reader.instance_ids(Filter())[0])
            drawn = page.eval_on_selector_all(".prompt .t", "words => words.map(w => w.textContent)")
            glyphs = {"\n": "⏎", "\t": "⇥", "\x00": "␀", "\u202e": "⟲", "\u00a0": "⍽"}
            assert drawn == ["".join(glyphs.get(c, c) for c in token) for token in instance.tokens]
        reader.close()
        assert not wrong


@pytest.mark.parametrize("first", range(0, len(HOSTILE), 3))
def test_hostile_values_in_a_link_are_named_and_never_run(address, page, first):
    """Three of them at a time for models, and each in one of three other places."""
    three = [quote(value) for value in HOSTILE[first : first + 3]]
    models = "&".join(f"model={value}" for value in three)
    wrong = heard(page, address)
    visit(page, f"{address}/instances?{models}&instance={three[0]}&snapshot={three[1]}&k={three[2]}")
    assert page.evaluate("window.__pwn") is None
    assert page.get_by_text("The link asks for").count() >= 3
    assert page.locator(".stApp").is_visible()
    assert not wrong


def test_hostile_text_in_a_prompt_of_ones_own_is_shown_as_it_is_and_never_runs(address, page):
    wrong = heard(page, address)
    visit(page, f"{address}/your_prompt")
    choose(page, "demo-gpt2 ")
    text = "According to a world atlas: The capital of Kenya is Lisbon. " + " ".join(HOSTILE[:8])
    ask(page, text, question="What is the capital of <img src=x onerror=window.__pwn=1>?")
    explain(page)
    drawn = "".join(page.locator(".answer .document .text").all_text_contents())
    assert "".join(text.split()) in "".join(drawn.split())
    assert page.evaluate("window.__pwn") is None
    assert page.locator(".stApp").is_visible()
    assert not wrong
