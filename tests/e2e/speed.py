"""`python -m tests.e2e.speed --store FOLDER`: seconds from a click to a page that is still, in a browser.

On published results. Nothing here asserts: figures are for `docs/benchmarks.md`, from a machine that does nothing else."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.browser import explorer, page_of, settle, visit

QUIET = 0.25  # how long `settle` sees nothing move
FIGURE = "[data-testid=stMain] :is(.mark, .js-plotly-plot)"
PAGES = {"Instances": ".t", "Leaderboard": FIGURE, "Techniques": FIGURE, "Citations": "h1", "About": "h1", "Overview": FIGURE}
TABS = ("By regime", "Decoys and length", "Faithful?", "Failures", "One against another")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    with explorer(HEVAL_STORE=str(parser.parse_args().store)) as url, page_of() as page:
        began = time.perf_counter()
        visit(page, url)
        print(f"first page: {time.perf_counter() - began - QUIET:.2f} s")
        for round in ("first", "second"):
            print(f"{round} round")
            measure(page)


if __name__ == "__main__":
    main()
