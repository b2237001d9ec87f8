"""`python -m tests.e2e.speed --store FOLDER`: seconds from a click to a page that is still; and the server's memory.

With `--answer` from *Explain* to what is seen of it too. Figures are for `docs/benchmarks.md`, from an idle machine."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from heval_core.explaining.word_origins import neutral_sentences
from heval_core.lm.loading import identify, tokenizer_of
from heval_core.ui.own_prompts import OwnPrompt, packed
from heval_core.ui.prompt_options import usual_dtype
from tests.e2e.browser import explorer, launched, page_of, settle, visit

QUIET = 0.25  # how long `settle` sees nothing move
# A figure; or where a store lacks what it would show, the line that says so.
FIGURE = "[data-testid=stMain] :is(.mark, .js-plotly-plot, [data-testid=stAlert])"
PAGES = {"Instances": ".t", "Leaderboard": FIGURE, "Techniques": FIGURE, "Citations": "h1", "About": "h1", "Overview": FIGURE}
TABS = ("Source", "By regime", "Faithful?", "Failures", "One against another")
# Of *Your prompt*: an answer that is bundled; and models with their layouts, asked about three documents of 200 tokens.
EXAMPLE = "your_prompt?result=1-copied"
MODELS, TOKENS, WRITTEN, PATIENCE = {"smollm2": "chat", "demo-qwen2-long": "auto"}, 200, 40, 300
# Seconds in the page, from a press to the second frame from then on: what the press changed is drawn.
PRESS = """(one) => new Promise((drawn) => {
  const began = performance.now();
  one.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
  one.click();
  requestAnimationFrame(() => requestAnimationFrame(() => drawn((performance.now() - began) / 1000)));
})"""
WORD, OTHER = "button.word", "[aria-pressed=false]"
CHOICES = {"a word": WORD, "another word": WORD + OTHER, "another explainer": f".methods button{OTHER}:has(em)"}
# What shows that a step is done. The page asks for news once a second.
SCORED = '.methods [data-key="document(unit=sentence)"] small:text-matches("[0-9] s$|no document")'
LATER = {"documents": ".matrix table", "sentences": SCORED, "citations": ".said .cite", "all": ".st-key-own_send"}
STEPS = {"first words": f".said {WORD}", **LATER}
# Those of the page, with what waits for a click there.
EXPLAINERS = ("fa", "origin", "attnlrp", "cgim", "contextcite", "cdla", "mechlight")


def measure(page: Any) -> None:
    """Clicks in the navigation and on tabs, and steps from instance to instance."""

    def timed(name: str, act: Callable[[], Any], there: str) -> None:
        began = time.perf_counter()
        act()
        page.locator(f"{there}:visible").first.wait_for()
        settle(page)
        print(f"{name}: {time.perf_counter() - began - QUIET:.2f} s", flush=True)

    bar = page.locator(".st-key-navigation")
    for name, there in PAGES.items():
        timed(name, bar.get_by_role("link", name=name, exact=True).click, there)
    timed("Leaderboard again", bar.get_by_role("link", name="Leaderboard", exact=True).click, FIGURE)
    for tab in TABS:
        timed(tab, page.locator(".st-key-tab").get_by_text(tab, exact=True).click, FIGURE)
    timed("Instances again", bar.get_by_role("link", name="Instances", exact=True).click, ".t")
    timed("next instance", lambda: page.keyboard.press("]"), ".t")


def choose(page: Any, url: str) -> None:
    """A word, another one, and another explainer that is computed already: all by the page's script alone."""
    visit(page, f"{url}/{EXAMPLE}")
    for name, there in CHOICES.items():
        print(f"{name}: {page.locator(there).first.evaluate(PRESS):.3f} s", flush=True)
        settle(page)


def memory(page: Any, url: str) -> None:
    """What the server takes while four tabs are open."""
    tabs = [page, *(page.context.new_page() for _ in TABS[:3])]
    for tab, path in zip(tabs, ("leaderboard", "instances", "techniques", "about"), strict=True):
        visit(tab, f"{url}/{path}")
    port = url.rpartition(":")[2]
    (server,) = (one for one in psutil.process_iter(["cmdline"]) if port in (one.info["cmdline"] or ()))
    print(f"server with four tabs: {server.memory_info().rss / 1e9:.2f} GB")


def answer(page: Any, url: str, name: str) -> None:
    """From a click on *Explain* to what is seen; twice, since the first time the model is loaded."""
    model = identify(name)
    tokenizer = tokenizer_of(model)
    ids = tokenizer(" ".join(neutral_sentences() * 20), add_special_tokens=False).input_ids
    documents = tuple(tokenizer.decode(ids[start : start + TOKENS]) for start in range(0, 3 * TOKENS, TOKENS))
    for round in ("loading the model", "loaded"):  # another question: what is kept would be there at once
        question = "What do the documents tell?" if round == "loaded" else "What do these documents tell?"
        how = {"generate": WRITTEN, "dtype": usual_dtype(model.key)}
        asked = OwnPrompt(model.key, documents, question, EXPLAINERS, MODELS[name], **how)
        visit(page, f"{url}/your_prompt?asked={packed(asked)}")
        page.get_by_role("button", name="Explain", exact=True).click()
        began, seen, words = time.perf_counter(), dict[str, float](), list[str]()
        while STEPS.keys() - seen.keys() and (now := time.perf_counter() - began) < PATIENCE:
            # The form's button is there before, too.
            waits = [step for step in STEPS if step not in seen and (step != "all" or "documents" in seen)]
            seen |= {step: now for step in waits if page.locator(STEPS[step]).count()}
            if (drawn := page.locator(f".said {WORD}").all_inner_texts()) != words:
                words, seen["last word"] = drawn, now
            page.wait_for_timeout(50)  # to look all the time would take a core from the model
        first, last, *later = (seen.get(step, float("nan")) for step in ("first words", "last word", *LATER))
        print(f"{name}, {round}, {len(words)} words: first {first:.2f} s, last {last:.2f} s; behind it", end=" ")
        print(*(f"{step} {seconds - last:.2f} s" for step, seconds in zip(LATER, later, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--answer", nargs="*", choices=MODELS, default=(), help="models that are asked; by default none")
    options = parser.parse_args()
    with explorer(HEVAL_STORE=str(options.store)) as url, launched() as browser, page_of(browser) as page:
        began = time.perf_counter()
        visit(page, url)
        print(f"first page: {time.perf_counter() - began - QUIET:.2f} s")
        for round in ("first", "second"):
            print(f"{round} round")
            measure(page)
            choose(page, url)
        for name in options.answer:
            answer(page, url, name)
        memory(page, url)


if __name__ == "__main__":
    main()
