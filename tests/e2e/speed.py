"""`python -m tests.e2e.speed --store FOLDER`: how fast the explorer is on a large synthetic store, with a real browser.

180,000 instances of 150 tokens (5 models × 3 datasets × 6 regimes × 2,000), four explainers each: 720,000 attributions.
The store is built once and kept. Server times are those of the script run behind each view; no test, nothing here asserts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from heval_core.evaluation.publishing import publish
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.e2e.browser import explorer, page_of, settle, visit
from tests.planted import plant, used_document


def build(folder: Path) -> None:
    """The store: shards of 2,000 instances, then published."""

    def tell(text: str) -> None:
        print(text, flush=True)

    plant(folder, _drawn, models=5, datasets=3, count=2000, lengths=(130, 170), progress=tell)
    publish(folder, tell=lambda told: tell(f"{told.phase} {told.part}"))


def _drawn(instance: dict[str, Any], explainer: str, rng: np.random.Generator) -> np.ndarray:
    """Noise, and something on the used document's answer."""
    scores = rng.standard_normal(len(instance["tokens"])).astype(np.float32)
    if explainer in ("attn", "mechlight"):
        scores = np.exp(scores) / np.exp(scores).sum()
    used = used_document(instance)
    if used is not None:
        scores[instance["answer_tokens"][used]] += np.abs(scores).max() * rng.random()
    return scores


VIEWS = {
    "one instance": "instances?instance={instance}",
    "next instance": "instances?instance={other}",
    "instance with its list": "instances?instance={instance}&list=open&sort=1/rank+of+fa",
    "context or memory": "leaderboard?tab=regime&question=memory",
    "which document": "leaderboard?tab=regime&question=document",
    "which token": "leaderboard?tab=regime",
    "faithfulness": "leaderboard?tab=faithful",
    "failures": "leaderboard?tab=failures",
    "leaderboard": "leaderboard",
    "report": "about",
    "data": "about?tab=data",
    "methods": "about?tab=methods",
    "overview": "",
    "live slice of one cell": "leaderboard?tab=regime&model=made-up-1&dataset=data-1&regime=mixed&relation=relation+3",
    "live slice of a model and dataset": "leaderboard?tab=regime&model=made-up-1&dataset=data-1&relation=relation+3",
    "length curve of one cell": "leaderboard?tab=prompts&along=tokens&model=made-up-1&dataset=data-1&regime=mixed",
    "comparison of one cell": "leaderboard?tab=against&model=made-up-1&dataset=data-1&regime=mixed",
}


def measure(folder: Path) -> None:
    reader = Reader(current_file(folder))
    ids = reader.instance_ids(Filter(model=(str(reader.models()["model"].iloc[0]),), regime=("mixed",)))
    with tempfile.NamedTemporaryFile() as timing, page_of() as page:
        started = time.perf_counter()
        with explorer(HEVAL_STORE=str(folder), HEVAL_TIMING=timing.name) as url:
            page.goto(url)
            page.wait_for_selector("h1")
            print(f"first page after start: its title after {time.perf_counter() - started:.1f} s")
            page.locator(".o-dot").first.wait_for()
            print(f"first page after start: all its figures after {time.perf_counter() - started:.1f} s")
            settle(page)
            page.wait_for_timeout(20_000)  # what is computed ahead
            for time_of in ("first", "second"):
                for name, seconds in _clicks(page, url).items():
                    print(f"{name}, {time_of} time: {seconds:.2f} s from click to still", flush=True)
            if "made-up-1" not in set(reader.models()["model"]):
                print(f"memory of the browsing process: {_memory():.0f} MB")
                return
            for name, path in VIEWS.items():
                before = _times(timing.name)
                began = time.perf_counter()
                visit(page, f"{url}/{path.format(instance=ids[0], other=ids[1])}")
                seconds = time.perf_counter() - began
                runs = _times(timing.name)[len(before) :]
                print(f"{name}: {sum(runs):.2f} s on the server, {seconds:.1f} s until the browser is still", flush=True)
            print(f"memory of the browsing process: {_memory():.0f} MB")
            _four(page, url, timing.name, ids)
            print(f"memory after four browsers: {_memory():.0f} MB")


QUIET = 0.12  # seconds without a script running, after which a page is taken to be still
STILL = """quiet => new Promise(done => {
  let since = performance.now();
  const look = () => {
    const running = document.querySelector('[data-testid=stApp]').dataset.testScriptState !== 'notRunning';
    if (running) since = performance.now();
    if (performance.now() - since > 1000 * quiet) done(); else requestAnimationFrame(look);
  };
  look();
})"""


def _clicks(page: Any, url: str) -> dict[str, float]:
    """Seconds from a click in the navigation, a tab or a key until nothing runs any more."""
    visit(page, url)
    taken: dict[str, float] = {}

    def timed(name: str, act: Callable[[], Any], there: str) -> None:
        began = time.perf_counter()
        act()
        page.locator(there).first.wait_for()
        page.evaluate(STILL, QUIET)
        taken[name] = time.perf_counter() - began - QUIET
        page.wait_for_timeout(400)

    bar = page.locator(".st-key-navigation")
    pages = {
        "Accuracy": ".st-key-figure .mark",
        "Instances": ".t",
        "Report": ".finding",
        "Data and methods": ".js-plotly-plot",
    }
    for name, there in pages.items():
        timed(name, bar.get_by_role("link", name=name, exact=True).click, there)
    timed("Overview", bar.get_by_role("link", name="Overview", exact=True).click, ".o-dot")
    bar.get_by_role("link", name="Accuracy", exact=True).click()
    page.locator(".st-key-figure .mark").first.wait_for()
    for tab in ("Context or memory?", "Which document?", "Is it faithful?", "Failures", "Compare two", "Length and position"):
        one = page.locator(".st-key-tab").get_by_text(tab, exact=True)
        timed(tab, one.click, "[data-testid=stMain] :is(.mark, .js-plotly-plot)")
    visit(page, f"{url}/instances")
    page.locator(".t").first.wait_for()
    for number in range(1, 4):
        timed(f"next instance ({number})", lambda: page.keyboard.press("]"), ".t")
    return taken


def _four(first: Any, url: str, timing: str, ids: list[str]) -> None:
    """The same instance views from one browser, and from four people's at once."""
    pages = [first.context.browser.new_context().new_page() for _ in range(4)]
    for count in (1, 4):
        before = _times(timing, sidebar=False)
        for step in range(5):
            for number, page in enumerate(pages[:count]):
                page.goto(f"{url}/instances?instance={ids[10 * number + step]}", wait_until="commit")
            for page in pages[:count]:
                settle(page)
        runs = _times(timing, sidebar=False)[len(before) :]
        print(f"{count} browsers at once: {statistics.median(runs):.2f} s a view on the server (median of {len(runs)})")


def _times(file: str, sidebar: bool = True) -> list[float]:
    """Seconds of every script run so far; the sidebar, which is timed by itself, with them or not."""
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    return [line["seconds"] for line in lines if sidebar or line["page"] != "sidebar"]


def _memory() -> float:
    """Resident megabytes of the Streamlit server started here."""
    found = subprocess.run(["pgrep", "-f", "streamlit run app.py"], capture_output=True, text=True).stdout.split()
    sizes = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in found if Path(f"/proc/{pid}").exists()]
    return max(sizes) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args()
    if current_file(options.store) is None:
        began = time.perf_counter()
        build(options.store)
        print(f"built in {time.perf_counter() - began:.0f} s")
    measure(options.store)


if __name__ == "__main__":
    main()
