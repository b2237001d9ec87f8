"""A Streamlit server on a free port and a real Chromium to look at it with."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

ROOT = Path(__file__).parent.parent.parent
CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> str | None:
    """The system's Chromium, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no Chromium here, and it could not be installed"),
]


# Python reads this first in every process of an explorer. Its workers do not get beyond importing torch, or a step of an
# answer (`now level`), while a file says so.
HOLDS = """
import sys, time
from importlib.machinery import PathFinder
from pathlib import Path
held = Path(__file__).with_name("held")
def wait(at):
    while held.exists() and held.read_text() == at:
        time.sleep(0.02)
def holding(steps):
    def answer_steps(*asked):
        for step, known in steps(*asked):
            yield step, known
            wait(step)
    return answer_steps
class Holds:
    def find_spec(self, name, *rest):
        if name == "torch":
            wait(name)
        if name != "heval_core.explaining.answer_steps":
            return None
        spec = PathFinder.find_spec(name, *rest)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            module.answer_steps = holding(module.answer_steps)
        spec.loader.exec_module = exec_module
        return spec
if "heval_core.prompt_service.child" in sys.orig_argv:
    sys.meta_path.insert(0, Holds())
"""
PATIENCE = 300  # seconds for what takes a few where nobody else is at work
_folders: dict[str, Path] = {}


@contextmanager
def held(address: str, at: str = "torch") -> Iterator[None]:
    """Worker processes of an explorer do not get beyond a step until the block ends: importing torch, or one of an answer."""
    file = _folders[address] / "held"
    file.write_text(at)
    try:
        yield
    finally:
        file.unlink()


@contextmanager
def explorer(**environment: str) -> Iterator[str]:
    """A running explorer; gives its address. Environment: HEVAL_STORE and the like."""
    answers, first = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()
    (Path(first.name) / "sitecustomize.py").write_text(HOLDS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless", "true"],
        cwd=ROOT,
        env={**os.environ, "HEVAL_ANSWERS": answers.name, "HEVAL_TRACES": f"{first.name}/traces", "PYTHONPATH": first.name}
        | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _folders[address := f"http://127.0.0.1:{port}"] = Path(first.name)
        _wait_for(f"{address}/_stcore/health")
        yield address
    finally:
        os.killpg(server.pid, 15)
        server.wait()
        answers.cleanup()
        first.cleanup()


def _wait_for(url: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"no answer from {url}")


@contextmanager
def launched() -> Iterator:
    """A Chromium. There is one at a time in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_of(browser, width: int = 1280, height: int = 800, dark: bool = False) -> Iterator:
    """A page of somebody who has nothing in common with whoever has another page open.

    A person without a page is taken before a new one comes: the scripts of the explorer are there already, which halves
    what the first page takes. Nobody brings anything along: what is kept for a tab ends with it, and the rest is cleared."""
    free = (one for one in browser.contexts if not one.pages)
    context = next(free, None) or _person(browser)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if dark else "light")
    try:
        yield page
    finally:
        context.clear_cookies()
        for one in context.pages:
            one.evaluate("() => location.origin === 'null' || localStorage.clear()")
            one.close()


def somebody_else(page, dark: bool = False):
    """A page of another person, of the same size."""
    return page_of(page.context.browser, **page.viewport_size, dark=dark)


# When a page last asked its server something; nothing once the server has said anything since.
ASKS = """(() => {
  window.WebSocket = class extends WebSocket {
    constructor(...how) { super(...how); this.addEventListener("message", () => { window.asked = undefined; }); }
    send(data) { window.asked = performance.now(); super.send(data); }
  };
})();"""


def _person(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(1000 * PATIENCE)
    context.add_init_script(ASKS)
    return context


def visit(page, url: str) -> None:
    """Open an address and wait until the script has run."""
    page.goto(url)
    _drawn(page)


def reload(page) -> None:
    """The same address again."""
    page.reload()
    _drawn(page)


def _drawn(page) -> None:
    # A page that has only connected says that no script is running: the first one has not begun yet.
    page.wait_for_selector("[data-testid=stMain] :is(h1, [data-testid=stAlert])")
    settle(page)


# The script has run, and the server has answered (not everything: then ten seconds are enough); no component's place is a
# skeleton, or empty (two draw nothing); nothing moves, and no more is drawn. All this for a quarter of a second on
# end: a page that has only been clicked has not asked yet.
SETTLED = """(since) => {
  const app = document.querySelector("[data-testid=stApp]");
  const parts = (root) => [...root.querySelectorAll("*")].reduce((sum, one) => sum + 1 + inside(one), 0);
  const inside = (one) => (one.shadowRoot ? parts(one.shadowRoot) : 0);
  const waits = performance.now() - (window.asked ?? -Infinity) < 10000;
  const ready = !waits && app?.dataset.testConnectionState === "CONNECTED" && app.dataset.testScriptState === "notRunning" &&
    !document.querySelector("[data-testid=stSkeleton]") &&
    [...document.querySelectorAll("[data-testid^=stBidiComponent]")].every((one) => {
      if (one.closest(".st-key-soft_links, .st-key-own_draft")) return true;
      const hosts = [...(one.shadowRoot ?? one).querySelectorAll(".host")];
      return hosts.length > 0 && hosts.every((host) => host.childNodes.length > 0);
    }) &&
    !document.getAnimations().some((one) => one.playState === "running" && one.effect.getComputedTiming().endTime < 5000);
  const drawn = ready ? parts(document) : 0, now = performance.now(), last = window.settling;
  if (!ready || last?.since !== since || last.drawn !== drawn) window.settling = { since, drawn, at: now };
  return ready && now - window.settling.at >= 250;
}"""


def settle(page) -> None:
    """Wait until the script has run and everything has drawn itself."""
    page.wait_for_function(SETTLED, arg=time.monotonic(), polling=100)


def arrive(page, url) -> None:
    """Wait until a page has an address, a pattern of one, and has drawn itself."""
    page.wait_for_url(url)
    settle(page)


def query_of(page) -> dict[str, list[str]]:
    """What the address of a page asks for."""
    return parse_qs(urlsplit(page.url).query)


def listed(page) -> int:
    """How many instances the list has that a page goes through, once it is there."""
    arrive(page, "**/instances?**")
    told = page.get_by_text(re.compile(r"^1 of [\d,]+$")).first.inner_text()
    return number_in(told.removeprefix("1 of "))


def number_in(text: str) -> int:
    """The first number in a text."""
    return int(re.search(r"[\d,]+", text)[0].replace(",", ""))


def heard(page, own: str) -> list[str]:
    """What a page asks of others than this address, and the errors of its scripts; more is added while it is open."""
    found: list[str] = []
    page.on("request", lambda r: found.append(r.url) if r.url.startswith("http") and own not in r.url else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


def heard_alone(page, file: Path) -> list[str]:
    """Open a saved file. Returns what it asks for beside itself, and all that its scripts and the browser say of it."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url))
    page.on("console", lambda message: found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.goto(file.as_uri())
    found.remove(file.as_uri())
    return found


def save(page, button: str, folder: Path) -> Path:
    """Save a file by its button. Returns it, under the name that was offered."""
    with page.expect_download() as saved:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name=button).click()
    saved.value.save_as(file := folder / saved.value.suggested_filename)
    return file


def open_form(page):
    """By the key that does it on every page."""
    page.keyboard.press("/")
    page.locator("[data-testid=stSidebar] textarea").first.wait_for()
    settle(page)
